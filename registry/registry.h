// Publishes provider URLs and tells subscribers which addresses a service has.
//
// Threads: all methods from any thread; callbacks on the control executor.
// Ownership: a listener is kept (shared) until it is unsubscribed.
// Errors: kUnavailable, kDeadlineExceeded: worth a retry (failback does); kFailedPrecondition:
//   closed; kInvalidArgument: names the fault of the URL.
#ifndef SIGNPOST_REGISTRY_REGISTRY_H_
#define SIGNPOST_REGISTRY_REGISTRY_H_

#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "signpost/common/call_options.h"
#include "signpost/common/url.h"
#include "signpost/registry/notify_listener.h"
#include "signpost/registry/registrar.h"

namespace signpost {

class Registry : public Registrar {
 public:
  using LookupCallback = absl::AnyInvocable<void(absl::StatusOr<ServiceAddresses>) &&>;

  // `consumer`: `consumer://host/interface?group=..&version=..&protocol=..&provided-by=..`. The
  // listener gets the present list as soon as it is known, then every change.
  virtual void Subscribe(const Url& consumer, std::shared_ptr<NotifyListener> listener) = 0;
  // The same pair. Unknown pairs are ignored.
  virtual void Unsubscribe(const Url& consumer,
                           const std::shared_ptr<NotifyListener>& listener) = 0;

  // The present addresses, once.
  virtual void Lookup(const Url& consumer, const CallOptions& options, LookupCallback done) = 0;

  virtual const Url& url() const = 0;
  virtual bool IsAvailable() const = 0;
  // Bounded (5 s). Later calls end at once with kFailedPrecondition. Idempotent.
  virtual void Close() = 0;
};

}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_REGISTRY_H_

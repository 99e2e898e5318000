// What this process offers.
//
// Threads: all methods from any thread.
// Errors: kInvalidArgument names the fault of a URL; kFailedPrecondition: no app name, closed.
#ifndef SIGNPOST_CLIENT_PROVIDER_H_
#define SIGNPOST_CLIENT_PROVIDER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "signpost/common/call_options.h"
#include "signpost/common/url.h"
#include "signpost/registry/application/application_registry.h"

namespace signpost {

class Provider {
 public:
  // Client makes it. `registry` must outlive this.
  Provider(ApplicationRegistry& registry, std::string app);

  // `protocol://host:port/interface[?group=..&version=..&weight=..]`. Call it when the port listens.
  // Fills in interface, application, side=provider, dubbo, methods if absent. Returns at once;
  // Client::Start waits. Parameter `methods` should be set: dubbo-go wants it.
  absl::Status Export(absl::string_view url);
  absl::Status Export(const Url& url);
  absl::Status Unexport(const Url& url);

  // Takes everything off (consumers drop it at once) and puts it on again, with the same revision.
  absl::Status Offline(const CallOptions& options);
  absl::Status Online(const CallOptions& options);

  RegisteredState registered() const;
  // First error of a background publication since the last success; OK when all is written.
  absl::Status state() const;

 private:
  friend class Client;
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace signpost

#endif  // SIGNPOST_CLIENT_PROVIDER_H_

// The addresses of one service, routed and ready to pick from.
//
// Threads: all methods from any thread. Pick and Done take no lock shared between threads and
// allocate
//   nothing. Listeners run on the control executor, no lock held.
// Ownership: keep the shared_ptr as long as you call; a PickResult may outlive it.
// Errors: Pick says the first broken link: no mapping, no instance, no metadata, a rule.
#ifndef SIGNPOST_CLIENT_DIRECTORY_H_
#define SIGNPOST_CLIENT_DIRECTORY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "signpost/balancer/balancer.h"
#include "signpost/client/centre_registries.h"
#include "signpost/common/address_list.h"
#include "signpost/common/executor.h"
#include "signpost/common/request.h"
#include "signpost/common/subscription.h"
#include "signpost/common/url.h"
#include "signpost/registry/notify_listener.h"
#include "signpost/router/router.h"
#include "signpost/router/router_chain.h"

namespace signpost {

// The chosen address. Give it back with Directory::Done, on any thread.
struct PickResult {
  Endpoint endpoint;
  // Of the picker that chose; null if it wants no feedback.
  std::shared_ptr<const Picker> picker;
  size_t index = 0;
};

class Directory {
 public:
  // What Consumer builds it from.
  struct Parts {
    std::string service;  // `[group/]interface[:version]`, for error texts
    Url consumer;         // what is subscribed to
    std::shared_ptr<Executor> executor;
    // A call goes to one of those that have addresses, at random.
    std::vector<CentreRegistries> centres;
    std::vector<RouterFactory> routers;
    RouterOptions router_options;
    BalancerFactory balancer;
    BalancerOptions balancer_options;
  };
  // Subscribes; the last reference going unsubscribes.
  explicit Directory(Parts parts);
  ~Directory();
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  absl::StatusOr<PickResult> Pick(const Request& request) const;
  void Done(PickResult& result, const CallOutcome& outcome) const;

  // Waits until there is at least one address that can be picked, at most `timeout`; else the
  // status that Pick would give. Not from the control executor.
  absl::Status WaitReady(absl::Duration timeout) const;
  // The callback form: runs once, on the control executor.
  void WhenReady(absl::Duration timeout, absl::AnyInvocable<void(absl::Status) &&> done) const;

  // Those that calls are drawn from now: of one level of one registry as a rule, and all of them
  // while calls are shared between levels or registries. Another version, another list; a list that
  // served before may serve again.
  std::shared_ptr<const AddressList> addresses() const;
  // Of the last notification: OK or the first broken link. Of an empty list: what each level and
  // registry says; retryable as long as one of them may still come.
  absl::Status state() const;
  // Whether each level of each registry that counts has told its list.
  bool complete() const;
  // Routers that failed on the present list, each with why; it passed them as it was.
  std::vector<std::string> notes() const;
  // By which level the service is found and why, for each registry in dual mode.
  std::vector<std::string> levels() const;
  // Applications that the mapping names.
  std::vector<std::string> apps() const;

  // The present addresses at once (if known), then each change.
  Subscription OnChange(std::function<void(const ServiceAddresses&)> fn);

  const std::string& service() const;

  // Unsubscribes, for all that share this Directory; Pick then answers kFailedPrecondition.
  // Idempotent. The Client calls it at shutdown.
  void Close();
  bool closed() const;

 private:
  struct View;
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace signpost

#endif  // SIGNPOST_CLIENT_DIRECTORY_H_

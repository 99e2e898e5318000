// What this process calls.
//
// Threads: all methods from any thread.
// Errors: kInvalidArgument names the fault; kNotFound: no such balancer; kFailedPrecondition:
// closed.
#ifndef SIGNPOST_CLIENT_CONSUMER_H_
#define SIGNPOST_CLIENT_CONSUMER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "signpost/balancer/balancer.h"
#include "signpost/client/address.h"
#include "signpost/client/centre_registries.h"
#include "signpost/client/directory.h"
#include "signpost/common/executor.h"
#include "signpost/registry/migration/migration_rule.h"
#include "signpost/router/router.h"

namespace signpost {

struct ReferOptions {
  std::string protocol;     // Default: any. `a,b`: any of
  std::string provided_by;  // Applications, comma list; no mapping is read. Default: none
  std::string balancer;     // Default: the client's, else Dubbo's `random`
  // Of dual mode, where the rule in the config centre says nothing. `delay`: whole seconds.
  // Default: ClientOptions::migration
  MigrationFields migration;
};

class Consumer {
 public:
  // What Client builds it from.
  struct Parts {
    std::shared_ptr<Executor> executor;
    std::vector<CentreRegistries> centres;
    // Of the host that consumers are seen with. nullptr: `0.0.0.0`
    std::shared_ptr<AddressSelector> address;
    std::string app;  // goes into the consumer's URL; may be empty
    std::shared_ptr<const BalancerFactories> balancers;
    std::string balancer = "random";  // of calls that name none
    std::vector<RouterFactory> routers;
  };
  explicit Consumer(Parts parts);

  // `[group/]interface[:version]`. Subscribes; calls with the same arguments share one Directory,
  // and it unsubscribes when the last reference goes.
  absl::StatusOr<std::shared_ptr<Directory>> Refer(absl::string_view service,
                                                   const ReferOptions& options = ReferOptions());

  // Closes every Directory; Refer then answers kFailedPrecondition. Idempotent. The Client calls
  // it.
  void Close();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace signpost

#endif  // SIGNPOST_CLIENT_CONSUMER_H_

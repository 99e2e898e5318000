#include "absl/status/status.h"
#include "signpost/balancer/balancer.h"
#include "signpost/balancer/random.h"
#include "signpost/balancer/round_robin.h"

namespace signpost {

absl::Status AddBuiltinBalancers(BalancerFactories& factories) {
  absl::Status status;
  status.Update(factories.Add("random", [](const BalancerOptions& options) {
    return std::make_unique<RandomBalancer>(options);
  }));
  status.Update(factories.Add("roundrobin", [](const BalancerOptions& options) {
    return std::make_unique<RoundRobinBalancer>(options);
  }));
  return status;
}

}  // namespace signpost

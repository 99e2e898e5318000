// Dubbo's "random": each address as often as its weight says.
//
// Uniform when all weights are equal or none is above 0; else an alias table (Vose), so that a pick
// costs the same however many addresses there are. An address of weight 0 is never picked beside
// heavier ones.
//
// Threads, ownership, errors: as balancer.h.
#ifndef SIGNPOST_BALANCER_RANDOM_H_
#define SIGNPOST_BALANCER_RANDOM_H_

#include <memory>
#include <vector>

#include "signpost/balancer/balancer.h"

namespace signpost {

class RandomBalancer final : public Balancer {
 public:
  explicit RandomBalancer(const BalancerOptions& options);

  std::shared_ptr<const Picker> Build(const std::vector<PoolMember>& pool) override;

 private:
  uint64_t seed_;
  std::vector<int32_t> weights_;  // of picker_
  std::shared_ptr<const Picker> picker_;
};

}  // namespace signpost

#endif  // SIGNPOST_BALANCER_RANDOM_H_

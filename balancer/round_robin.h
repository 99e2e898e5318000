// Dubbo's "roundrobin": in turn, smoothly by weight.
//
// The order is that of Dubbo's smooth weighted round robin (5,1,1 gives a a b a c a a): each pick
// adds every address its weight, takes the largest (first on ties) and takes the total off it. It
// repeats after sum(weights)/gcd picks, so that it is computed ahead and a pick is one atomic
// increment. Where that schedule would be too long a stride scheduler takes its place: same shares,
// no schedule.
// Difference to Dubbo: one sequence per pool, not one per method.
//
// Threads, ownership, errors: as balancer.h.
#ifndef SIGNPOST_BALANCER_ROUND_ROBIN_H_
#define SIGNPOST_BALANCER_ROUND_ROBIN_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "signpost/balancer/balancer.h"

namespace signpost {

class RoundRobinBalancer final : public Balancer {
 public:
  // With a seed the first picker begins with the first address; without, at a random place of the
  // sequence, so that many processes that start together do not all call one address first.
  explicit RoundRobinBalancer(const BalancerOptions& options);

  std::shared_ptr<const Picker> Build(const std::vector<PoolMember>& pool) override;

 private:
  std::shared_ptr<std::atomic<uint64_t>> turn_;  // goes on from picker to picker
  std::vector<int32_t> weights_;                 // of picker_
  std::shared_ptr<const Picker> picker_;
};

}  // namespace signpost

#endif  // SIGNPOST_BALANCER_ROUND_ROBIN_H_

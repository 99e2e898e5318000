#include "signpost/balancer/weights.h"

#include <algorithm>
#include <functional>

namespace signpost::balancer_internal {

std::vector<int32_t> WeightsOf(const std::vector<PoolMember>& pool) {
  std::vector<int32_t> weights;
  weights.reserve(pool.size());
  for (const PoolMember& member : pool) weights.push_back(std::max(member.weight, 0));
  return weights;
}

bool AllEqual(const std::vector<int32_t>& weights) {
  return std::adjacent_find(weights.begin(), weights.end(), std::not_equal_to<>()) == weights.end();
}

}  // namespace signpost::balancer_internal

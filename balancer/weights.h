// What the weighted balancers of this folder share. Not for users.
#ifndef SIGNPOST_BALANCER_WEIGHTS_H_
#define SIGNPOST_BALANCER_WEIGHTS_H_

#include <cstdint>
#include <vector>

#include "signpost/balancer/balancer.h"
#include "signpost/common/random.h"

namespace signpost::balancer_internal {

// Of each member; negative ones as 0.
std::vector<int32_t> WeightsOf(const std::vector<PoolMember>& pool);

// No member is preferred: all weights are equal (all 0 too).
bool AllEqual(const std::vector<int32_t>& weights);

// By the names that the balancers use.
using signpost::Mix64;
using signpost::Scale;
using signpost::ThreadRandom;

}  // namespace signpost::balancer_internal

#endif  // SIGNPOST_BALANCER_WEIGHTS_H_

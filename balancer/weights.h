// What the weighted balancers of this folder share. Not for users.
#ifndef SIGNPOST_BALANCER_WEIGHTS_H_
#define SIGNPOST_BALANCER_WEIGHTS_H_

#include <cstdint>
#include <vector>

#include "signpost/balancer/balancer.h"

namespace signpost::balancer_internal {

// Of each member; negative ones as 0.
std::vector<int32_t> WeightsOf(const std::vector<PoolMember>& pool);

// No member is preferred: all weights are equal (all 0 too).
bool AllEqual(const std::vector<int32_t>& weights);

// One step of a good 64-bit mixer: every input gives an output that looks random.
uint64_t Mix64(uint64_t value);

// A random number from a generator that only this thread uses.
uint64_t ThreadRandom();

// `random` scaled to [0, n). REQUIRES: n > 0.
inline size_t Scale(uint64_t random, size_t n) {
  return static_cast<size_t>(((random >> 32) * static_cast<uint64_t>(n)) >> 32);
}

}  // namespace signpost::balancer_internal

#endif  // SIGNPOST_BALANCER_WEIGHTS_H_

// Random numbers on the call path: a generator per thread, nothing shared.
//
// Threads: any. No lock, no allocation, but a thread's first draw takes a seed.
// Not for secrets.
#ifndef SIGNPOST_COMMON_RANDOM_H_
#define SIGNPOST_COMMON_RANDOM_H_

#include <cstddef>
#include <cstdint>

namespace signpost {

// One step of a good 64-bit mixer: every input gives an output that looks random.
uint64_t Mix64(uint64_t value);

// A random number from a generator that only this thread uses.
uint64_t ThreadRandom();

// `random` scaled to [0, n); of `random` the upper half counts. REQUIRES: 0 < n <= 2^32.
inline size_t Scale(uint64_t random, size_t n) {
  return static_cast<size_t>(((random >> 32) * static_cast<uint64_t>(n)) >> 32);
}

}  // namespace signpost

#endif  // SIGNPOST_COMMON_RANDOM_H_

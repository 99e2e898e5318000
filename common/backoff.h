// Growing, jittered delays between tries.
//
// Threads: one at a time.
#ifndef SIGNPOST_COMMON_BACKOFF_H_
#define SIGNPOST_COMMON_BACKOFF_H_

#include <cstdint>
#include <random>

#include "absl/time/time.h"

namespace signpost {

struct BackoffOptions {
  absl::Duration initial = absl::Milliseconds(100);  // Default: 100 ms
  absl::Duration max = absl::Seconds(30);            // Default: 30 s
  double multiplier = 2.0;                           // Default: 2
  // Each delay is drawn evenly from [1 - jitter, 1] of the nominal one. Default: 0.5
  double jitter = 0.5;
};

class Backoff {
 public:
  // `seed` 0 takes a random one.
  explicit Backoff(BackoffOptions options, uint64_t seed = 0);

  // The delay before the next try; the first is about `initial`.
  absl::Duration Next();
  void Reset();
  // How often Next was called since the start or Reset.
  int attempts() const { return attempts_; }

 private:
  BackoffOptions options_;
  int attempts_ = 0;
  std::mt19937_64 random_;
};

}  // namespace signpost

#endif  // SIGNPOST_COMMON_BACKOFF_H_

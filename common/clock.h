// Time, handed in so that tests and simulation own it.
//
// Threads: all methods may be called from any thread.
#ifndef SIGNPOST_COMMON_CLOCK_H_
#define SIGNPOST_COMMON_CLOCK_H_

#include "absl/time/time.h"

namespace signpost {

class Clock {
 public:
  virtual ~Clock() = default;

  // Wall time: what goes on the wire (registration times, warm-up). May jump.
  virtual absl::Time WallNow() const = 0;

  // Time since some fixed point; never goes back. For deadlines and delays.
  virtual absl::Duration MonotonicNow() const = 0;

  // The clock of the machine. Never destroyed.
  static Clock& Real();
};

}  // namespace signpost

#endif  // SIGNPOST_COMMON_CLOCK_H_

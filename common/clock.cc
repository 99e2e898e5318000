#include "signpost/common/clock.h"

#include <chrono>

#include "absl/time/clock.h"

namespace signpost {
namespace {

class RealClock final : public Clock {
 public:
  absl::Time WallNow() const override { return absl::Now(); }
  absl::Duration MonotonicNow() const override {
    return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
  }
};

}  // namespace

Clock& Clock::Real() {
  static RealClock* const clock = new RealClock;
  return *clock;
}

}  // namespace signpost

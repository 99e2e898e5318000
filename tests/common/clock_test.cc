#include "signpost/common/clock.h"

#include "gtest/gtest.h"

namespace signpost {
namespace {

TEST(ClockTest, MonotonicNeverGoesBack) {
  Clock& clock = Clock::Real();
  absl::Duration last = clock.MonotonicNow();
  for (int i = 0; i < 10000; ++i) {
    const absl::Duration now = clock.MonotonicNow();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(ClockTest, WallTimeIsOfThisCentury) {
  EXPECT_GT(Clock::Real().WallNow(), absl::FromUnixSeconds(1600000000));
  EXPECT_EQ(&Clock::Real(), &Clock::Real());
}

}  // namespace
}  // namespace signpost

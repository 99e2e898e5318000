#include "signpost/common/backoff.h"

#include <algorithm>

#include "gtest/gtest.h"

namespace signpost {
namespace {

TEST(BackoffTest, GrowsToTheLimitAndStartsAgain) {
  Backoff backoff({absl::Seconds(1), absl::Seconds(5), 2.0, 0.0});
  EXPECT_EQ(backoff.Next(), absl::Seconds(1));
  EXPECT_EQ(backoff.Next(), absl::Seconds(2));
  EXPECT_EQ(backoff.Next(), absl::Seconds(4));
  EXPECT_EQ(backoff.Next(), absl::Seconds(5));
  EXPECT_EQ(backoff.attempts(), 4);
  backoff.Reset();
  EXPECT_EQ(backoff.attempts(), 0);
  EXPECT_EQ(backoff.Next(), absl::Seconds(1));
}

TEST(BackoffTest, JitterStaysInItsRangeAndVaries) {
  Backoff backoff({absl::Seconds(1), absl::Seconds(1), 2.0, 0.5}, 3);
  absl::Duration least = absl::InfiniteDuration();
  absl::Duration most;
  for (int i = 0; i < 5000; ++i) {
    const absl::Duration delay = backoff.Next();
    ASSERT_GE(delay, absl::Milliseconds(500));
    ASSERT_LE(delay, absl::Seconds(1));
    least = std::min(least, delay);
    most = std::max(most, delay);
  }
  EXPECT_LT(least, absl::Milliseconds(510));
  EXPECT_GT(most, absl::Milliseconds(990));
}

TEST(BackoffTest, SeedsMakeItRepeatable) {
  Backoff a({}, 9);
  Backoff b({}, 9);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(a.Next(), b.Next());
}

}  // namespace
}  // namespace signpost

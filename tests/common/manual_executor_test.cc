#include "signpost/common/manual_executor.h"

#include <memory>
#include <vector>

#include "gtest/gtest.h"

namespace signpost {
namespace {

TEST(SimulatedClockTest, AdvanceMovesBothAndJumpOnlyTheWall) {
  SimulatedClock clock(absl::FromUnixSeconds(100));
  clock.Advance(absl::Seconds(5));
  clock.JumpWall(-absl::Seconds(50));
  EXPECT_EQ(clock.WallNow(), absl::FromUnixSeconds(55));
  EXPECT_EQ(clock.MonotonicNow(), absl::Seconds(5));
}

TEST(ManualExecutorTest, RunsTasksAndThoseTheyPost) {
  SimulatedClock clock;
  ManualExecutor executor(clock);
  std::vector<int> order;
  executor.Post([&] {
    order.push_back(1);
    EXPECT_TRUE(executor.IsCurrent());
    executor.Post([&] { order.push_back(3); });
  });
  executor.Post([&] { order.push_back(2); });
  EXPECT_TRUE(order.empty());
  EXPECT_FALSE(executor.IsCurrent());
  EXPECT_EQ(executor.RunUntilIdle(), 3u);
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
  EXPECT_FALSE(executor.IsCurrent());
}

TEST(ManualExecutorTest, AdvanceRunsEachTimerWhenItIsDue) {
  SimulatedClock clock;
  ManualExecutor executor(clock);
  std::vector<absl::Duration> at;
  executor.PostAfter(absl::Seconds(3), [&] { at.push_back(clock.MonotonicNow()); });
  executor.PostAfter(absl::Seconds(1), [&] {
    at.push_back(clock.MonotonicNow());
    executor.PostAfter(absl::Seconds(1), [&] { at.push_back(clock.MonotonicNow()); });
  });
  executor.PostAfter(absl::Seconds(9), [] { FAIL(); });
  EXPECT_EQ(executor.AdvanceAndRun(absl::Seconds(5)), 3u);
  EXPECT_EQ(at,
            (std::vector<absl::Duration>{absl::Seconds(1), absl::Seconds(2), absl::Seconds(3)}));
  EXPECT_EQ(clock.MonotonicNow(), absl::Seconds(5));
  EXPECT_EQ(executor.pending_timers(), 1u);
}

TEST(ManualExecutorTest, ATaskThatMovesTheClockDoesNotTurnItBack) {
  SimulatedClock clock;
  ManualExecutor executor(clock);
  executor.PostAfter(absl::Seconds(1), [&] { clock.Advance(absl::Seconds(10)); });
  executor.AdvanceAndRun(absl::Seconds(2));
  EXPECT_EQ(clock.MonotonicNow(), absl::Seconds(11));
}

TEST(ManualExecutorTest, CancelQueuedAndTimed) {
  SimulatedClock clock;
  ManualExecutor executor(clock);
  const auto timed = executor.PostAfter(absl::Seconds(1), [] { FAIL(); });
  const auto queued = executor.PostAfter(absl::ZeroDuration(), [] { FAIL(); });
  EXPECT_TRUE(executor.Cancel(timed));
  EXPECT_TRUE(executor.Cancel(queued));
  EXPECT_FALSE(executor.Cancel(queued));
  EXPECT_EQ(executor.AdvanceAndRun(absl::Seconds(2)), 0u);
}

TEST(ManualExecutorTest, DestructionDropsTasksAlsoThoseThatPost) {
  SimulatedClock clock;
  auto alive = std::make_shared<int>();
  {
    ManualExecutor executor(clock);
    std::shared_ptr<void> posts(nullptr,
                                [&executor, alive](void*) { executor.Post([alive] { FAIL(); }); });
    executor.Post([posts = std::move(posts)] { FAIL(); });
  }
  EXPECT_EQ(alive.use_count(), 1);
}

}  // namespace
}  // namespace signpost

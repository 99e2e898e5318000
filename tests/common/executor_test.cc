#include "signpost/common/executor.h"

#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "signpost/common/manual_executor.h"

namespace signpost {
namespace {

constexpr auto kPatience = std::chrono::seconds(20);

// Returns once everything posted before has run.
void Drain(Executor& executor) {
  std::promise<void> done;
  executor.Post([&] { done.set_value(); });
  ASSERT_EQ(done.get_future().wait_for(kPatience), std::future_status::ready);
}

TEST(SerialExecutorTest, RunsInOrderOneAtATime) {
  auto executor = NewSerialExecutor("test");
  constexpr int kThreads = 4;
  constexpr int kTasks = 500;
  std::vector<std::vector<int>> seen(kThreads);  // no lock: tasks never overlap
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kTasks; ++i) executor->Post([&seen, t, i] { seen[t].push_back(i); });
    });
  }
  for (auto& thread : threads) thread.join();
  Drain(*executor);
  for (const auto& each : seen) {
    ASSERT_EQ(each.size(), static_cast<size_t>(kTasks));
    for (int i = 0; i < kTasks; ++i) EXPECT_EQ(each[i], i);
  }
}

TEST(SerialExecutorTest, IsCurrentOnlyInsideATask) {
  auto executor = NewSerialExecutor("test");
  EXPECT_FALSE(executor->IsCurrent());
  bool inside = false;
  executor->Post([&] { inside = executor->IsCurrent(); });
  Drain(*executor);
  EXPECT_TRUE(inside);
}

TEST(SerialExecutorTest, TimersRunInOrderOfTheirTime) {
  SimulatedClock clock;
  auto executor = NewSerialExecutor("test", clock);
  std::vector<int> order;
  std::promise<void> done;
  executor->PostAfter(absl::Seconds(2), [&] {
    order.push_back(2);
    done.set_value();
  });
  executor->PostAfter(absl::Seconds(1), [&] { order.push_back(1); });
  Drain(*executor);
  EXPECT_TRUE(order.empty());
  clock.Advance(absl::Seconds(2));
  ASSERT_EQ(done.get_future().wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(SerialExecutorTest, TimerOnTheRealClock) {
  auto executor = NewSerialExecutor("test");
  const absl::Duration start = Clock::Real().MonotonicNow();
  std::promise<absl::Duration> ran;
  executor->PostAfter(absl::Milliseconds(5), [&] { ran.set_value(Clock::Real().MonotonicNow()); });
  auto future = ran.get_future();
  ASSERT_EQ(future.wait_for(kPatience), std::future_status::ready);
  EXPECT_GE(future.get() - start, absl::Milliseconds(5));
}

TEST(SerialExecutorTest, CancelDestroysTheTaskAndSaysSo) {
  SimulatedClock clock;
  auto executor = NewSerialExecutor("test", clock);
  auto alive = std::make_shared<int>();
  const auto id = executor->PostAfter(absl::Seconds(1), [alive] { FAIL(); });
  EXPECT_NE(id, 0u);
  EXPECT_TRUE(executor->Cancel(id));
  EXPECT_EQ(alive.use_count(), 1);
  EXPECT_FALSE(executor->Cancel(id));
  EXPECT_FALSE(executor->Cancel(0));
  clock.Advance(absl::Seconds(5));
  Drain(*executor);
}

TEST(SerialExecutorTest, CancelOfATimerThatIsDueButQueued) {
  SimulatedClock clock;
  auto executor = NewSerialExecutor("test", clock);
  bool cancelled = false;
  bool ran = false;
  executor->Post([&] {
    const auto id = executor->PostAfter(absl::ZeroDuration(), [&] { ran = true; });
    cancelled = executor->Cancel(id);
  });
  Drain(*executor);
  EXPECT_TRUE(cancelled);
  EXPECT_FALSE(ran);
}

TEST(SerialExecutorTest, StoppingDropsWhatHasNotBegun) {
  auto executor = NewSerialExecutor("test");
  auto alive = std::make_shared<int>();
  std::promise<void> begun;
  std::promise<void> go;
  executor->Post([&] {
    begun.set_value();
    go.get_future().wait();
  });
  executor->PostAfter(absl::Hours(1), [alive] { FAIL(); });
  begun.get_future().wait();
  std::thread release([&] { go.set_value(); });
  executor.reset();
  release.join();
  EXPECT_EQ(alive.use_count(), 1);
}

TEST(SerialExecutorTest, LastReferenceDroppedByItsOwnTask) {
  auto executor = NewSerialExecutor("test");
  std::promise<void> dropped;
  Executor* raw = executor.get();
  // Goes with the queued task, which never begins.
  std::shared_ptr<void> at_end(nullptr, [&dropped](void*) { dropped.set_value(); });
  raw->Post([executor = std::move(executor), at_end = std::move(at_end)]() mutable {
    executor->Post([at_end = std::move(at_end)] { FAIL(); });
    executor.reset();
  });
  ASSERT_EQ(dropped.get_future().wait_for(kPatience), std::future_status::ready);
}

}  // namespace
}  // namespace signpost

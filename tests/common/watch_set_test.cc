#include "signpost/common/watch_set.h"

#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "signpost/common/manual_executor.h"

namespace signpost {
namespace {

TEST(WatchSetTest, DeliversInOrderOnTheExecutor) {
  SimulatedClock clock;
  ManualExecutor executor(clock);
  WatchSet<std::string> watchers(executor);
  std::vector<std::string> seen;
  watchers.Notify("nobody");
  Subscription s = watchers.AddWith([&](const std::string& e) { seen.push_back(e); }, "now");
  watchers.Notify("a");
  watchers.Notify("b");
  EXPECT_TRUE(seen.empty());
  executor.RunUntilIdle();
  EXPECT_EQ(seen, (std::vector<std::string>{"now", "a", "b"}));
}

TEST(WatchSetTest, NothingRunsAfterCancelNotEvenWhatIsQueued) {
  SimulatedClock clock;
  ManualExecutor executor(clock);
  WatchSet<int> watchers(executor);
  Subscription s = watchers.Add([](int) { FAIL(); });
  watchers.Notify(1);
  s.Cancel();
  EXPECT_TRUE(watchers.empty());
  executor.RunUntilIdle();
}

TEST(WatchSetTest, CancelInsideTheCallbackReturnsAtOnce) {
  SimulatedClock clock;
  ManualExecutor executor(clock);
  WatchSet<int> watchers(executor);
  int calls = 0;
  Subscription s;
  s = watchers.Add([&](int) {
    ++calls;
    s.Cancel();
  });
  watchers.Notify(1);
  watchers.Notify(2);
  executor.RunUntilIdle();
  EXPECT_EQ(calls, 1);
}

TEST(WatchSetTest, ASubscriptionMayOutliveTheSet) {
  SimulatedClock clock;
  ManualExecutor executor(clock);
  Subscription s;
  {
    WatchSet<int> watchers(executor);
    s = watchers.Add([](int) { FAIL(); });
    watchers.Notify(1);
  }
  executor.RunUntilIdle();
}

TEST(WatchSetTest, CancelFromAnotherThreadWaitsForTheRunningCallback) {
  auto executor = NewSerialExecutor("test");
  WatchSet<int> watchers(*executor);
  std::promise<void> begun;
  std::atomic<bool> ended{false};
  std::atomic<bool> cancelling{false};
  Subscription s = watchers.Add([&](int) {
    begun.set_value();
    while (!cancelling) std::this_thread::yield();
    for (int i = 0; i < 100; ++i) std::this_thread::yield();
    ended = true;
  });
  watchers.Notify(1);
  begun.get_future().wait();
  cancelling = true;
  s.Cancel();
  EXPECT_TRUE(ended);
}

TEST(WatchSetTest, CancelRacesWithNotify) {
  auto executor = NewSerialExecutor("test");
  WatchSet<int> watchers(*executor);
  std::atomic<bool> stop{false};
  std::thread notifier([&] {
    while (!stop) {
      watchers.Notify(1);
      std::promise<void> done;
      executor->Post([&] { done.set_value(); });
      done.get_future().wait();
    }
  });
  for (int i = 0; i < 300; ++i) {
    // Not atomic: after Cancel nobody touches it.
    auto calls = std::make_unique<int>(0);
    Subscription s = watchers.Add([raw = calls.get()](int) { ++*raw; });
    s.Cancel();
  }
  stop = true;
  notifier.join();
}

}  // namespace
}  // namespace signpost

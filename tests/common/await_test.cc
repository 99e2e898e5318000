#include "signpost/common/await.h"

#include <functional>
#include <thread>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"

namespace signpost {
namespace {

TEST(AwaitTest, ValueFromAnotherThread) {
  std::thread other;
  auto value = Await<absl::StatusOr<int>>(
      absl::Seconds(20), [&](auto done) { other = std::thread([done]() mutable { done(7); }); });
  other.join();
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(*value, 7);
}

TEST(AwaitTest, StatusIsTheDefault) {
  const absl::Status status =
      Await(absl::Seconds(20), [](auto done) { done(absl::NotFoundError("gone")); });
  EXPECT_EQ(status, absl::NotFoundError("gone"));
}

TEST(AwaitTest, TheDeadlineEndsItAndALateCallbackIsHarmless) {
  std::function<void(absl::Status)> late;
  const absl::Status status = Await(-absl::Seconds(1), [&](auto done) { late = std::move(done); });
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  late(absl::OkStatus());
}

TEST(AwaitTest, ADroppedCallbackEndsIt) {
  const absl::Status status = Await(absl::InfiniteDuration(), [](auto done) { (void)done; });
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
}

TEST(WaiterTest, InTwoSteps) {
  Waiter<absl::StatusOr<int>> waiter;
  auto done = waiter.Callback();
  auto copy = done;
  copy(7);
  done(8);
  EXPECT_EQ(*waiter.Wait(absl::Seconds(5)), 7);
}

TEST(WaiterTest, TimeRunsOut) {
  Waiter<> waiter;
  const auto done = waiter.Callback();
  EXPECT_EQ(waiter.Wait(absl::Milliseconds(1)).code(), absl::StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace signpost

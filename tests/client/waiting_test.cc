#include "signpost/client/waiting.h"

#include <gtest/gtest.h>

#include <utility>

#include "signpost/common/executor.h"

namespace signpost::client_internal {
namespace {

TEST(Waiting, EndsWithTheStatus) {
  Waiting waiting;
  DoneCallback done = waiting.Callback();
  std::move(done)(absl::NotFoundError("x"));
  EXPECT_EQ(waiting.Wait(absl::Seconds(5)), absl::NotFoundError("x"));
}

TEST(Waiting, DroppedCallbackEndsIt) {
  Waiting waiting;
  { DoneCallback done = waiting.Callback(); }
  EXPECT_EQ(waiting.Wait(absl::InfiniteDuration()).code(), absl::StatusCode::kCancelled);
}

TEST(Waiting, TimeRunsOut) {
  Waiting waiting;
  DoneCallback done = waiting.Callback();
  EXPECT_EQ(waiting.Wait(absl::Milliseconds(1)).code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(Waiting, FlushWaitsForWhatWasPosted) {
  auto executor = NewSerialExecutor("test");
  int ran = 0;
  for (int i = 0; i < 10; ++i) executor->Post([&] { ++ran; });
  ASSERT_TRUE(Flush(*executor, absl::Seconds(10)).ok());
  EXPECT_EQ(ran, 10);
}

}  // namespace
}  // namespace signpost::client_internal

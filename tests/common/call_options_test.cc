#include "signpost/common/call_options.h"

#include <atomic>
#include <thread>

#include "gtest/gtest.h"

namespace signpost {
namespace {

TEST(CancelTokenTest, CopiesShareTheFlag) {
  CancelToken token;
  CancelToken copy = token;
  EXPECT_FALSE(token.cancelled());
  copy.Cancel();
  EXPECT_TRUE(token.cancelled());
  EXPECT_FALSE(CancelToken().cancelled());
}

TEST(CancelTokenTest, CallbacksRunOnceAndNotWhenRemoved) {
  CancelToken token;
  int calls = 0;
  token.OnCancel([&] { ++calls; });
  token.RemoveCallback(token.OnCancel([&] { calls += 100; }));
  token.Cancel();
  token.Cancel();
  EXPECT_EQ(calls, 1);
  token.OnCancel([&] { ++calls; });
  EXPECT_EQ(calls, 2);
}

TEST(CancelTokenTest, EachCallbackRunsOnceWhenThreadsRace) {
  for (int round = 0; round < 100; ++round) {
    CancelToken token;
    std::atomic<int> calls{0};
    std::thread other([token]() mutable { token.Cancel(); });
    for (int i = 0; i < 20; ++i) token.OnCancel([&] { ++calls; });
    token.Cancel();
    other.join();
    EXPECT_EQ(calls, 20);
  }
}

}  // namespace
}  // namespace signpost

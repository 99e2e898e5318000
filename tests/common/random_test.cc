#include "signpost/common/random.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <thread>

namespace signpost {
namespace {

TEST(RandomTest, ScaleStaysInside) {
  EXPECT_EQ(Scale(0, 3), 0u);
  EXPECT_EQ(Scale(~uint64_t{0}, 3), 2u);
  EXPECT_EQ(Scale(~uint64_t{0}, 1), 0u);
  EXPECT_EQ(Scale(~uint64_t{0}, size_t{1} << 32), (size_t{1} << 32) - 1);
}

TEST(RandomTest, ThreadsDrawDifferentNumbers) {
  std::set<uint64_t> seen;
  for (int i = 0; i < 100; ++i) seen.insert(ThreadRandom());
  std::thread other([&] {
    for (int i = 0; i < 100; ++i) seen.insert(ThreadRandom());
  });
  other.join();
  EXPECT_EQ(seen.size(), 200u);
}

TEST(RandomTest, EveryNumberComesAboutAsOften) {
  std::array<int, 10> counts{};
  for (int i = 0; i < 100000; ++i) ++counts[Scale(ThreadRandom(), counts.size())];
  // 10,000 each; 20 standard deviations.
  for (int count : counts) EXPECT_NEAR(count, 10000, 2000);
}

TEST(RandomTest, MixingLosesNothing) {
  std::set<uint64_t> seen;
  for (uint64_t i = 0; i < 10000; ++i) seen.insert(Mix64(i));
  EXPECT_EQ(seen.size(), 10000u);
}

}  // namespace
}  // namespace signpost

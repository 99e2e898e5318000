#include "signpost/balancer/weights.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

namespace signpost::balancer_internal {
namespace {

TEST(Weights, NegativeIsZero) {
  EXPECT_EQ(WeightsOf({{1, -3, 0}, {2, 5, 0}}), (std::vector<int32_t>{0, 5}));
}

TEST(Weights, AllEqual) {
  EXPECT_TRUE(AllEqual({}));
  EXPECT_TRUE(AllEqual({4}));
  EXPECT_TRUE(AllEqual({0, 0}));
  EXPECT_FALSE(AllEqual({1, 1, 2}));
}

TEST(Weights, ScaleStaysInside) {
  EXPECT_EQ(Scale(0, 3), 0u);
  EXPECT_EQ(Scale(~uint64_t{0}, 3), 2u);
  EXPECT_EQ(Scale(~uint64_t{0}, 1), 0u);
}

TEST(Weights, ThreadsDrawDifferentNumbers) {
  std::set<uint64_t> seen;
  for (int i = 0; i < 100; ++i) seen.insert(ThreadRandom());
  std::thread other([&] {
    for (int i = 0; i < 100; ++i) seen.insert(ThreadRandom());
  });
  other.join();
  EXPECT_EQ(seen.size(), 200u);
}

}  // namespace
}  // namespace signpost::balancer_internal

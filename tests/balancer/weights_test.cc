#include "signpost/balancer/weights.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace signpost::balancer_internal

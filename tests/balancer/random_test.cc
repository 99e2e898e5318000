#include "signpost/balancer/random.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace signpost {
namespace {

RandomBalancer Seeded(uint64_t seed) {
  BalancerOptions options;
  options.seed = seed;
  return RandomBalancer(options);
}

std::vector<size_t> Picks(const Picker& picker, int n) {
  std::vector<size_t> picks;
  for (int i = 0; i < n; ++i) picks.push_back(picker.Pick(Request()));
  return picks;
}

TEST(RandomBalancer, SeedMakesPicksRepeatable) {
  const std::vector<PoolMember> pool = {{1, 10, 0}, {2, 20, 0}, {3, 30, 0}};
  EXPECT_EQ(Picks(*Seeded(5).Build(pool), 50), Picks(*Seeded(5).Build(pool), 50));
  EXPECT_NE(Picks(*Seeded(5).Build(pool), 50), Picks(*Seeded(6).Build(pool), 50));
}

TEST(RandomBalancer, LargestWeightsDoNotOverflow) {
  constexpr int32_t kMax = std::numeric_limits<int32_t>::max();
  std::vector<PoolMember> pool;
  for (uint32_t i = 0; i < 1000; ++i) pool.push_back({i, i % 2 == 0 ? kMax : kMax / 3, 0});
  auto picker = Seeded(3).Build(pool);
  int heavy = 0;
  for (int i = 0; i < 40000; ++i) heavy += picker->Pick(Request()) % 2 == 0;
  EXPECT_NEAR(heavy, 30000, 600);
}

TEST(RandomBalancer, OneAmongManyZeros) {
  std::vector<PoolMember> pool(1000, PoolMember{0, 0, 0});
  pool[417].weight = 1;
  auto picker = Seeded(3).Build(pool);
  for (int i = 0; i < 10000; ++i) ASSERT_EQ(picker->Pick(Request()), 417u);
}

}  // namespace
}  // namespace signpost

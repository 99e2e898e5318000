#include <gtest/gtest.h>

#include <vector>

#include "signpost/balancer/balancer.h"

namespace signpost {
namespace {

std::vector<PoolMember> Pool(const std::vector<int32_t>& weights) {
  std::vector<PoolMember> pool;
  for (size_t i = 0; i < weights.size(); ++i) {
    pool.push_back({static_cast<uint32_t>(i), weights[i], 0});
  }
  return pool;
}

std::vector<int> Count(const Picker& picker, size_t members, int picks) {
  std::vector<int> counts(members, 0);
  for (int i = 0; i < picks; ++i) {
    const size_t at = picker.Pick(Request());
    EXPECT_LT(at, members);
    if (at < members) ++counts[at];
  }
  return counts;
}

TEST(AddBuiltinBalancers, KnowsDubbosNames) {
  BalancerFactories factories("balancer");
  ASSERT_TRUE(AddBuiltinBalancers(factories).ok());
  EXPECT_EQ(factories.Names(), (std::vector<std::string>{"random", "roundrobin"}));
  EXPECT_EQ(factories.Find("fastest").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(AddBuiltinBalancers(factories).code(), absl::StatusCode::kAlreadyExists);
}

// What must hold for every balancer (TC-40).
class EveryBalancer : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Balancer> New(uint64_t seed = 7) {
    BalancerFactories factories("balancer");
    EXPECT_TRUE(AddBuiltinBalancers(factories).ok());
    BalancerOptions options;
    options.seed = seed;
    return (**factories.Find(GetParam()))(options);
  }
};

TEST_P(EveryBalancer, EmptyPoolGivesNone) {
  EXPECT_EQ(New()->Build({})->Pick(Request()), Picker::kNone);
}

TEST_P(EveryBalancer, ZeroWeightGetsNone) {
  const std::vector<int> counts = Count(*New()->Build(Pool({0, 100, 100})), 3, 10000);
  EXPECT_EQ(counts[0], 0);
  EXPECT_NEAR(counts[1], 5000, 300);
  EXPECT_NEAR(counts[2], 5000, 300);
}

TEST_P(EveryBalancer, AllZeroIsSpreadOverAll) {
  for (int count : Count(*New()->Build(Pool({0, 0, 0})), 3, 9000)) EXPECT_NEAR(count, 3000, 300);
}

TEST_P(EveryBalancer, SingleAddressIsAlwaysReturned) {
  for (int32_t weight : {0, -1, 1, 100}) {
    EXPECT_EQ(Count(*New()->Build(Pool({weight})), 1, 100)[0], 100) << weight;
  }
}

TEST_P(EveryBalancer, NegativeCountsAsZero) {
  EXPECT_EQ(Count(*New()->Build(Pool({-5, 100, 50})), 3, 3000)[0], 0);
  for (int count : Count(*New()->Build(Pool({-5, 0, -7})), 3, 9000)) EXPECT_NEAR(count, 3000, 300);
}

TEST_P(EveryBalancer, SharesFollowWeights) {
  const std::vector<int32_t> weights = {1, 2, 3, 4, 90};
  const std::vector<int> counts = Count(*New()->Build(Pool(weights)), weights.size(), 100000);
  for (size_t i = 0; i < weights.size(); ++i) EXPECT_NEAR(counts[i], weights[i] * 1000, 500) << i;
}

TEST_P(EveryBalancer, LargePoolOfUnevenWeights) {
  std::vector<int32_t> weights;
  for (int i = 0; i < 5000; ++i) weights.push_back(i % 2 == 0 ? 1009 : 2027);
  const std::vector<int> counts = Count(*New()->Build(Pool(weights)), weights.size(), 200000);
  int64_t light = 0;
  for (size_t i = 0; i < counts.size(); i += 2) light += counts[i];
  EXPECT_NEAR(light / 200000.0, 1009.0 / (1009 + 2027), 0.01);
}

TEST_P(EveryBalancer, SamePoolSamePicker) {
  auto balancer = New();
  auto first = balancer->Build(Pool({1, 2}));
  EXPECT_EQ(balancer->Build(Pool({1, 2})), first);
  auto second = balancer->Build(Pool({1, 3}));
  EXPECT_NE(second, first);
  // The old one still works.
  EXPECT_LT(first->Pick(Request()), 2u);
}

TEST_P(EveryBalancer, UnseededPicksOfTheWholePool) {
  for (int count : Count(*New(0)->Build(Pool({100, 100, 100, 100})), 4, 8000)) {
    EXPECT_NEAR(count, 2000, 300);
  }
}

INSTANTIATE_TEST_SUITE_P(Names, EveryBalancer, testing::Values("random", "roundrobin"));

}  // namespace
}  // namespace signpost

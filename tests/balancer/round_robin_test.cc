#include "signpost/balancer/round_robin.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace signpost {
namespace {

RoundRobinBalancer New() {
  BalancerOptions options;
  options.seed = 1;
  return RoundRobinBalancer(options);
}

std::vector<PoolMember> Pool(const std::vector<int32_t>& weights) {
  std::vector<PoolMember> pool;
  for (int32_t weight : weights) pool.push_back({static_cast<uint32_t>(pool.size()), weight, 0});
  return pool;
}

std::vector<size_t> Picks(const Picker& picker, int n) {
  std::vector<size_t> picks;
  for (int i = 0; i < n; ++i) picks.push_back(picker.Pick(Request()));
  return picks;
}

// Dubbo's sequence, computed as Dubbo does.
std::vector<size_t> Smooth(const std::vector<int32_t>& weights, int n) {
  std::vector<int64_t> current(weights.size(), 0);
  std::vector<size_t> picks;
  for (int k = 0; k < n; ++k) {
    int64_t total = 0;
    size_t best = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
      current[i] += weights[i];
      total += weights[i];
      if (current[i] > current[best]) best = i;
    }
    current[best] -= total;
    picks.push_back(best);
  }
  return picks;
}

TEST(RoundRobinBalancer, EqualWeightsGoInTurn) {
  EXPECT_EQ(Picks(*New().Build(Pool({7, 7, 7})), 7), (std::vector<size_t>{0, 1, 2, 0, 1, 2, 0}));
}

TEST(RoundRobinBalancer, SequenceIsSmooth) {
  EXPECT_EQ(Picks(*New().Build(Pool({5, 1, 1})), 7), (std::vector<size_t>{0, 0, 1, 0, 2, 0, 0}));
}

TEST(RoundRobinBalancer, SequenceIsDubbos) {
  const std::vector<std::vector<int32_t>> cases = {{5, 1, 1},           {100, 50}, {1, 2, 3, 4},
                                                   {200, 100, 100, 50}, {3, 1000}, {13, 7, 29, 1}};
  for (const auto& weights : cases) {
    EXPECT_EQ(Picks(*New().Build(Pool(weights)), 2000), Smooth(weights, 2000));
  }
}

TEST(RoundRobinBalancer, GoesOnInsteadOfBeginningAnew) {
  // An address that comes and goes must not give the first one all calls.
  RoundRobinBalancer balancer = New();
  std::vector<int> counts(4, 0);
  for (int i = 0; i < 1200; ++i) {
    auto picker = balancer.Build(
        Pool(i % 2 == 0 ? std::vector<int32_t>{1, 1, 1} : std::vector<int32_t>{1, 1, 1, 1}));
    ++counts[picker->Pick(Request())];
  }
  EXPECT_LT(counts[0], 600);
}

TEST(RoundRobinBalancer, LongScheduleKeepsShares) {
  // 1000003 + 999983 picks long: the stride scheduler.
  auto picker = New().Build(Pool({1000003, 999983, 500009}));
  std::vector<int> counts(3, 0);
  for (int i = 0; i < 50000; ++i) ++counts[picker->Pick(Request())];
  EXPECT_NEAR(counts[0], 20000, 50);
  EXPECT_NEAR(counts[1], 20000, 50);
  EXPECT_NEAR(counts[2], 10000, 50);
}

TEST(RoundRobinBalancer, ThreadsShareOneSequence) {
  auto picker = New().Build(Pool({3, 1}));
  std::atomic<int> heavy{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        if (picker->Pick(Request()) == 0) heavy.fetch_add(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(heavy.load(), 3000);
}

}  // namespace
}  // namespace signpost

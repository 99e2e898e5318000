#include "signpost/registry/migration/level_draw.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <thread>

#include "signpost/common/random.h"

namespace {
thread_local long g_allocations = 0;
}  // namespace

void* operator new(size_t size) {
  ++g_allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace signpost {
namespace {

constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
constexpr int kLeast = std::numeric_limits<int>::min();
constexpr int kLargest = std::numeric_limits<int>::max();

int CountApplication(int proportion, int draws) {
  int count = 0;
  for (int i = 0; i < draws; ++i) {
    if (DrawLevel(proportion) == DiscoveryLevel::kApplication) ++count;
  }
  return count;
}

TEST(LevelDrawTest, NoneAndAllAreCertain) {
  for (const int none : {0, -1, kLeast}) {
    EXPECT_EQ(CountApplication(none, 10000), 0) << none;
    EXPECT_EQ(LevelOfDraw(none, 0), DiscoveryLevel::kInterface) << none;
    EXPECT_EQ(LevelOfDraw(none, kMost), DiscoveryLevel::kInterface) << none;
  }
  for (const int all : {100, 101, kLargest}) {
    EXPECT_EQ(CountApplication(all, 10000), 10000) << all;
    EXPECT_EQ(LevelOfDraw(all, 0), DiscoveryLevel::kApplication) << all;
    EXPECT_EQ(LevelOfDraw(all, kMost), DiscoveryLevel::kApplication) << all;
  }
}

TEST(LevelDrawTest, TheSharesAreThoseOfTheProportion) {
  constexpr int kDraws = 100000;
  for (const int proportion : {1, 10, 30, 50, 60, 90, 99}) {
    // At most 158 is one standard deviation: these are six.
    EXPECT_NEAR(CountApplication(proportion, kDraws), proportion * (kDraws / 100), 950)
        << proportion;
  }
}

TEST(LevelDrawTest, EachPercentIsAnEqualPartOfTheNumbers) {
  constexpr uint64_t kHalf = uint64_t{1} << 32;
  for (int percent = 1; percent < 100; ++percent) {
    // The lowest number of this percent, and the one below it.
    const uint64_t lowest = ((percent * kHalf + 99) / 100) << 32;
    EXPECT_EQ(LevelOfDraw(percent, lowest), DiscoveryLevel::kInterface) << percent;
    EXPECT_EQ(LevelOfDraw(percent + 1, lowest), DiscoveryLevel::kApplication) << percent;
    EXPECT_EQ(LevelOfDraw(percent, lowest - 1), DiscoveryLevel::kApplication) << percent;
    EXPECT_EQ(LevelOfDraw(percent - 1, lowest - 1), DiscoveryLevel::kInterface) << percent;
  }
}

// Who had the application level at some proportion has it at each larger one.
TEST(LevelDrawTest, ALargerProportionTakesNothingAway) {
  for (uint64_t i = 0; i < 1000; ++i) {
    const uint64_t random = Mix64(i);
    bool application = false;
    for (int proportion = 0; proportion <= 100; ++proportion) {
      const bool now = LevelOfDraw(proportion, random) == DiscoveryLevel::kApplication;
      EXPECT_TRUE(now || !application) << random << " at " << proportion;
      application = now;
    }
    EXPECT_TRUE(application) << random;
  }
}

TEST(LevelDrawTest, AllocatesNothing) {
  CountApplication(50, 1);  // this thread's seed
  const long before = g_allocations;
  const int count = CountApplication(50, 10000);
  EXPECT_EQ(g_allocations, before);
  EXPECT_GT(count, 0);
  // The counter counts.
  const auto one = std::make_unique<int>(1);
  EXPECT_EQ(g_allocations, before + *one);
}

TEST(LevelDrawTest, ThreadsDrawEachForThemselves) {
  constexpr int kDraws = 10000;
  std::array<int, 4> counts{};
  std::array<std::thread, 4> threads;
  for (size_t i = 0; i < threads.size(); ++i) {
    threads[i] = std::thread([&counts, i] { counts[i] = CountApplication(50, kDraws); });
  }
  for (std::thread& thread : threads) thread.join();
  // 50 is one standard deviation.
  for (const int count : counts) EXPECT_NEAR(count, kDraws / 2, 400);
}

}  // namespace
}  // namespace signpost

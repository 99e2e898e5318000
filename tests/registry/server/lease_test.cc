#include "signpost/registry/server/lease.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "signpost/common/manual_executor.h"
#include "signpost/registry/store/key_value.h"

namespace signpost {
namespace server_internal {
namespace {

// Has no memory when it is told so.
class ThrowingKeyValue final : public KeyValue {
 public:
  explicit ThrowingKeyValue(std::shared_ptr<std::atomic<bool>> throws)
      : throws_(std::move(throws)) {}
  int64_t last_version() const override { return map_.last_version(); }
  absl::StatusOr<std::optional<Record>> Get(const std::string& key) const override {
    if (throws_->exchange(false)) throw std::bad_alloc();
    return map_.Get(key);
  }
  absl::Status Write(const std::vector<Change>& changes, int64_t last_version) override {
    return map_.Write(changes, last_version);
  }
  absl::Status Scan(const std::string& prefix, Visitor visit) const override {
    return map_.Scan(prefix, visit);
  }

 private:
  const std::shared_ptr<std::atomic<bool>> throws_;
  MapKeyValue map_;
};

class LeaseTest : public testing::Test {
 protected:
  LeaseTest() {
    LocalCentre::Options options;
    options.name = "test";
    centre_ = std::make_shared<LocalCentre>(std::make_unique<ThrowingKeyValue>(throws_), options);
    other_ = NewLocalStore(centre_, timers_, LocalAnswers::kAtOnce);
    options_.ttl = absl::Seconds(10);
  }

  std::shared_ptr<Lease> Open() {
    return Lease::Open(centre_, options_, timers_, [this] { ++ends_; });
  }
  void Put(const std::string& key, const std::string& value) {
    bool good = false;
    other_->Put(key, value, CallOptions(), [&](auto version) { good = version.ok(); });
    ASSERT_TRUE(good);
  }
  bool Exists(const std::string& key) {
    bool there = false;
    other_->Exists(key, CallOptions(), [&](absl::StatusOr<bool> answer) { there = *answer; });
    return there;
  }
  static std::vector<WatchEvent> Poll(Lease& lease, int64_t acknowledged) {
    auto told = lease.Poll(acknowledged, absl::ZeroDuration(), /*fetch=*/true);
    EXPECT_TRUE(told.has_value());
    return told.value_or(std::vector<WatchEvent>());
  }

  std::shared_ptr<std::atomic<bool>> throws_ = std::make_shared<std::atomic<bool>>(false);
  SimulatedClock clock_;
  std::shared_ptr<ManualExecutor> timers_ = std::make_shared<ManualExecutor>(clock_);
  std::shared_ptr<LocalCentre> centre_;
  std::unique_ptr<Store> other_;
  LeaseOptions options_;
  std::atomic<int> ends_{0};
};

TEST_F(LeaseTest, EndsWhenNoPollCameForItsTimeToLive) {
  const auto lease = Open();
  bool bound = false;
  lease->store().CreateSessionBound("/bound", "v", absl::Seconds(1), CallOptions(),
                                    [&](auto version) { bound = version.ok(); });
  ASSERT_TRUE(bound);
  timers_->AdvanceAndRun(absl::Seconds(9));
  EXPECT_TRUE(lease->Poll(0, absl::ZeroDuration(), /*fetch=*/false).has_value());
  timers_->AdvanceAndRun(absl::Seconds(9));
  EXPECT_FALSE(lease->ended());
  EXPECT_TRUE(Exists("/bound"));
  timers_->AdvanceAndRun(absl::Seconds(2));
  EXPECT_TRUE(lease->ended());
  EXPECT_FALSE(Exists("/bound"));
  EXPECT_FALSE(lease->Poll(0, absl::ZeroDuration(), true).has_value());
  EXPECT_EQ(ends_.load(), 1);
  lease->End();
  EXPECT_EQ(ends_.load(), 1);
  EXPECT_EQ(timers_->pending_timers(), 0u);
}

TEST_F(LeaseTest, WithoutAFirstPollItEndsSoon) {
  options_.ttl = absl::Hours(1);
  const auto never = Open();
  const auto polled = Open();
  EXPECT_TRUE(polled->Poll(0, absl::ZeroDuration(), /*fetch=*/true).has_value());
  timers_->AdvanceAndRun(absl::Seconds(9));
  EXPECT_FALSE(never->ended());
  timers_->AdvanceAndRun(absl::Seconds(2));
  EXPECT_TRUE(never->ended());
  timers_->AdvanceAndRun(absl::Minutes(58));
  EXPECT_FALSE(polled->ended());
  timers_->AdvanceAndRun(absl::Minutes(2));
  EXPECT_TRUE(polled->ended());
}

// The timer runs when the process goes on, before the polls that wait in the sockets.
TEST_F(LeaseTest, APausedServerExpiresNobodyWhoStillPolls) {
  for (const int pause : {60, 12, 10}) {
    const auto lease = Open();
    timers_->AdvanceAndRun(absl::Seconds(1));
    EXPECT_TRUE(lease->Poll(0, absl::ZeroDuration(), /*fetch=*/false).has_value());
    clock_.Advance(absl::Seconds(pause));
    timers_->RunUntilIdle();
    EXPECT_FALSE(lease->ended()) << pause;
    // A whole time to live anew, and no more.
    timers_->AdvanceAndRun(absl::Seconds(9));
    EXPECT_FALSE(lease->ended()) << pause;
    timers_->AdvanceAndRun(absl::Seconds(2));
    EXPECT_TRUE(lease->ended()) << pause;
  }
}

TEST_F(LeaseTest, ATimerThatIsALittleLateIsNoPause) {
  const auto lease = Open();
  timers_->AdvanceAndRun(absl::Seconds(9));
  clock_.Advance(absl::Seconds(3));
  timers_->RunUntilIdle();
  EXPECT_TRUE(lease->ended());
}

TEST_F(LeaseTest, TellsAgainUntilItIsAcknowledged) {
  const auto lease = Open();
  ASSERT_TRUE(lease->Watch(7, /*tree=*/false, "/k").ok());
  const auto first = Poll(*lease, 0);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].watch, 7);
  EXPECT_TRUE(absl::IsNotFound(first[0].error));
  EXPECT_EQ(Poll(*lease, 0).at(0).sequence, first[0].sequence);
  EXPECT_TRUE(Poll(*lease, first[0].sequence).empty());
  Put("/k", "v");
  const auto second = Poll(*lease, first[0].sequence);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_GT(second[0].sequence, first[0].sequence);
  EXPECT_EQ(second[0].value.value, "v");
  EXPECT_FALSE(second[0].tree);
}

TEST_F(LeaseTest, WhatIsNotFetchedBecomesOneChange) {
  const auto lease = Open();
  ASSERT_TRUE(lease->Watch(1, /*tree=*/true, "/p").ok());
  const auto first = Poll(*lease, 0);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_TRUE(first[0].tree);
  EXPECT_TRUE(first[0].delta.empty());
  for (int i = 0; i < 1000; ++i) Put(absl::StrCat("/p/", i % 3), absl::StrCat(i));
  const auto second = Poll(*lease, first[0].sequence);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].delta.added.size(), 3u);
  EXPECT_EQ(second[0].delta.added[0].data.value, "999");
}

TEST_F(LeaseTest, CallsRunNoWatch) {
  const auto lease = Open();
  ASSERT_TRUE(lease->Watch(1, false, "/k").ok());
  bool done = false;
  lease->store().Put("/k", "v", CallOptions(), [&](auto version) { done = version.ok(); });
  EXPECT_TRUE(done);
  // One state, the newest.
  const auto told = Poll(*lease, 0);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].value.value, "v");
}

TEST_F(LeaseTest, WithoutFetchOnlyTheSignOfLife) {
  const auto lease = Open();
  ASSERT_TRUE(lease->Watch(1, false, "/k").ok());
  EXPECT_TRUE(lease->Poll(0, absl::Hours(1), /*fetch=*/false)->empty());
  EXPECT_EQ(Poll(*lease, 0).size(), 1u);
}

TEST_F(LeaseTest, AWaitingPollIsWoken) {
  const auto lease = Open();
  ASSERT_TRUE(lease->Watch(1, false, "/k").ok());
  const int64_t seen = Poll(*lease, 0).at(0).sequence;
  auto waiting =
      std::async(std::launch::async, [&] { return lease->Poll(seen, absl::Seconds(60), true); });
  Put("/k", "v");
  const auto told = waiting.get();
  ASSERT_TRUE(told.has_value());
  ASSERT_EQ(told->size(), 1u);
  EXPECT_EQ(told->at(0).value.value, "v");
}

TEST_F(LeaseTest, ANewerPollTakesThePlaceOfAWaitingOne) {
  const auto lease = Open();
  std::promise<void> begun;
  auto waiting = std::async(std::launch::async, [&] {
    begun.set_value();
    return lease->Poll(0, absl::Seconds(60), true);
  });
  begun.get_future().wait();
  // Whichever came second; the other returns at once.
  while (waiting.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready) {
    EXPECT_TRUE(lease->Poll(0, absl::ZeroDuration(), true).has_value());
  }
  EXPECT_TRUE(waiting.get()->empty());
}

TEST_F(LeaseTest, AWatchThatThrowsEndsIt) {
  const auto lease = Open();
  ASSERT_TRUE(lease->Watch(1, false, "/k").ok());
  ASSERT_TRUE(lease->Watch(2, false, "/l").ok());
  *throws_ = true;
  EXPECT_FALSE(lease->Poll(0, absl::Seconds(60), true).has_value());
  EXPECT_FALSE(lease->Poll(0, absl::Seconds(60), true).has_value());
  EXPECT_TRUE(lease->ended());
  EXPECT_EQ(ends_.load(), 1);
  EXPECT_EQ(centre_->watch_count(), 0u);
}

TEST_F(LeaseTest, EndWakesAPoll) {
  const auto lease = Open();
  auto waiting =
      std::async(std::launch::async, [&] { return lease->Poll(0, absl::Seconds(60), true); });
  lease->End();
  EXPECT_FALSE(waiting.get().has_value());
}

TEST_F(LeaseTest, ALargeDeltaComesInPieces) {
  options_.piece_bytes = 1000;
  options_.answer_bytes = 2500;
  const auto lease = Open();
  for (int i = 0; i < 40; ++i) Put(absl::StrCat("/p/", i), std::string(100, 'x'));
  ASSERT_TRUE(lease->Watch(1, true, "/p").ok());
  std::set<std::string> names;
  int64_t seen = 0;
  int polls = 0;
  int events = 0;
  bool more = true;
  while (more) {
    const auto told = Poll(*lease, seen);
    ASSERT_FALSE(told.empty());
    ++polls;
    for (const WatchEvent& event : told) {
      EXPECT_TRUE(more);
      more = event.more;
      ++events;
      EXPECT_LE(event.delta.added.size(), 10u);
      for (const StoreChild& child : event.delta.added) {
        EXPECT_TRUE(names.insert(child.name).second);
      }
      seen = event.sequence;
    }
  }
  EXPECT_EQ(names.size(), 40u);
  EXPECT_GT(events, 4);
  EXPECT_GT(polls, 2);
  EXPECT_TRUE(Poll(*lease, seen).empty());
}

TEST_F(LeaseTest, WatchesAreBounded) {
  options_.max_watches = 2;
  const auto lease = Open();
  EXPECT_TRUE(lease->Watch(1, false, "/a").ok());
  EXPECT_TRUE(lease->Watch(2, true, "/").ok());
  EXPECT_TRUE(lease->Watch(2, true, "/").ok());
  const absl::Status third = lease->Watch(3, false, "/c");
  EXPECT_TRUE(absl::IsResourceExhausted(third)) << third;
  EXPECT_NE(third.message().find('2'), std::string::npos) << third;
  lease->Unwatch(1);
  lease->Unwatch(99);
  EXPECT_TRUE(lease->Watch(3, false, "/c").ok());
  EXPECT_TRUE(absl::IsInvalidArgument(lease->Watch(4, false, "no-slash")));
  EXPECT_EQ(centre_->watch_count(), 2u);
  lease->End();
  EXPECT_EQ(centre_->watch_count(), 0u);
}

TEST_F(LeaseTest, WatchesThatComeAndGoUnfetchedEndIt) {
  options_.max_watches = 10;
  const auto lease = Open();
  absl::Status status;
  for (int i = 0; i < 5000 && status.ok(); ++i) {
    status = lease->Watch(i, false, "/k");
    lease->Unwatch(i);
  }
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_TRUE(lease->ended());
}

}  // namespace
}  // namespace server_internal
}  // namespace signpost

// Part of store_suite.h: session-bound keys, expiry, closing.
#ifndef SIGNPOST_TESTS_CONFORMANCE_STORE_SUITE_SESSIONS_H_
#define SIGNPOST_TESTS_CONFORMANCE_STORE_SUITE_SESSIONS_H_

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "tests/conformance/store_suite.h"

namespace signpost {

TEST_P(StoreSuite, SessionBoundKeyGoesWithItsHandle) {
  const std::string key = Key("/session/a");
  ASSERT_TRUE(a().Bind(key, "mine").ok());
  EXPECT_TRUE(a().Get(key)->session_bound);
  EXPECT_TRUE(a().Get(key)->owned);
  EXPECT_TRUE(b().Get(key)->session_bound);
  EXPECT_FALSE(b().Get(key)->owned);
  auto told = std::make_shared<ToldValues>();
  const Subscription watch = b().Watch(key, told);
  ASSERT_TRUE(told->Await([](const auto& items) { return LastIs(items, "mine"); }));
  a().store().Close();
  EXPECT_TRUE(told->Await(LastIsAbsent));
  EXPECT_TRUE(absl::IsNotFound(b().Get(key).status()));
}

TEST_P(StoreSuite, SessionBoundReplacesAndBindsAnew) {
  const std::string key = Key("/session/replaced");
  ASSERT_TRUE(a().Put(key, "persistent").ok());
  ASSERT_TRUE(a().Bind(key, "of a").ok());
  EXPECT_TRUE(a().Get(key)->owned);
  ASSERT_TRUE(b().Bind(key, "of b").ok());
  EXPECT_TRUE(b().Get(key)->owned);
  EXPECT_FALSE(a().Get(key)->owned);
  a().store().Close();
  const auto value = b().Get(key);
  ASSERT_TRUE(value.ok()) << "went with a session that did not own it any more";
  EXPECT_EQ(value->value, "of b");
}

TEST_P(StoreSuite, CompareAndSetKeepsTheSession) {
  const std::string key = Key("/session/cas");
  const int64_t version = *a().Bind(key, "v1");
  ASSERT_TRUE(b().Cas(key, "v2", version).ok());
  EXPECT_EQ(a().Get(key)->value, "v2");
  EXPECT_TRUE(a().Get(key)->owned);
  a().Destroy();
  auto told = std::make_shared<ToldValues>();
  const Subscription watch = b().Watch(key, told);
  EXPECT_TRUE(told->Await(LastIsAbsent));
}

TEST_P(StoreSuite, TellsExpiryAndDropsTheKeys) {
  const std::string key = Key("/session/expired");
  auto events = std::make_shared<ToldEvents>();
  const Subscription session = a().WatchSession(events);
  ASSERT_TRUE(events->AwaitSize(1));
  EXPECT_EQ(events->items()[0], SessionEvent::kConnected);
  auto mine = std::make_shared<ToldValues>();
  const Subscription my_watch = a().Watch(key, mine);
  auto others = std::make_shared<ToldValues>();
  const Subscription other_watch = b().Watch(key, others);
  ASSERT_TRUE(a().Bind(key, "before").ok());
  ASSERT_TRUE(others->Await([](const auto& items) { return LastIs(items, "before"); }));
  if (!fixture_->ExpireSession(a().store())) GTEST_SKIP() << "no expiry";
  ASSERT_TRUE(events->Await([](const auto& items) {
    const auto expired = std::find(items.begin(), items.end(), SessionEvent::kExpired);
    return std::find(expired, items.end(), SessionEvent::kNewSession) != items.end();
  }));
  EXPECT_TRUE(others->Await(LastIsAbsent));
  // The handle and its watches live on.
  ASSERT_TRUE(a().Bind(key, "after").ok());
  EXPECT_TRUE(a().Get(key)->owned);
  EXPECT_TRUE(mine->Await([](const auto& items) { return LastIs(items, "after"); }));
  EXPECT_TRUE(others->Await([](const auto& items) { return LastIs(items, "after"); }));
}

TEST_P(StoreSuite, CloseEndsCallsAndWatches) {
  const std::string key = Key("/close/key");
  ASSERT_TRUE(a().Put(key, "v").ok());
  auto values = std::make_shared<ToldValues>();
  Subscription watch = a().Watch(key, values);
  auto deltas = std::make_shared<ToldDeltas>();
  Subscription tree = a().WatchTree(Key("/close"), deltas);
  ASSERT_TRUE(values->AwaitSize(1));
  ASSERT_TRUE(deltas->AwaitSize(1));
  EXPECT_TRUE(a().store().IsAvailable());
  a().store().Close();
  a().store().Close();
  EXPECT_FALSE(a().store().IsAvailable());
  const size_t told = values->size();
  const size_t told_deltas = deltas->size();
  ASSERT_TRUE(b().Put(key, "later").ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(a().Get(key).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(a().Put(key, "w").status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(a().List(Key("/close")).status()));
  EXPECT_EQ(values->size(), told);
  EXPECT_EQ(deltas->size(), told_deltas);
  watch.Cancel();
  tree.Cancel();
}

// Each callback runs exactly once, also if the handle goes meanwhile.
TEST_P(StoreSuite, CloseAnswersRunningCalls) {
  constexpr int kCalls = 100;
  auto answers = std::make_shared<Told<absl::Status>>();
  for (int i = 0; i < kCalls; ++i) {
    a().store().Put(Key("/close/n" + std::to_string(i)), "v", CallOptions(),
                    [answers](absl::StatusOr<int64_t> result) { answers->Add(result.status()); });
  }
  a().store().Close();
  ASSERT_TRUE(answers->AwaitSize(kCalls));
  a().OnExecutor([] {});
  const std::vector<absl::Status> all = answers->items();
  EXPECT_EQ(all.size(), static_cast<size_t>(kCalls));
  for (const absl::Status& status : all) {
    EXPECT_TRUE(status.ok() || absl::IsCancelled(status)) << status;
  }
}

}  // namespace signpost

#endif  // SIGNPOST_TESTS_CONFORMANCE_STORE_SUITE_SESSIONS_H_

// Part of store_suite.h: Watch and WatchTree.
#ifndef SIGNPOST_TESTS_CONFORMANCE_STORE_SUITE_WATCHES_H_
#define SIGNPOST_TESTS_CONFORMANCE_STORE_SUITE_WATCHES_H_

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/conformance/store_suite.h"

namespace signpost {

TEST_P(StoreSuite, WatchTellsTheStateThenChanges) {
  const std::string key = Key("/watch/key");
  auto told = std::make_shared<ToldValues>();
  const Subscription watch = a().Watch(key, told);
  ASSERT_TRUE(told->AwaitSize(1));
  EXPECT_TRUE(absl::IsNotFound(told->items()[0].status())) << told->items()[0].status();
  for (const char* value : {"v1", "v2", ""}) {
    const int64_t version = *b().Put(key, value);
    ASSERT_TRUE(told->Await([&](const auto& items) {
      return LastIs(items, value) && items.back()->version == version;
    })) << value;
  }
  ASSERT_TRUE(b().Delete(key).ok());
  EXPECT_TRUE(told->Await(LastIsAbsent));
  ASSERT_TRUE(b().Put(key, "back").ok());
  EXPECT_TRUE(told->Await([](const auto& items) { return LastIs(items, "back"); }));

  auto late = std::make_shared<ToldValues>();
  const Subscription second = a().Watch(key, late);
  ASSERT_TRUE(late->AwaitSize(1));
  EXPECT_TRUE(LastIs(late->items(), "back"));
}

TEST_P(StoreSuite, WatchTreeTellsNothingThenDeltas) {
  const std::string prefix = Key("/tree/p");
  auto told = std::make_shared<ToldDeltas>();
  const Subscription watch = a().WatchTree(prefix, told);
  ASSERT_TRUE(told->AwaitSize(1));
  ASSERT_TRUE(told->items()[0].ok()) << told->items()[0].status();
  EXPECT_TRUE(told->items()[0]->empty());
  ASSERT_TRUE(b().Put(prefix + "/x", "1").ok());
  ExpectTree(*told, {{"x", "1"}});
  ASSERT_TRUE(b().Put(prefix + "/y", "2").ok());
  ASSERT_TRUE(b().Put(prefix + "/x", "3").ok());
  ExpectTree(*told, {{"x", "3"}, {"y", "2"}});
  ASSERT_TRUE(b().Bind(prefix + "/z", "bound").ok());
  ASSERT_TRUE(b().Delete(prefix + "/x").ok());
  ExpectTree(*told, {{"y", "2"}, {"z", "bound"}});
  b().store().Close();
  ExpectTree(*told, {{"y", "2"}});
}

TEST_P(StoreSuite, WatchTreeBeginsWithWhatIsThere) {
  const std::string prefix = Key("/tree/there");
  ASSERT_TRUE(b().Put(prefix + "/a", "1").ok());
  ASSERT_TRUE(b().Put(prefix + "/b", "2").ok());
  auto told = std::make_shared<ToldDeltas>();
  const Subscription watch = a().WatchTree(prefix, told);
  ASSERT_TRUE(told->AwaitSize(1));
  const auto first = told->items()[0];
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->added.size(), 2u);
  EXPECT_TRUE(first->changed.empty());
  EXPECT_TRUE(first->removed.empty());
}

TEST_P(StoreSuite, PrefixVanishesAndReturns) {
  const std::string prefix = Key("/tree/coming");
  auto told = std::make_shared<ToldDeltas>();
  const Subscription watch = a().WatchTree(prefix, told);
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(b().Put(prefix + "/only", std::to_string(round)).ok());
    ExpectTree(*told, {{"only", std::to_string(round)}});
    ASSERT_TRUE(b().Delete(prefix + "/only").ok());
    // The prefix itself too, where it is a key.
    b().Delete(prefix).IgnoreError();
    ExpectTree(*told, {});
  }
}

TEST_P(StoreSuite, WatchTreeSeesNamesThatOnlyHaveChildren) {
  const std::string prefix = Key("/tree/nested");
  auto told = std::make_shared<ToldDeltas>();
  const Subscription watch = a().WatchTree(prefix, told);
  ASSERT_TRUE(b().Put(prefix + "/n/deep", "v").ok());
  const std::string bare = GetParam().parents_are_keys ? "" : "-";
  ExpectTree(*told, {{"n", bare}});
  ASSERT_TRUE(b().Put(prefix + "/n", "own").ok());
  ExpectTree(*told, {{"n", "own"}});
  if (GetParam().parents_are_keys) return;
  ASSERT_TRUE(b().Delete(prefix + "/n").ok());
  ExpectTree(*told, {{"n", "-"}});
  ASSERT_TRUE(b().Delete(prefix + "/n/deep").ok());
  ExpectTree(*told, {});
}

// TC-23: writes that fall between the call of WatchTree and its first delivery, at any moment of
// it.
TEST_P(StoreSuite, NoWriteIsLostWhileAWatchBegins) {
  constexpr int kRounds = 30;
  for (int round = 0; round < kRounds; ++round) {
    const std::string prefix = Key("/tree/race" + std::to_string(round));
    auto deltas = std::make_shared<ToldDeltas>();
    auto values = std::make_shared<ToldValues>();
    std::thread writer([&] { EXPECT_TRUE(b().Put(prefix + "/late", "v").ok()); });
    const Subscription tree = a().WatchTree(prefix, deltas);
    const Subscription key = a().Watch(prefix + "/late", values);
    writer.join();
    ExpectTree(*deltas, {{"late", "v"}});
    EXPECT_TRUE(values->Await([](const auto& items) { return LastIs(items, "v"); }));
  }
}

// Many writers, one watcher: in the end it knows what is there.
TEST_P(StoreSuite, WatchTreeEndsWithTheTruth) {
  const std::string prefix = Key("/tree/busy");
  auto told = std::make_shared<ToldDeltas>();
  const Subscription watch = a().WatchTree(prefix, told);
  const auto write = [&](Handle& handle, const std::string& who) {
    for (int i = 0; i < 60; ++i) {
      const std::string key = prefix + "/" + who + std::to_string(i % 7);
      if (i % 3 == 2) {
        handle.Delete(key).IgnoreError();
      } else {
        EXPECT_TRUE(handle.Put(key, std::to_string(i)).ok());
      }
    }
  };
  std::thread other([&] { write(b(), "b"); });
  write(a(), "a");
  other.join();
  Tree want;
  const auto children = a().List(prefix);
  ASSERT_TRUE(children.ok()) << children.status();
  for (const StoreChild& child : *children) want[child.name] = child.data.value;
  ExpectTree(*told, want);
}

TEST_P(StoreSuite, NothingIsToldAfterCancel) {
  const std::string key = Key("/cancel/key");
  for (int round = 0; round < 20; ++round) {
    // Ends with the subscription; a late callback would touch it.
    auto alive = std::make_unique<std::atomic<bool>>(true);
    std::atomic<bool>* flag = alive.get();
    std::atomic<int> late = 0;
    Subscription watch = a().store().Watch(key, [flag, &late](const auto&) {
      if (!flag->load()) ++late;
    });
    Subscription tree = a().store().WatchTree(Key("/cancel"), [flag, &late](const auto&) {
      if (!flag->load()) ++late;
    });
    std::thread writer([&] { EXPECT_TRUE(b().Put(key, std::to_string(round)).ok()); });
    watch.Cancel();
    tree.Cancel();
    alive->store(false);
    writer.join();
    ASSERT_TRUE(b().Put(key, "again").ok());
    a().OnExecutor([] {});
    EXPECT_EQ(late.load(), 0);
  }
}

TEST_P(StoreSuite, CancelFromTheCallbackItself) {
  const std::string key = Key("/cancel/inside");
  auto watch = std::make_shared<Subscription>();
  auto told = std::make_shared<ToldValues>();
  // On the executor, so that the subscription is stored before the first call.
  a().OnExecutor([&] {
    *watch = a().store().Watch(key, [watch, told](const auto& value) {
      watch->Cancel();
      told->Add(value);
    });
  });
  ASSERT_TRUE(told->AwaitSize(1));
  ASSERT_TRUE(b().Put(key, "v").ok());
  a().OnExecutor([] {});
  EXPECT_EQ(told->size(), 1u);
  EXPECT_FALSE(watch->active());
}

TEST_P(StoreSuite, ManySubscriptionsLeaveNothing) {
  const std::string prefix = Key("/many");
  ASSERT_TRUE(b().Put(prefix + "/k", "v").ok());
  const int before = fixture_->WatchCount();
  for (int i = 0; i < 1000; ++i) {
    const Subscription key = a().store().Watch(prefix + "/k", [](const auto&) {});
    const Subscription tree = a().store().WatchTree(prefix, [](const auto&) {});
    const Subscription names = a().store().WatchTree(
        prefix, [](const auto&) {}, TreeContent::kNames);
  }
  EXPECT_EQ(fixture_->WatchCount(), before);
  // What remains works.
  auto told = std::make_shared<ToldDeltas>();
  const Subscription watch = a().WatchTree(prefix, told);
  ASSERT_TRUE(b().Put(prefix + "/k", "w").ok());
  ExpectTree(*told, {{"k", "w"}});
}

// A watch may make calls and watches of the same store.
TEST_P(StoreSuite, CallsFromACallback) {
  const std::string key = Key("/inside/key");
  auto answers = std::make_shared<ToldValues>();
  const Subscription watch = a().store().Watch(key, [&, answers](const auto&) {
    a().store().Get(key, CallOptions(), [answers](auto value) { answers->Add(std::move(value)); });
  });
  ASSERT_TRUE(answers->AwaitSize(1));
  ASSERT_TRUE(b().Put(key, "v").ok());
  EXPECT_TRUE(answers->Await([](const auto& items) { return LastIs(items, "v"); }));
}

}  // namespace signpost

#endif  // SIGNPOST_TESTS_CONFORMANCE_STORE_SUITE_WATCHES_H_

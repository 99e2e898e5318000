// Part of store_suite.h: calls, versions, keys.
#ifndef SIGNPOST_TESTS_CONFORMANCE_STORE_SUITE_CALLS_H_
#define SIGNPOST_TESTS_CONFORMANCE_STORE_SUITE_CALLS_H_

#include <string>
#include <thread>
#include <vector>

#include "tests/conformance/store_suite.h"

namespace signpost {

TEST_P(StoreSuite, ReadsWhatWasWritten) {
  const std::string key = Key("/calls/one");
  EXPECT_TRUE(absl::IsNotFound(a().Get(key).status()));
  EXPECT_NE(a().Get(key).status().message().find(key), std::string::npos);
  EXPECT_FALSE(*a().Exists(key));
  const auto first = a().Put(key, "v1");
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = b().Put(key, "v2");
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_GT(*second, *first);
  const auto value = a().Get(key);
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(value->value, "v2");
  EXPECT_EQ(value->version, *second);
  EXPECT_FALSE(value->session_bound);
  EXPECT_FALSE(value->owned);
  EXPECT_TRUE(*b().Exists(key));
}

TEST_P(StoreSuite, DeletesByVersion) {
  const std::string key = Key("/calls/deleted");
  EXPECT_TRUE(absl::IsNotFound(a().Delete(key)));
  const int64_t old = *a().Put(key, "v1");
  const int64_t now = *a().Put(key, "v2");
  EXPECT_TRUE(absl::IsAborted(a().Delete(key, old)));
  EXPECT_TRUE(a().Delete(key, now).ok());
  EXPECT_TRUE(absl::IsNotFound(a().Delete(key, now)));
  ASSERT_TRUE(a().Put(key, "v3").ok());
  EXPECT_TRUE(a().Delete(key).ok());
  EXPECT_FALSE(*a().Exists(key));
}

TEST_P(StoreSuite, ComparesAndSets) {
  const std::string key = Key("/calls/cas");
  EXPECT_FALSE(a().Cas(key, "v", 5).ok());
  const auto created = a().Cas(key, "v1", Store::kAbsent);
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_TRUE(absl::IsAlreadyExists(b().Cas(key, "other", Store::kAbsent).status()));
  const auto second = b().Cas(key, "v2", *created);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_GT(*second, *created);
  EXPECT_TRUE(absl::IsAborted(a().Cas(key, "v3", *created).status()));
  EXPECT_EQ(a().Get(key)->value, "v2");
  EXPECT_EQ(a().Get(key)->version, *second);
}

// Two handles count up one key; no step is lost.
TEST_P(StoreSuite, CompareAndSetLosesNoRace) {
  const std::string key = Key("/calls/counter");
  constexpr int kSteps = 40;
  const auto count = [&key](Handle& handle) {
    for (int done = 0; done < kSteps;) {
      const auto value = handle.Get(key);
      if (!value.ok() && !absl::IsNotFound(value.status())) return;
      const int present = value.ok() ? std::stoi(value->value) : 0;
      const int64_t expected = value.ok() ? value->version : Store::kAbsent;
      if (handle.Cas(key, std::to_string(present + 1), expected).ok()) ++done;
    }
  };
  std::thread other([&] { count(b()); });
  count(a());
  other.join();
  EXPECT_EQ(a().Get(key)->value, std::to_string(2 * kSteps));
}

TEST_P(StoreSuite, ListsDirectChildrenSorted) {
  const std::string prefix = Key("/list");
  EXPECT_TRUE(a().List(prefix)->empty());
  ASSERT_TRUE(a().Put(prefix + "/b", "2").ok());
  ASSERT_TRUE(a().Put(prefix + "/a/x", "deep").ok());
  ASSERT_TRUE(a().Put(prefix + "/a-b", "3").ok());
  ASSERT_TRUE(a().Put(prefix + "/b/y/z", "deeper").ok());
  ASSERT_TRUE(a().Put(prefix + "longer/c", "elsewhere").ok());
  const auto children = b().List(prefix);
  ASSERT_TRUE(children.ok()) << children.status();
  ASSERT_EQ(children->size(), 3u);
  EXPECT_EQ((*children)[0].name, "a");
  EXPECT_EQ((*children)[0].exists, GetParam().parents_are_keys);
  EXPECT_EQ((*children)[1].name, "a-b");
  EXPECT_TRUE((*children)[1].exists);
  EXPECT_EQ((*children)[2].name, "b");
  EXPECT_TRUE((*children)[2].exists);
  EXPECT_EQ((*children)[2].data.value, "2");
  EXPECT_EQ((*children)[2].data.version, a().Get(prefix + "/b")->version);
}

TEST_P(StoreSuite, ParentsHaveValuesAndChildren) {
  const std::string parent = Key("/parents/p");
  ASSERT_TRUE(a().Put(parent + "/child", "c").ok());
  EXPECT_EQ(*a().Exists(parent), GetParam().parents_are_keys);
  ASSERT_TRUE(a().Put(parent, "p").ok());
  EXPECT_EQ(a().Get(parent)->value, "p");
  EXPECT_EQ(a().List(parent)->size(), 1u);
  // Deleting it touches nothing below.
  if (!GetParam().parents_are_keys) {
    ASSERT_TRUE(a().Delete(parent).ok());
    EXPECT_FALSE(*a().Exists(parent));
  }
  EXPECT_EQ(a().Get(parent + "/child")->value, "c");
}

TEST_P(StoreSuite, TakesLargeAndEmptyValues) {
  const std::string key = Key("/calls/large");
  std::string large(1'000'000, 'x');
  large[500'000] = '\0';
  ASSERT_TRUE(a().Put(key, large).ok());
  EXPECT_EQ(b().Get(key)->value, large);
  ASSERT_TRUE(a().Put(key, "").ok());
  EXPECT_EQ(b().Get(key)->value, "");
  if (GetParam().too_large > 0) {
    const auto refused = a().Put(key, std::string(GetParam().too_large, 'y'));
    EXPECT_TRUE(absl::IsResourceExhausted(refused.status())) << refused.status();
    EXPECT_EQ(b().Get(key)->value, "");
  }
}

TEST_P(StoreSuite, TakesNamesWithSpecialCharacters) {
  const std::vector<std::string> names = {"192.0.2.1:20880",
                                          "[2001:db8::1]:20880",
                                          "tri%3A%2F%2Fhost%3A1%2FI%3Fa%3Db%26c",
                                          "a b+c",
                                          "group:iface:1.0",
                                          "\xE6\x9C\x8D\xE5\x8A\xA1",
                                          "$x*!~'(),;@&=",
                                          "0",
                                          ".hidden",
                                          "...",
                                          "app.condition-router"};
  const std::string prefix = Key("/names");
  for (const std::string& name : names) {
    const auto put = a().Put(prefix + "/" + name, "of " + name);
    ASSERT_TRUE(put.ok()) << put.status();
  }
  for (const std::string& name : names) {
    EXPECT_EQ(b().Get(prefix + "/" + name)->value, "of " + name);
  }
  const auto children = b().List(prefix);
  ASSERT_EQ(children->size(), names.size());
  for (size_t i = 1; i < children->size(); ++i) {
    EXPECT_LT((*children)[i - 1].name, (*children)[i].name);
  }
}

TEST_P(StoreSuite, RefusesWhatIsNoKey) {
  for (const std::string& key : {std::string(), std::string("no-slash"), Key("/x/"), Key("//x"),
                                 Key("/x/../y"), Key("/x/./y"), Key(std::string("/a\0b", 4))}) {
    EXPECT_TRUE(absl::IsInvalidArgument(a().Put(key, "v").status())) << key;
    EXPECT_TRUE(absl::IsInvalidArgument(a().Get(key).status())) << key;
  }
}

TEST_P(StoreSuite, GivesUpAtDeadlineAndCancel) {
  const std::string key = Key("/calls/given-up");
  CallOptions late;
  late.timeout = absl::ZeroDuration();
  EXPECT_TRUE(absl::IsDeadlineExceeded(a().Get(key, late).status()));
  EXPECT_TRUE(absl::IsDeadlineExceeded(a().Put(key, "v", late).status()));
  CallOptions cancelled;
  cancelled.cancel.Cancel();
  EXPECT_TRUE(absl::IsCancelled(a().Get(key, cancelled).status()));
  EXPECT_TRUE(absl::IsCancelled(a().Put(key, "v", cancelled).status()));
  EXPECT_FALSE(*a().Exists(key));
}

TEST_P(StoreSuite, KeepsPersistentKeysOverARestart) {
  const std::string key = Key("/restart/kept");
  const std::string bound = Key("/restart/bound");
  const int64_t version = *a().Put(key, "v");
  ASSERT_TRUE(a().Bind(bound, "b").ok());
  a_.reset();
  b_.reset();
  if (!fixture_->Restart()) GTEST_SKIP() << "no restart";
  a_ = std::make_unique<Handle>(*fixture_, "store-a");
  EXPECT_EQ(a().Get(key)->value, "v");
  EXPECT_EQ(a().Get(key)->version, version);
  EXPECT_TRUE(absl::IsNotFound(a().Get(bound).status()));
  EXPECT_GT(*a().Put(key, "v2"), version);
}

}  // namespace signpost

#endif  // SIGNPOST_TESTS_CONFORMANCE_STORE_SUITE_CALLS_H_

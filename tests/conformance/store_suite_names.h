// Part of store_suite.h: WatchTree for names alone.
#ifndef SIGNPOST_TESTS_CONFORMANCE_STORE_SUITE_NAMES_H_
#define SIGNPOST_TESTS_CONFORMANCE_STORE_SUITE_NAMES_H_

#include <memory>
#include <string>

#include "tests/conformance/store_suite.h"

namespace signpost {

TEST_P(StoreSuite, AWatchOfNamesTellsNamesAlone) {
  const std::string prefix = Key("/tree/names");
  ASSERT_TRUE(b().Put(prefix + "/a", "1").ok());
  ASSERT_TRUE(b().Put(prefix + "/n/deep", "v").ok());
  auto names = std::make_shared<ToldDeltas>();
  auto values = std::make_shared<ToldDeltas>();
  const Subscription watch = a().WatchTree(prefix, names, TreeContent::kNames);
  // Beside one of the same prefix that wants the values.
  Subscription other = a().WatchTree(prefix, values);
  ExpectTree(*names, {{"a", ""}, {"n", ""}});
  ASSERT_TRUE(b().Put(prefix + "/a", "2").ok());
  ExpectTree(*values, {{"a", "2"}, {"n", GetParam().parents_are_keys ? "" : "-"}});
  ASSERT_TRUE(b().Bind(prefix + "/b", "3").ok());
  ExpectTree(*names, {{"a", ""}, {"b", ""}, {"n", ""}});
  other.Cancel();
  ASSERT_TRUE(b().Delete(prefix + "/a").ok());
  ExpectTree(*names, {{"b", ""}, {"n", ""}});
  ASSERT_TRUE(b().Put(prefix + "/a", "4").ok());
  ExpectTree(*names, {{"a", ""}, {"b", ""}, {"n", ""}});
  for (const auto& delta : names->items()) EXPECT_TRUE(delta->changed.empty());
}

TEST_P(StoreSuite, TheFolderOfNamesMayComeAndGo) {
  const std::string prefix = Key("/tree/names-coming");
  auto told = std::make_shared<ToldDeltas>();
  const Subscription watch = a().WatchTree(prefix, told, TreeContent::kNames);
  ASSERT_TRUE(told->AwaitSize(1));
  EXPECT_TRUE(told->items()[0].ok() && told->items()[0]->empty());
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(b().Bind(prefix + "/only", "v").ok());
    ExpectTree(*told, {{"only", ""}});
    ASSERT_TRUE(b().Delete(prefix + "/only").ok());
    b().Delete(prefix).IgnoreError();
    ExpectTree(*told, {});
  }
}

TEST_P(StoreSuite, AWatchOfNamesOutlivesItsSession) {
  const std::string prefix = Key("/tree/names-lost");
  ASSERT_TRUE(b().Bind(prefix + "/theirs", "v").ok());
  ASSERT_TRUE(a().Bind(prefix + "/mine", "v").ok());
  auto told = std::make_shared<ToldDeltas>();
  const Subscription watch = a().WatchTree(prefix, told, TreeContent::kNames);
  ExpectTree(*told, {{"mine", ""}, {"theirs", ""}});
  if (!fixture_->ExpireSession(a().store())) GTEST_SKIP() << "no expiry";
  ExpectTree(*told, {{"theirs", ""}});
  ASSERT_TRUE(b().Bind(prefix + "/new", "v").ok());
  ExpectTree(*told, {{"new", ""}, {"theirs", ""}});
}

}  // namespace signpost

#endif  // SIGNPOST_TESTS_CONFORMANCE_STORE_SUITE_NAMES_H_

// Watches on a real server.
#include "signpost/registry/zookeeper/zookeeper_watches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/registry/zookeeper/zookeeper_test.h"
#include "tests/support/tcp_proxy.h"

namespace signpost {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

using ZookeeperWatchesTest = ZookeeperTest;

// The prefix comes, goes and comes again under one watch, also when its container is removed.
TEST_F(ZookeeperWatchesTest, ThePrefixMayComeAndGo) {
  Store& store = Open();
  const std::string prefix = Root() + "/app";
  Seen seen(store, prefix);
  EXPECT_THAT(seen.WaitFor({}), IsEmpty());
  for (int i = 0; i < 3; ++i) {
    const std::string value = absl::StrCat(i);
    ASSERT_TRUE(Bind(store, prefix + "/1", value).ok());
    EXPECT_THAT(seen.WaitFor({{"1", value}}), ElementsAre(Pair("1", value)));
    ASSERT_TRUE(Delete(store, prefix + "/1").ok());
    EXPECT_THAT(seen.WaitFor({}), IsEmpty());
    ASSERT_TRUE(Delete(store, prefix).ok());
  }
}

TEST_F(ZookeeperWatchesTest, ManyChildrenAreReadOnceAndThenByWhatChanged) {
  constexpr int kCount = 600;  // more than one window of reads
  Store& store = Open();
  std::map<std::string, std::string> expected;
  for (int i = 0; i < kCount; ++i) {
    const std::string name = absl::StrCat("192.0.2.1:", 10000 + i);
    expected[name] = absl::StrCat(i);
    store.Put(Root() + "/" + name, expected[name], {absl::Seconds(60)},
              [](absl::StatusOr<int64_t> version) { EXPECT_TRUE(version.ok()); });
  }
  Store& watcher = Open();
  Seen seen(watcher, Root());
  EXPECT_EQ(seen.WaitFor(expected), expected);
  expected["192.0.2.1:10007"] = "changed";
  ASSERT_TRUE(Put(store, Root() + "/192.0.2.1:10007", "changed").ok());
  EXPECT_EQ(seen.WaitFor(expected), expected);
  expected["192.0.2.1:10007"] = "again";
  ASSERT_TRUE(Put(store, Root() + "/192.0.2.1:10007", "again").ok());
  expected.erase("192.0.2.1:10008");
  ASSERT_TRUE(Delete(store, Root() + "/192.0.2.1:10008").ok());
  EXPECT_EQ(seen.WaitFor(expected), expected);
  const auto list = Wait<absl::StatusOr<std::vector<StoreChild>>>(
      [&](auto done) { store.List(Root(), {absl::Seconds(20)}, std::move(done)); });
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->size(), expected.size());
}

TEST_F(ZookeeperWatchesTest, NoWatchIsLeftBehind) {
  Store& store = Open();
  ASSERT_TRUE(Put(store, Root() + "/a/1", "x").ok());
  ASSERT_TRUE(Put(store, Root() + "/a/2", "x").ok());
  const int before = g_server->Watches();
  ASSERT_GE(before, 0);
  for (int i = 0; i < 1000; ++i) {
    Seen seen(store, Root() + "/a");
    Subscription value = store.Watch(Root() + "/none", [](absl::StatusOr<StoreValue>) {});
    if (i % 2 == 0) seen.WaitFor({{"1", "x"}, {"2", "x"}});
  }
  int after = g_server->Watches();
  for (int i = 0; i < 100 && after > before; ++i) {
    ASSERT_TRUE(Get(store, Root() + "/a").ok());  // a round trip
    after = g_server->Watches();
  }
  EXPECT_LE(after, before);
}

// A session whose watches could not be renewed in one request would never connect again.
TEST_F(ZookeeperWatchesTest, TooManyWatchedPathsAreRefused) {
  Store& store = Open();
  // 1,200 paths of 800 characters.
  const std::string prefix = absl::StrCat(Root(), "/", std::string(780, 'p'));
  constexpr int kCount = 1200;
  for (int i = 0; i < kCount; ++i) {
    store.Put(absl::StrCat(prefix, "/", 1000 + i), "", {absl::Seconds(60)},
              [](absl::StatusOr<int64_t> version) { EXPECT_TRUE(version.ok()); });
  }
  Seen seen(store, prefix);
  for (int i = 0; i < kCount && seen.error().ok(); ++i) {
    ASSERT_TRUE(Put(store, absl::StrCat(prefix, "/", 1000 + i), "x").ok());
  }
  const absl::Status refused = seen.WaitForError();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  EXPECT_TRUE(absl::StrContains(refused.message(), "900000"));
  // Others are watched as before.
  ASSERT_TRUE(Put(store, Root() + "/small/a", "1").ok());
  Seen small(store, Root() + "/small");
  EXPECT_THAT(small.WaitFor({{"a", "1"}}), ElementsAre(Pair("a", "1")));
}

// TC-23: an instance registers while the answers to the query are under way.
TEST_F(ZookeeperWatchesTest, AWriteBetweenQueryAndWatchIsSeen) {
  TcpProxy proxy(g_server->port());
  Store& store = Open(proxy.address(), "", "session=20000");
  Store& other = Open();
  for (int round = 0; round < 5; ++round) {
    const std::string prefix = absl::StrCat(Root(), "/app", round);
    ASSERT_TRUE(Put(other, prefix + "/1", "a").ok());
    ASSERT_TRUE(Get(store, prefix).ok());
    const int watches = g_server->Watches();
    proxy.Hold();
    Seen seen(store, prefix);
    // The server has taken the query; its answer is held.
    for (int i = 0; i < 100 && g_server->Watches() <= watches; ++i) {
      ASSERT_TRUE(Get(other, prefix).ok());
    }
    ASSERT_TRUE(Put(other, prefix + "/2", "b").ok());
    proxy.Release();
    const std::map<std::string, std::string> both = {{"1", "a"}, {"2", "b"}};
    EXPECT_EQ(seen.WaitFor(both), both);
  }
}

TEST_F(ZookeeperWatchesTest, WithoutAConnectionAWatchSaysSo) {
  TcpProxy proxy(g_server->port());
  proxy.Break();
  ASSERT_TRUE(Put(Open(), Root() + "/app/1", "a").ok());
  Store& store = Open(proxy.address(), "", "session=4000&timeout=200");
  Seen seen(store, Root() + "/app");
  const absl::Status error = seen.WaitForError();
  EXPECT_EQ(error.code(), absl::StatusCode::kUnavailable) << error;
  EXPECT_TRUE(absl::StrContains(error.message(), proxy.address())) << error;
  EXPECT_TRUE(absl::StrContains(error.message(), "not connected")) << error;
  // One that comes later hears it at once, and both hear what is there when it is known.
  Seen late(store, Root() + "/app");
  EXPECT_EQ(late.WaitForError(), error);
  proxy.Restore();
  EXPECT_THAT(seen.WaitFor({{"1", "a"}}), ElementsAre(Pair("1", "a")));
  EXPECT_THAT(late.WaitFor({{"1", "a"}}), ElementsAre(Pair("1", "a")));
}

}  // namespace
}  // namespace signpost

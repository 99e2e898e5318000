// Single calls on a real server.
#include "signpost/registry/zookeeper/zookeeper_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/registry/zookeeper/zookeeper_test.h"
#include "tests/support/loopback.h"
#include "tests/support/tcp_proxy.h"

namespace signpost {
namespace {

using testing::ElementsAre;
using testing::Pair;

using ZookeeperCallsTest = ZookeeperTest;

TEST_F(ZookeeperCallsTest, VersionsGrowOverDeleteAndCreate) {
  Store& store = Open();
  const std::string key = Root() + "/a/b";
  const auto first = Put(store, key, "1");
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(Get(store, key)->version, *first);
  ASSERT_TRUE(Delete(store, key, *first).ok());
  const auto second = Put(store, key, "1");
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_GT(*second, *first);
  // The node's own counter is 0 both times: the old version must not fit the new key.
  EXPECT_EQ(CompareAndSet(store, key, "2", *first).status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(Delete(store, key, *first).code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(CompareAndSet(store, key, "2", *second).ok());
  EXPECT_EQ(CompareAndSet(store, key, "3", Store::kAbsent).status().code(),
            absl::StatusCode::kAlreadyExists);
}

TEST_F(ZookeeperCallsTest, SessionBoundKeyIsTakenOverFromAnotherSession) {
  Store& other = Open();
  Store& store = Open();
  const std::string key = Root() + "/app/192.0.2.1:80";
  ASSERT_TRUE(Bind(other, key, "theirs").ok());
  const auto version = Bind(store, key, "ours");
  ASSERT_TRUE(version.ok()) << version.status();
  const auto value = Get(store, key);
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value->value, "ours");
  EXPECT_TRUE(value->session_bound);
  EXPECT_TRUE(value->owned);
  EXPECT_FALSE(Get(other, key)->owned);
  // The same again changes nothing, another value is written without a gap.
  EXPECT_EQ(*Bind(store, key, "ours"), *version);
  Seen seen(other, Root() + "/app");
  seen.WaitFor({{"192.0.2.1:80", "ours"}});
  EXPECT_GT(*Bind(store, key, "new"), *version);
  EXPECT_THAT(seen.WaitFor({{"192.0.2.1:80", "new"}}), ElementsAre(Pair("192.0.2.1:80", "new")));
  EXPECT_EQ(seen.removals(), 0);
  // It does not go with the session that wrote it first.
  other.Close();
  EXPECT_EQ(Get(store, key)->value, "new");
}

// TC-17: a provider that was killed and starts again at once is in every list.
TEST_F(ZookeeperCallsTest, TakingOverLeavesNoGap) {
  Store& watcher = Open();
  Store& one = Open(g_server->address(), "", "session=30000");
  Store& two = Open(g_server->address(), "", "session=30000");
  const std::string key = Root() + "/app/1";
  ASSERT_TRUE(Bind(one, key, "0").ok());
  Seen seen(watcher, Root() + "/app");
  seen.WaitFor({{"1", "0"}});
  for (int i = 1; i <= 20; ++i) {
    const std::string value = std::to_string(i);
    ASSERT_TRUE(Bind(i % 2 == 1 ? two : one, key, value).ok());
    EXPECT_EQ(seen.WaitFor({{"1", value}}), (std::map<std::string, std::string>{{"1", value}}));
  }
  EXPECT_EQ(seen.removals(), 0);
  EXPECT_TRUE(Get(one, key)->owned);
}

TEST_F(ZookeeperCallsTest, OpenCallsEndWithClose) {
  Store& store = Open("127.0.0.1:" + std::to_string(FreePort()));
  auto box = std::make_shared<Box<absl::StatusOr<StoreValue>>>();
  store.Get("/a", {absl::Seconds(300)},
            [box](absl::StatusOr<StoreValue> value) { box->Put(std::move(value)); });
  store.Close();
  EXPECT_EQ(box->Take().status().code(), absl::StatusCode::kCancelled);
}

TEST_F(ZookeeperCallsTest, DeadlineAndCancelWithoutAServer) {
  Store& store = Open("127.0.0.1:" + std::to_string(FreePort()));
  const auto late = Wait<absl::StatusOr<StoreValue>>(
      [&](auto done) { store.Get("/a", {absl::Milliseconds(50)}, std::move(done)); });
  EXPECT_EQ(late.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(absl::StrContains(late.status().message(), "/a"));
  CallOptions options;
  options.timeout = absl::Seconds(300);
  auto box = std::make_shared<Box<absl::StatusOr<StoreValue>>>();
  store.Get("/a", options, [box](absl::StatusOr<StoreValue> value) { box->Put(std::move(value)); });
  options.cancel.Cancel();
  EXPECT_EQ(box->Take().status().code(), absl::StatusCode::kCancelled);
}

TEST_F(ZookeeperCallsTest, TooLargeIsRefusedBeforeItIsSent) {
  Store& store = Open();
  const auto put = Put(store, Root() + "/big", std::string(1100000, 'x'));
  EXPECT_EQ(put.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(absl::StrContains(put.status().message(), Root() + "/big"));
  EXPECT_TRUE(absl::StrContains(put.status().message(), "limit"));
  // What just fits does fit.
  EXPECT_TRUE(Put(store, Root() + "/big", std::string(1040000, 'x')).ok());
}

TEST_F(ZookeeperCallsTest, BadKeysAreInvalid) {
  Store& store = Open();
  for (const char* key : {"", "a", "/a/", "/a//b", "/a/../b", "/a\n"}) {
    EXPECT_EQ(Get(store, key).status().code(), absl::StatusCode::kInvalidArgument) << key;
  }
}

TEST_F(ZookeeperCallsTest, CredentialsKeepOthersOut) {
  Store& ours = Open(g_server->address(), "ann:secret@");
  Store& theirs = Open();
  ASSERT_TRUE(Put(ours, Root() + "/a", "1").ok());
  const auto refused = Get(theirs, Root() + "/a");
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_FALSE(absl::StrContains(refused.status().message(), "secret"));
  EXPECT_EQ(Get(ours, Root() + "/a")->value, "1");
}

// One node that is not for us hides no other, in a list or in a watch.
TEST_F(ZookeeperCallsTest, AnUnreadableChildIsLeftOut) {
  Store& ours = Open();
  Store& theirs = Open(g_server->address(), "ann:secret@");
  ASSERT_TRUE(Put(ours, Root() + "/l/a", "1").ok());
  ASSERT_TRUE(Put(theirs, Root() + "/l/b", "2").ok());
  const auto list = Wait<absl::StatusOr<std::vector<StoreChild>>>(
      [&](auto done) { ours.List(Root() + "/l", {absl::Seconds(20)}, std::move(done)); });
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->size(), 2u);
  EXPECT_EQ(list->front().name, "a");
  EXPECT_EQ(list->back().name, "b");
  EXPECT_FALSE(list->back().exists);
  Seen seen(ours, Root() + "/l");
  EXPECT_THAT(seen.WaitFor({{"a", "1"}}), testing::ElementsAre(testing::Pair("a", "1")));
  ASSERT_TRUE(Put(ours, Root() + "/l/c", "3").ok());
  seen.WaitFor({{"a", "1"}, {"c", "3"}});
}

// Calls whose time has passed without a connection do nothing when it comes.
TEST_F(ZookeeperCallsTest, WhatHasEndedIsNotDoneLater) {
  TcpProxy proxy(g_server->port());
  proxy.Break();
  Store& store = Open(proxy.address(), "", "session=20000");
  const auto late = Wait<absl::StatusOr<int64_t>>([&](auto done) {
    store.CreateSessionBound(Root() + "/late", "x", absl::Seconds(60), {absl::Milliseconds(100)},
                             std::move(done));
  });
  EXPECT_EQ(late.status().code(), absl::StatusCode::kDeadlineExceeded);
  proxy.Restore();
  ASSERT_TRUE(Put(store, Root() + "/now", "y").ok());
  EXPECT_EQ(Get(store, Root() + "/late").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace signpost

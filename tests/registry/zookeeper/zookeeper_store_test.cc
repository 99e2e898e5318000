// The ZooKeeper store on a real server: what its session does when the network or the server fails.
#include "signpost/registry/zookeeper/zookeeper_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/executor.h"
#include "signpost/common/mutex.h"
#include "tests/support/tcp_proxy.h"
#include "tests/support/zookeeper_server.h"

namespace signpost {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

// One server for all tests; each has its own keys.
ZookeeperServer* g_server = nullptr;

class ServerEnvironment : public testing::Environment {
 public:
  void SetUp() override {
    g_server = new ZookeeperServer;
    const absl::Status started = g_server->Start();
    ASSERT_TRUE(started.ok()) << started;
  }
  void TearDown() override {
    delete g_server;
    g_server = nullptr;
  }
};

const auto* const g_environment = testing::AddGlobalTestEnvironment(new ServerEnvironment);

// A value that another thread brings.
template <typename T>
class Box {
 public:
  void Put(T value) {
    MutexLock lock(mutex_);
    value_.emplace(std::move(value));
    changed_.SignalAll();
  }
  T Take() {
    MutexLock lock(mutex_);
    for (int i = 0; i < 600 && !value_.has_value(); ++i) {
      changed_.WaitFor(mutex_, absl::Milliseconds(100));
    }
    if (!value_.has_value()) return T(absl::InternalError("the callback was not called"));
    return *std::move(value_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::optional<T> value_;
};

template <typename T>
T Wait(const std::function<void(absl::AnyInvocable<void(T) &&>)>& call) {
  auto box = std::make_shared<Box<T>>();
  call([box](T value) { box->Put(std::move(value)); });
  return box->Take();
}

absl::StatusOr<int64_t> Put(Store& store, const std::string& key, const std::string& value) {
  return Wait<absl::StatusOr<int64_t>>(
      [&](auto done) { store.Put(key, value, {absl::Seconds(20)}, std::move(done)); });
}

absl::StatusOr<int64_t> Bind(Store& store, const std::string& key, const std::string& value) {
  return Wait<absl::StatusOr<int64_t>>([&](auto done) {
    store.CreateSessionBound(key, value, absl::Seconds(60), {absl::Seconds(20)}, std::move(done));
  });
}

absl::StatusOr<StoreValue> Get(Store& store, const std::string& key) {
  return Wait<absl::StatusOr<StoreValue>>(
      [&](auto done) { store.Get(key, {absl::Seconds(20)}, std::move(done)); });
}

absl::Status Delete(Store& store, const std::string& key, int64_t version = Store::kAnyVersion) {
  return Wait<absl::Status>(
      [&](auto done) { store.Delete(key, version, {absl::Seconds(20)}, std::move(done)); });
}

absl::StatusOr<int64_t> CompareAndSet(Store& store, const std::string& key,
                                      const std::string& value, int64_t version) {
  return Wait<absl::StatusOr<int64_t>>([&](auto done) {
    store.CompareAndSet(key, value, version, {absl::Seconds(20)}, std::move(done));
  });
}

// What watches say, to wait on.
class Seen {
 public:
  explicit Seen(Store& store, const std::string& prefix) {
    tree_ = store.WatchTree(prefix, [this](absl::StatusOr<TreeDelta> delta) {
      MutexLock lock(mutex_);
      ++calls_;
      if (!delta.ok()) {
        last_error_ = delta.status();
      } else {
        for (StoreChild& child : delta->added) {
          if (!children_.emplace(child.name, child.data.value).second) ++wrong_;
        }
        for (StoreChild& child : delta->changed) {
          if (children_.count(child.name) == 0) ++wrong_;
          children_[child.name] = child.data.value;
        }
        for (const std::string& name : delta->removed) {
          if (children_.erase(name) == 0) ++wrong_;
          ++removals_;
        }
        known_ = true;
      }
      changed_.SignalAll();
    });
    session_ = store.WatchSession([this](SessionEvent event) {
      MutexLock lock(mutex_);
      events_.push_back(event);
      changed_.SignalAll();
    });
  }

  std::map<std::string, std::string> WaitFor(const std::map<std::string, std::string>& children) {
    MutexLock lock(mutex_);
    for (int i = 0; i < 600 && !(known_ && children_ == children); ++i) {
      changed_.WaitFor(mutex_, absl::Milliseconds(100));
    }
    EXPECT_EQ(wrong_, 0) << "a delta that does not fit what was told before";
    return children_;
  }

  std::vector<SessionEvent> WaitForEvent(SessionEvent last) {
    MutexLock lock(mutex_);
    for (int i = 0; i < 600 && (events_.empty() || events_.back() != last); ++i) {
      changed_.WaitFor(mutex_, absl::Milliseconds(100));
    }
    return events_;
  }
  std::vector<SessionEvent> events() {
    MutexLock lock(mutex_);
    return events_;
  }
  int removals() {
    MutexLock lock(mutex_);
    return removals_;
  }
  absl::Status WaitForError() {
    MutexLock lock(mutex_);
    for (int i = 0; i < 600 && last_error_.ok(); ++i) {
      changed_.WaitFor(mutex_, absl::Milliseconds(100));
    }
    return last_error_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::map<std::string, std::string> children_;
  std::vector<SessionEvent> events_;
  absl::Status last_error_;
  bool known_ = false;
  int wrong_ = 0;
  int removals_ = 0;
  int calls_ = 0;
  Subscription tree_;
  Subscription session_;
};

class ZookeeperStoreTest : public testing::Test {
 protected:
  ~ZookeeperStoreTest() override {
    // Suites share the server: leave no session behind.
    stores_.clear();
  }

  Store& Open(const std::string& address, const std::string& user = "",
              const std::string& parameters = "session=2000") {
    auto url = Url::Parse(absl::StrCat("zookeeper://", user, address, "?", parameters));
    EXPECT_TRUE(url.ok()) << url.status();
    auto store = OpenZookeeperStore(*url, executor_);
    EXPECT_TRUE(store.ok()) << store.status();
    stores_.push_back(*std::move(store));
    return *stores_.back();
  }
  Store& Open() { return Open(g_server->address()); }

  std::string Root() const {
    return absl::StrCat("/", testing::UnitTest::GetInstance()->current_test_info()->name());
  }

  std::shared_ptr<Executor> executor_ = NewSerialExecutor("control");
  std::vector<std::unique_ptr<Store>> stores_;
};

TEST_F(ZookeeperStoreTest, VersionsGrowOverDeleteAndCreate) {
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

TEST_F(ZookeeperStoreTest, SessionBoundKeyIsTakenOverFromAnotherSession) {
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

TEST_F(ZookeeperStoreTest, CloseEndsTheSessionAtOnce) {
  Store& watcher = Open();
  Store& store = Open();
  ASSERT_TRUE(Bind(store, Root() + "/app/1", "a").ok());
  Seen seen(watcher, Root() + "/app");
  seen.WaitFor({{"1", "a"}});
  store.Close();
  EXPECT_THAT(seen.WaitFor({}), IsEmpty());
  EXPECT_EQ(Get(store, Root()).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(store.IsAvailable());
}

TEST_F(ZookeeperStoreTest, OpenCallsEndWithClose) {
  Store& store = Open("127.0.0.1:" + std::to_string(FreePort()));
  auto box = std::make_shared<Box<absl::StatusOr<StoreValue>>>();
  store.Get("/a", {absl::Seconds(300)},
            [box](absl::StatusOr<StoreValue> value) { box->Put(std::move(value)); });
  store.Close();
  EXPECT_EQ(box->Take().status().code(), absl::StatusCode::kCancelled);
}

TEST_F(ZookeeperStoreTest, DeadlineAndCancelWithoutAServer) {
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

TEST_F(ZookeeperStoreTest, TooLargeIsRefusedBeforeItIsSent) {
  Store& store = Open();
  const auto put = Put(store, Root() + "/big", std::string(1100000, 'x'));
  EXPECT_EQ(put.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(absl::StrContains(put.status().message(), Root() + "/big"));
  EXPECT_TRUE(absl::StrContains(put.status().message(), "limit"));
  // What just fits does fit.
  EXPECT_TRUE(Put(store, Root() + "/big", std::string(1040000, 'x')).ok());
}

TEST_F(ZookeeperStoreTest, BadKeysAreInvalid) {
  Store& store = Open();
  for (const char* key : {"", "a", "/a/", "/a//b", "/a/../b", "/a\n"}) {
    EXPECT_EQ(Get(store, key).status().code(), absl::StatusCode::kInvalidArgument) << key;
  }
}

TEST_F(ZookeeperStoreTest, CredentialsKeepOthersOut) {
  Store& ours = Open(g_server->address(), "ann:secret@");
  Store& theirs = Open();
  ASSERT_TRUE(Put(ours, Root() + "/a", "1").ok());
  const auto refused = Get(theirs, Root() + "/a");
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_FALSE(absl::StrContains(refused.status().message(), "secret"));
  EXPECT_EQ(Get(ours, Root() + "/a")->value, "1");
}

// The prefix comes, goes and comes again under one watch, also when its container is removed.
TEST_F(ZookeeperStoreTest, ThePrefixMayComeAndGo) {
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

TEST_F(ZookeeperStoreTest, ManyChildrenAreReadOnceAndThenByWhatChanged) {
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

TEST_F(ZookeeperStoreTest, NoWatchIsLeftBehind) {
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

TEST_F(ZookeeperStoreTest, ShortGapKeepsTheSessionAndItsNode) {
  TcpProxy proxy(g_server->port());
  Store& store = Open(proxy.address(), "", "session=20000");
  Store& watcher = Open();
  const std::string key = Root() + "/app/1";
  const auto version = Bind(store, key, "a");
  ASSERT_TRUE(version.ok()) << version.status();
  Seen own(store, Root() + "/app");
  Seen seen(watcher, Root() + "/app");
  own.WaitFor({{"1", "a"}});
  seen.WaitFor({{"1", "a"}});

  proxy.Break();
  own.WaitForEvent(SessionEvent::kDisconnected);
  ASSERT_TRUE(Put(watcher, Root() + "/app/2", "b").ok());
  proxy.Restore();
  EXPECT_THAT(
      own.WaitForEvent(SessionEvent::kConnected),
      ElementsAre(SessionEvent::kConnected, SessionEvent::kDisconnected, SessionEvent::kConnected));
  // What happened in the gap is seen, and the watches live on.
  own.WaitFor({{"1", "a"}, {"2", "b"}});
  ASSERT_TRUE(Put(watcher, Root() + "/app/2", "c").ok());
  own.WaitFor({{"1", "a"}, {"2", "c"}});
  EXPECT_EQ(Get(watcher, key)->version, *version);  // the same node: nobody wrote it
  EXPECT_EQ(*Bind(store, key, "a"), *version);
  EXPECT_EQ(seen.removals(), 0);
}

TEST_F(ZookeeperStoreTest, ExpiredSessionIsFollowedByANewOne) {
  TcpProxy proxy(g_server->port());
  Store& store = Open(proxy.address());
  Store& watcher = Open();
  ASSERT_TRUE(Bind(store, Root() + "/app/1", "a").ok());
  ASSERT_TRUE(Put(watcher, Root() + "/app/2", "b").ok());
  Seen own(store, Root() + "/app");
  Seen seen(watcher, Root() + "/app");
  own.WaitFor({{"1", "a"}, {"2", "b"}});
  seen.WaitFor({{"1", "a"}, {"2", "b"}});

  proxy.Break();
  seen.WaitFor({{"2", "b"}});  // the server has ended the session
  ASSERT_TRUE(Put(watcher, Root() + "/app/2", "c").ok());
  ASSERT_TRUE(Put(watcher, Root() + "/app/3", "d").ok());
  proxy.Restore();
  EXPECT_THAT(own.WaitForEvent(SessionEvent::kNewSession),
              ElementsAre(SessionEvent::kConnected, SessionEvent::kDisconnected,
                          SessionEvent::kExpired, SessionEvent::kNewSession));
  EXPECT_EQ(own.WaitForError().code(), absl::StatusCode::kUnavailable);
  // From what the watcher had to what is there, and on from there.
  const std::map<std::string, std::string> now = {{"2", "c"}, {"3", "d"}};
  EXPECT_EQ(own.WaitFor(now), now);
  ASSERT_TRUE(Bind(store, Root() + "/app/1", "again").ok());
  const std::map<std::string, std::string> then = {{"1", "again"}, {"2", "c"}, {"3", "d"}};
  EXPECT_EQ(own.WaitFor(then), then);
  EXPECT_EQ(seen.WaitFor(then), then);
  EXPECT_TRUE(Get(store, Root() + "/app/1")->owned);
}

TEST_F(ZookeeperStoreTest, ServerRestartsOnTheSamePort) {
  Store& store = Open(g_server->address(), "", "session=30000");
  ASSERT_TRUE(Bind(store, Root() + "/app/1", "a").ok());
  Seen own(store, Root() + "/app");
  own.WaitFor({{"1", "a"}});
  ASSERT_TRUE(g_server->Stop().ok());
  own.WaitForEvent(SessionEvent::kDisconnected);
  EXPECT_FALSE(store.IsAvailable());
  const absl::Status restarted = g_server->Start();
  ASSERT_TRUE(restarted.ok()) << restarted;
  // A call made meanwhile waits for the connection.
  ASSERT_TRUE(Put(store, Root() + "/app/2", "b").ok());
  const std::map<std::string, std::string> both = {{"1", "a"}, {"2", "b"}};
  EXPECT_EQ(own.WaitFor(both), both);
  EXPECT_EQ(own.removals(), 0);
}

TEST_F(ZookeeperStoreTest, SuspendedServerTimesCallsOut) {
  Store& store = Open(g_server->address(), "", "session=20000");
  ASSERT_TRUE(Put(store, Root(), "1").ok());
  g_server->Suspend();
  const auto late = Wait<absl::StatusOr<StoreValue>>(
      [&](auto done) { store.Get(Root(), {absl::Milliseconds(200)}, std::move(done)); });
  g_server->Resume();
  EXPECT_EQ(late.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(Get(store, Root())->value, "1");
}

TEST_F(ZookeeperStoreTest, ChildOfForkIsToldAndLeavesTheSessionAlone) {
  Store& store = Open();
  ASSERT_TRUE(Bind(store, Root() + "/1", "a").ok());
  const pid_t child = fork();
  if (child == 0) {
    absl::StatusCode code = absl::StatusCode::kOk;
    store.Get(Root(), CallOptions(),
              [&code](absl::StatusOr<StoreValue> value) { code = value.status().code(); });
    const bool available = store.IsAvailable();
    store.Close();
    _exit(code == absl::StatusCode::kFailedPrecondition && !available ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Get(store, Root() + "/1")->value, "a");
}

TEST_F(ZookeeperStoreTest, BadUrlsAreInvalid) {
  for (const char* text : {"zookeeper://127.0.0.1?session=x", "zookeeper://127.0.0.1?timeout=-1",
                           "zookeeper://127.0.0.1?session=0"}) {
    auto url = Url::Parse(text);
    ASSERT_TRUE(url.ok()) << text;
    EXPECT_EQ(OpenZookeeperStore(*url, executor_).status().code(),
              absl::StatusCode::kInvalidArgument)
        << text;
  }
}

}  // namespace
}  // namespace signpost

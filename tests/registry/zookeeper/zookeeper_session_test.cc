// What the session does when the network, the server or the process fails.
#include "signpost/registry/zookeeper/zookeeper_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/manual_executor.h"
#include "tests/registry/zookeeper/zookeeper_test.h"
#include "tests/support/kept_log.h"
#include "tests/support/loopback.h"
#include "tests/support/tcp_proxy.h"

namespace signpost {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using ZookeeperSessionTest = ZookeeperTest;

TEST_F(ZookeeperSessionTest, CloseEndsTheSessionAtOnce) {
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

// TC-13
TEST_F(ZookeeperSessionTest, ShortGapKeepsTheSessionAndItsNode) {
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

// Each gap has the whole time of a session: an earlier one that has ended does not shorten it.
TEST_F(ZookeeperSessionTest, GapsAreNotAddedUp) {
  TcpProxy proxy(g_server->port());
  SimulatedClock clock;
  auto executor = std::make_shared<ManualExecutor>(clock);
  auto url = Url::Parse(absl::StrCat("zookeeper://", proxy.address(), "?session=20000"));
  auto store = OpenZookeeperStore(*url, executor);
  ASSERT_TRUE(store.ok()) << store.status();
  std::vector<SessionEvent> events;
  Subscription session =
      (*store)->WatchSession([&](SessionEvent event) { events.push_back(event); });
  const auto hears = [&](SessionEvent last) {
    for (int i = 0; i < 600; ++i) {
      executor->RunUntilIdle();
      if (!events.empty() && events.back() == last) return true;
      poll(nullptr, 0, 50);
    }
    return false;
  };
  ASSERT_TRUE(hears(SessionEvent::kConnected));
  for (int gap = 0; gap < 2; ++gap) {
    proxy.Break();
    ASSERT_TRUE(hears(SessionEvent::kDisconnected));
    // In the second gap this passes the end of the first one's time, not of its own.
    executor->AdvanceAndRun(absl::Seconds(15));
    EXPECT_EQ(events.back(), SessionEvent::kDisconnected);
    proxy.Restore();
    ASSERT_TRUE(hears(SessionEvent::kConnected));
  }
  EXPECT_THAT(events, ElementsAre(SessionEvent::kConnected, SessionEvent::kDisconnected,
                                  SessionEvent::kConnected, SessionEvent::kDisconnected,
                                  SessionEvent::kConnected));
  session.Cancel();
  store->reset();
  executor->RunUntilIdle();
}

TEST_F(ZookeeperSessionTest, ExpiredSessionIsFollowedByANewOne) {
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

TEST_F(ZookeeperSessionTest, ServerRestartsOnTheSamePort) {
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

TEST_F(ZookeeperSessionTest, SuspendedServerTimesCallsOut) {
  Store& store = Open(g_server->address(), "", "session=20000");
  ASSERT_TRUE(Put(store, Root(), "1").ok());
  g_server->Suspend();
  const auto late = Wait<absl::StatusOr<StoreValue>>(
      [&](auto done) { store.Get(Root(), {absl::Milliseconds(200)}, std::move(done)); });
  g_server->Resume();
  EXPECT_EQ(late.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(Get(store, Root())->value, "1");
}

TEST_F(ZookeeperSessionTest, ChildOfForkIsToldAndLeavesTheSessionAlone) {
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

// TC-53: the C library logs too, and says much at its most verbose level.
TEST_F(ZookeeperSessionTest, NoPasswordInAnyLogOrError) {
  const KeptLog log(LogLevel::kDebug);
  std::string errors;
  {
    Store& nobody = Open(absl::StrCat("127.0.0.1:", FreePort()), "u:p4ss@", "timeout=100");
    Seen seen(nobody, Root());
    errors += seen.WaitForError().ToString();
    const auto late = Wait<absl::StatusOr<StoreValue>>(
        [&](auto done) { nobody.Get(Root(), {absl::Milliseconds(200)}, std::move(done)); });
    errors += late.status().ToString();
    Store& ours = Open(g_server->address(), "u:p4ss@");
    ASSERT_TRUE(Put(ours, Root() + "/a", "1").ok());
    errors += Get(Open(g_server->address(), "v:0ther@"), Root() + "/a").status().ToString();
    ours.Close();
    errors += Get(ours, Root() + "/a").status().ToString();
  }
  stores_.clear();
  const std::string all = errors + log.text();
  EXPECT_NE(all.find("127.0.0.1"), std::string::npos);
  for (const char* secret : {"p4ss", "0ther"}) {
    EXPECT_EQ(all.find(secret), std::string::npos) << all;
  }
}

TEST_F(ZookeeperSessionTest, BadUrlsAreInvalid) {
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

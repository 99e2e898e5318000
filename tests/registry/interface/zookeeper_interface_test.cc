// The interface level on a real ZooKeeper server: watches of names, lost sessions, and leaves that
// other sessions left.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "signpost/common/await.h"
#include "signpost/registry/interface/interface_registry.h"
#include "signpost/registry/store/store_centre.h"
#include "signpost/registry/zookeeper/zookeeper_store.h"
#include "tests/registry/zookeeper/zookeeper_test.h"
#include "tests/support/raw_zookeeper.h"
#include "tests/support/tcp_proxy.h"
#include "tests/support/zookeeper_server.h"

namespace signpost {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(40);

// What a listener was told last, to wait on.
class Latest final : public NotifyListener {
 public:
  void Notify(const ServiceAddresses& addresses) override {
    MutexLock lock(mutex_);
    last_ = addresses;
    if (addresses.list->empty() && seen_) ++gaps_;
    seen_ = seen_ || !addresses.list->empty();
    changed_.SignalAll();
  }
  bool WaitForSize(size_t size) {
    MutexLock lock(mutex_);
    for (int i = 0; i < 400; ++i) {
      if (last_.list != nullptr && last_.list->size() == size) return true;
      changed_.WaitFor(mutex_, absl::Milliseconds(100));
    }
    return false;
  }
  int gaps() {
    MutexLock lock(mutex_);
    return gaps_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  ServiceAddresses last_ ABSL_GUARDED_BY(mutex_);
  bool seen_ ABSL_GUARDED_BY(mutex_) = false;
  int gaps_ ABSL_GUARDED_BY(mutex_) = 0;
};

class ZookeeperInterfaceTest : public ZookeeperTest {
 protected:
  struct Process {
    std::unique_ptr<RegistryCentre> centre;
    EndpointTable table;
    std::unique_ptr<InterfaceRegistry> registry;
  };
  std::unique_ptr<Process> Start(const std::string& address) {
    auto process = std::make_unique<Process>();
    CentreOptions options;
    options.executor = executor_;
    auto centre = OpenZookeeperCentre(
        *Url::Parse(absl::StrCat("zookeeper://", address, "?session=4000&group=", Root())),
        options);
    EXPECT_TRUE(centre.ok()) << centre.status();
    process->centre = *std::move(centre);
    process->registry = std::make_unique<InterfaceRegistry>(
        *executor_, *process->centre, process->table, InterfaceRegistryOptions());
    return process;
  }
  static absl::Status Register(Process& process, const std::string& url) {
    CallOptions options;
    options.timeout = kPatience;
    return Await(kPatience, [&](auto done) {
      process.registry->Register(*Url::Parse(url), options, std::move(done));
    });
  }
  static absl::Status Unregister(Process& process, const std::string& url) {
    CallOptions options;
    options.timeout = kPatience;
    return Await(kPatience, [&](auto done) {
      process.registry->Unregister(*Url::Parse(url), options, std::move(done));
    });
  }
  std::string Folder() const { return Root() + "/a.A/providers"; }
  std::string PathOf(const std::string& url) const {
    return absl::StrCat(Folder(), "/", FormEncode(url));
  }
};

TEST_F(ZookeeperInterfaceTest, AWatchOfNamesCostsOneWatch) {
  Store& store = Open();
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(Put(store, absl::StrCat(Folder(), "/", i), "v").ok());
  }
  const int before = g_server->Watches();
  ASSERT_GE(before, 0);
  Mutex mutex;
  CondVar changed;
  std::vector<TreeDelta> deltas;
  const Subscription watch = store.WatchTree(
      Folder(),
      [&](absl::StatusOr<TreeDelta> delta) {
        MutexLock lock(mutex);
        if (delta.ok()) deltas.push_back(*std::move(delta));
        changed.SignalAll();
      },
      TreeContent::kNames);
  const auto wait_for = [&](size_t size) {
    MutexLock lock(mutex);
    for (int i = 0; i < 400 && deltas.size() < size; ++i) {
      changed.WaitFor(mutex, absl::Milliseconds(100));
    }
    return deltas.size();
  };
  ASSERT_EQ(wait_for(1), 1u);
  EXPECT_EQ(deltas[0].added.size(), 50u);
  EXPECT_EQ(deltas[0].added[0].data.value, "");
  EXPECT_EQ(g_server->Watches(), before + 1);
  // A value that changes is nothing to it.
  ASSERT_TRUE(Put(store, Folder() + "/7", "w").ok());
  ASSERT_TRUE(Put(store, Folder() + "/50", "v").ok());
  ASSERT_EQ(wait_for(2), 2u);
  ASSERT_EQ(deltas[1].added.size(), 1u);
  EXPECT_EQ(deltas[1].added[0].name, "50");
  EXPECT_TRUE(deltas[1].changed.empty());
}

TEST_F(ZookeeperInterfaceTest, ALostSessionIsFollowedByTheSameNodes) {
  TcpProxy proxy(g_server->port());
  auto provider = Start(proxy.address());
  auto consumer = Start(g_server->address());
  const std::string url = "tri://192.0.2.1:1/a.A?side=provider&timestamp=1700000000000";
  const std::string fixed = "tri://192.0.2.2:1/a.A?dynamic=false&side=provider";
  ASSERT_TRUE(Register(*provider, url).ok());
  ASSERT_TRUE(Register(*provider, fixed).ok());
  auto listener = std::make_shared<Latest>();
  const Url consumer_url = *Url::Parse("consumer://192.0.2.9/a.A");
  consumer->registry->Subscribe(consumer_url, listener);
  ASSERT_TRUE(listener->WaitForSize(2));
  // The consumer's watch of names outlives its own session too.
  const std::string session = g_server->SessionOf(proxy.upstream_port());
  ASSERT_FALSE(session.empty());
  proxy.Break();
  ASSERT_TRUE(g_server->WaitForEndOf(session, kPatience));
  EXPECT_TRUE(listener->WaitForSize(1));
  proxy.Restore();
  EXPECT_TRUE(listener->WaitForSize(2));
  Store& store = Open();
  EXPECT_TRUE(Get(store, PathOf(url))->session_bound);
  EXPECT_FALSE(Get(store, PathOf(fixed))->session_bound);
  EXPECT_EQ(listener->gaps(), 0);
  ASSERT_TRUE(Unregister(*provider, fixed).ok());
  EXPECT_TRUE(listener->WaitForSize(1));
  EXPECT_TRUE(absl::IsNotFound(Get(store, PathOf(fixed)).status()));
}

// TC-47
TEST_F(ZookeeperInterfaceTest, AChangeWhileCutOffEndsInOneNode) {
  TcpProxy proxy(g_server->port());
  auto provider = Start(proxy.address());
  const std::string u1 = "tri://192.0.2.1:1/a.A?side=provider&timestamp=1700000000000&weight=1";
  const std::string u2 = "tri://192.0.2.1:1/a.A?side=provider&timestamp=1700000000000&weight=2";
  ASSERT_TRUE(Register(*provider, u1).ok());
  const std::string session = g_server->SessionOf(proxy.upstream_port());
  proxy.Break();
  CallOptions options;
  options.timeout = kPatience;
  Waiter<absl::Status> added;
  Waiter<absl::Status> removed;
  provider->registry->Register(*Url::Parse(u2), options, added.Callback());
  provider->registry->Unregister(*Url::Parse(u1), options, removed.Callback());
  ASSERT_TRUE(g_server->WaitForEndOf(session, kPatience));
  proxy.Restore();
  EXPECT_TRUE(added.Wait(kPatience).ok());
  EXPECT_TRUE(removed.Wait(kPatience).ok());
  Store& store = Open();
  Seen seen(store, Folder());
  const auto value = Get(store, PathOf(u2));
  ASSERT_TRUE(value.ok()) << value.status();
  const auto children = seen.WaitFor({{FormEncode(u2), value->value}});
  EXPECT_EQ(children.size(), 1u);
}

// TC-47, within one session.
TEST_F(ZookeeperInterfaceTest, AChangeInAGapOfTheSameSessionEndsInOneNode) {
  TcpProxy proxy(g_server->port());
  auto provider = Start(proxy.address());
  const std::string u1 = "tri://192.0.2.1:1/a.A?side=provider&timestamp=1700000000000&weight=1";
  const std::string u2 = "tri://192.0.2.1:1/a.A?side=provider&timestamp=1700000000000&weight=2";
  ASSERT_TRUE(Register(*provider, u1).ok());
  Seen gap(provider->centre->store(), Folder());
  proxy.Break();
  ASSERT_EQ(gap.WaitForEvent(SessionEvent::kDisconnected).back(), SessionEvent::kDisconnected);
  CallOptions options;
  options.timeout = kPatience;
  Waiter<absl::Status> added;
  Waiter<absl::Status> removed;
  provider->registry->Register(*Url::Parse(u2), options, added.Callback());
  provider->registry->Unregister(*Url::Parse(u1), options, removed.Callback());
  proxy.Restore();
  EXPECT_TRUE(added.Wait(kPatience).ok());
  EXPECT_TRUE(removed.Wait(kPatience).ok());
  for (const SessionEvent event : gap.events()) {
    EXPECT_NE(event, SessionEvent::kNewSession) << "the session should have lived on";
  }
  Store& store = Open();
  Seen seen(store, Folder());
  const auto value = Get(store, PathOf(u2));
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(seen.WaitFor({{FormEncode(u2), value->value}}).size(), 1u);
}

// A Java consumer's watch of a folder is not set again when the folder has vanished.
TEST_F(ZookeeperInterfaceTest, FoldersAreNoContainersAndOutliveTheirLastChild) {
  // A server that looks for empty containers all the time, not once a minute.
  ZookeeperServer eager;
  setenv("ZK_CONTAINER_CHECK_MS", "200", 1);
  const absl::Status started = eager.Start();
  unsetenv("ZK_CONTAINER_CHECK_MS");
  ASSERT_TRUE(started.ok()) << started;
  auto provider = Start(eager.address());
  const std::string url = "tri://192.0.2.1:1/a.A?side=provider";
  const std::string consumer = "consumer://192.0.2.9/a.A";
  for (const std::string& each : {url, consumer}) {
    ASSERT_TRUE(Register(*provider, each).ok());
    ASSERT_TRUE(Unregister(*provider, each).ok());
  }
  RawZookeeper raw(eager.address());
  ASSERT_EQ(raw.Children(Folder())->size(), 0u);
  // Instances lie in a container, as Dubbo makes it: once it has vanished those above would have.
  Store& store = provider->centre->store();
  const std::string instances = Root() + "/services/shop";
  ASSERT_TRUE(Bind(store, instances + "/192.0.2.1:1", "{}").ok());
  const absl::Status deleted = Await<absl::Status>(kPatience, [&](auto done) {
    store.Delete(instances + "/192.0.2.1:1", Store::kAnyVersion, CallOptions(), std::move(done));
  });
  ASSERT_TRUE(deleted.ok()) << deleted;
  EXPECT_TRUE(raw.AwaitGone(instances, kPatience));
  for (const char* folder : {"", "/services", "/a.A", "/a.A/providers", "/a.A/consumers"}) {
    EXPECT_TRUE(raw.Children(Root() + folder).ok()) << folder;
  }
}

TEST_F(ZookeeperInterfaceTest, ALeafOfAnotherSessionIsReplaced) {
  const std::string url = "tri://192.0.2.1:1/a.A?side=provider";
  Store& left = Open();
  ASSERT_TRUE(Bind(left, PathOf(url), "").ok());
  auto provider = Start(g_server->address());
  ASSERT_TRUE(Register(*provider, url).ok());
  left.Close();
  Store& store = Open();
  const auto value = Get(store, PathOf(url));
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_TRUE(value->session_bound);
  ASSERT_TRUE(Unregister(*provider, url).ok());
  EXPECT_TRUE(absl::IsNotFound(Get(store, PathOf(url)).status()));
}

}  // namespace
}  // namespace signpost

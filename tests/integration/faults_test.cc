// What breaks in production, over a real ZooKeeper and a real `signpost serve`, with providers in
// processes of their own: killed, suspended and cut off providers, a registry that is killed and
// comes back with its data or without, and two of these together. Consumer and providers are right
// again without a restart of their own, within the bounds below.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "signpost/client/client.h"
#include "signpost/client/plugins/builtins.h"
#include "signpost/common/await.h"
#include "signpost/common/clock.h"
#include "signpost/common/json.h"
#include "signpost/common/mutex.h"
#include "signpost/registry/server/registry_server.h"
#include "tests/integration/live_registry.h"
#include "tests/support/child_process.h"
#include "tests/support/tcp_proxy.h"

namespace signpost {
namespace {

using testing::AssertionFailure;
using testing::AssertionResult;
using testing::AssertionSuccess;
using testing::ElementsAre;

constexpr char kService[] = "org.example.Greeter";
constexpr char kFolder[] = "/services/greeting";
constexpr char kFirst[] = "192.0.2.1:50051";
constexpr char kSecond[] = "192.0.2.2:50051";
constexpr char kThird[] = "192.0.2.3:50051";

// For what the library does not decide: a loaded machine, sanitizers.
constexpr absl::Duration kRoom = absl::Seconds(4 * kSlowness);
// Of all clients here, unless said otherwise.
constexpr absl::Duration kSession = absl::Seconds(2);
// zookeeper-start.sh's: ZooKeeper rounds the end of a session up to a tick, and looks once a tick.
constexpr absl::Duration kTick = absl::Milliseconds(500);
// What a silent client had registered is dropped.
const absl::Duration kGone = kSession + 2 * kTick + kRoom;
// The longest delay of a signpost:// client between tries to connect; ZooKeeper's client waits a
// 60th of its session.
constexpr absl::Duration kMaxBackoff = absl::Seconds(1);
// All is as it should be after the registry serves again, or is reachable again.
const absl::Duration kBack = kMaxBackoff + kRoom;
// An emptied ZooKeeper refuses whoever has seen newer writes than it has. Such a client starts anew
// when it has had no connection for the time of its session.
const absl::Duration kAnew = kSession + kBack;
// Of a provider that is back in time after the registry was away. ZooKeeper counts it from its own
// start on, however slow that is; the most it grants is 20 ticks.
const absl::Duration kInTime = 20 * kTick;
// A process has started, connected and registered.
constexpr absl::Duration kStarted = absl::Seconds(15 * kSlowness);

// What a registry that is back keeps of those who died while it was away: ZooKeeper gives each
// session its time again, `signpost serve` all of them the same.
absl::Duration LeftBehind(const std::string& kind) {
  return kind == "zookeeper" ? kGone : RegistryServerOptions().left_behind + kRoom;
}

using Addresses = std::multiset<std::string>;

std::string Text(const Addresses& addresses) {
  return absl::StrCat("{", absl::StrJoin(addresses, ", "), "}");
}

// The lists that a Directory told, in order.
class History {
 public:
  explicit History(Directory& directory)
      : subscription_(directory.OnChange([this](const ServiceAddresses& told) {
          Addresses addresses;
          told.list->ForEach(
              [&](const Endpoint& endpoint) { addresses.insert(endpoint.address()); });
          MutexLock lock(mutex_);
          lists_.push_back(std::move(addresses));
          changed_.SignalAll();
        })) {}

  // Whether the newest list is `wanted`, or becomes so within `bound`.
  AssertionResult Becomes(const Addresses& wanted, absl::Duration bound) {
    const absl::Duration end = Clock::Real().MonotonicNow() + bound;
    MutexLock lock(mutex_);
    while (lists_.empty() || lists_.back() != wanted) {
      const absl::Duration left = end - Clock::Real().MonotonicNow();
      if (left <= absl::ZeroDuration()) {
        return AssertionFailure() << "after " << absl::FormatDuration(bound) << " not "
                                  << Text(wanted) << " but "
                                  << (lists_.empty() ? "nothing told" : Text(lists_.back()));
      }
      changed_.WaitFor(mutex_, left);
    }
    return AssertionSuccess();
  }

  // Keeps the newest list alone.
  void Forget() {
    MutexLock lock(mutex_);
    if (!lists_.empty()) lists_.erase(lists_.begin(), lists_.end() - 1);
  }

  // Whether each list has it, once.
  AssertionResult AlwaysHas(const std::string& address) {
    MutexLock lock(mutex_);
    for (const Addresses& list : lists_) {
      if (list.count(address) != 1) return AssertionFailure() << address << " in " << Text(list);
    }
    return AssertionSuccess();
  }

  // Whether no list has it after one that has not.
  AssertionResult NeverComesBack(const std::string& address) {
    MutexLock lock(mutex_);
    bool gone = false;
    for (const Addresses& list : lists_) {
      const bool has = list.count(address) > 0;
      if (has && gone) return AssertionFailure() << address << " is back: " << Text(list);
      gone = gone || !has;
    }
    return AssertionSuccess();
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<Addresses> lists_ ABSL_GUARDED_BY(mutex_);
  Subscription subscription_;
};

// What happens to one node below kFolder: "added", "changed", "removed".
class NodeLog {
 public:
  NodeLog(Client& client, const std::string& name)
      : subscription_(client.centre().store().WatchTree(
            kFolder, [this, name](absl::StatusOr<TreeDelta> delta) {
              if (!delta.ok()) return;
              MutexLock lock(mutex_);
              for (const StoreChild& child : delta->added) {
                if (child.name == name) events_.push_back("added");
              }
              for (const StoreChild& child : delta->changed) {
                if (child.name == name) events_.push_back("changed");
              }
              for (const std::string& removed : delta->removed) {
                if (removed == name) events_.push_back("removed");
              }
            })) {}

  std::vector<std::string> events() {
    MutexLock lock(mutex_);
    return events_;
  }

 private:
  Mutex mutex_;
  std::vector<std::string> events_ ABSL_GUARDED_BY(mutex_);
  Subscription subscription_;
};

class FaultsTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(AddBuiltinRegistries(factories_).ok());
    registry_ = LiveRegistry::Make(GetParam());
    const absl::Status started = registry_->Start();
    ASSERT_TRUE(started.ok()) << started;
    consumer_ = Open();
    ASSERT_NE(consumer_, nullptr);
    auto directory = consumer_->consumer().Refer(kService);
    ASSERT_TRUE(directory.ok()) << directory.status();
    directory_ = *std::move(directory);
    history_.emplace(*directory_);
  }

  std::unique_ptr<Client> Open() {
    ClientOptions options;
    options.registry = registry_->Url(kSession);
    auto client = Client::Create(options, factories_);
    EXPECT_TRUE(client.ok()) << client.status();
    return client.ok() ? *std::move(client) : nullptr;
  }

  // Starts the example provider, which has registered `address` on return.
  std::unique_ptr<ChildProcess> Provide(const std::string& address, const std::string& url) {
    auto process =
        std::make_unique<ChildProcess>(std::vector<std::string>{"examples/provider", url, address});
    EXPECT_TRUE(
        process->WaitForOutput(absl::StrCat("registered ", kFolder, "/", address, "\n"), kStarted))
        << process->output();
    return process;
  }
  std::unique_ptr<ChildProcess> Provide(const std::string& address) {
    return Provide(address, registry_->Url(kSession));
  }

  void KillRegistry() {
    registry_->Kill();
    // Calls go on meanwhile.
    EXPECT_TRUE(directory_->Pick(Request()).ok());
  }
  void StartRegistry() {
    const absl::Status started = registry_->Start();
    ASSERT_TRUE(started.ok()) << started;
  }

  absl::StatusOr<StoreValue> Node(const std::string& path) {
    return Await<absl::StatusOr<StoreValue>>(kStarted, [&](auto done) {
      consumer_->centre().store().Get(path, CallOptions(), std::move(done));
    });
  }

  // What a process that starts now finds: by mapping, instances and metadata.
  Addresses Resolve() {
    ChildProcess process({"tools/signpost", "resolve", kService, "--json",
                          "--registry=" + registry_->Url(kSession)});
    EXPECT_EQ(process.Wait(kStarted), 0) << process.output();
    auto answer = Json::Parse(process.output());
    EXPECT_TRUE(answer.ok()) << process.output();
    Addresses found;
    if (!answer.ok()) return found;
    for (const Json& endpoint : (*answer)["endpoints"].AsArray()) {
      found.insert(absl::StrCat(endpoint["host"].AsString(), ":", endpoint["port"].AsInt()));
    }
    return found;
  }

  // The registry and its clients work as on the first day, with kFirst and kSecond registered by
  // `first` and `second`.
  void ExpectAllRight(ChildProcess& second) {
    EXPECT_EQ(Resolve(), (Addresses{kFirst, kSecond}));
    // The consumer's watches are alive,
    auto third = Provide(kThird);
    EXPECT_TRUE(history_->Becomes({kFirst, kSecond, kThird}, kRoom));
    // a provider that stops is gone at once,
    second.Signal(SIGTERM);
    EXPECT_TRUE(history_->Becomes({kFirst, kThird}, kRoom));
    EXPECT_EQ(second.Wait(kStarted), 0) << second.output();
    // and one that is killed with its session. kFirst outlives that: a living session owns it.
    third->Signal(SIGKILL);
    EXPECT_TRUE(history_->Becomes({kFirst}, kGone));
    EXPECT_EQ(Resolve(), Addresses{kFirst});
    const auto node = Node(absl::StrCat(kFolder, "/", kFirst));
    ASSERT_TRUE(node.ok()) << node.status();
    EXPECT_TRUE(node->session_bound);
  }

  std::unique_ptr<LiveRegistry> registry_;
  RegistryFactories factories_{"registry"};
  std::unique_ptr<Client> consumer_;
  std::shared_ptr<Directory> directory_;
  std::optional<History> history_;
};

TEST_P(FaultsTest, KilledProviderGoesWithItsSession) {
  auto first = Provide(kFirst);
  auto second = Provide(kSecond);
  ASSERT_TRUE(history_->Becomes({kFirst, kSecond}, kRoom));
  history_->Forget();
  second->Signal(SIGKILL);
  EXPECT_TRUE(history_->Becomes({kFirst}, kGone));
  second = Provide(kSecond);
  EXPECT_TRUE(history_->Becomes({kFirst, kSecond}, kRoom));
  EXPECT_TRUE(history_->AlwaysHas(kFirst));
  ExpectAllRight(*second);
}

TEST_P(FaultsTest, KilledProviderThatIsBackBeforeItsSessionEndsIsAlwaysThere) {
  // Long enough for a process to start in it.
  const std::string url = registry_->Url(kStarted);
  auto first = Provide(kFirst, url);
  ASSERT_TRUE(history_->Becomes({kFirst}, kRoom));
  history_->Forget();
  const auto before = Node(absl::StrCat(kFolder, "/", kFirst));
  first->Signal(SIGKILL);
  // Its session lasts as long as that of the killed one, and begins later.
  auto later = Provide(kSecond, url);
  first = Provide(kFirst, url);
  later->Signal(SIGKILL);
  ASSERT_TRUE(history_->Becomes({kFirst, kSecond}, kRoom));
  EXPECT_TRUE(history_->Becomes({kFirst}, kStarted - kSession + kGone));
  EXPECT_TRUE(history_->AlwaysHas(kFirst));
  const auto after = Node(absl::StrCat(kFolder, "/", kFirst));
  ASSERT_TRUE(before.ok() && after.ok()) << before.status() << after.status();
  EXPECT_GT(after->version, before->version);
}

TEST_P(FaultsTest, SuspendedProviderRegistersAgainOnce) {
  auto first = Provide(kFirst);
  auto second = Provide(kSecond);
  ASSERT_TRUE(history_->Becomes({kFirst, kSecond}, kRoom));
  NodeLog log(*consumer_, kSecond);
  ASSERT_TRUE(Poll(kRoom, [&] { return !log.events().empty(); }));
  history_->Forget();
  second->Signal(SIGSTOP);
  EXPECT_TRUE(history_->Becomes({kFirst}, kGone));
  second->Signal(SIGCONT);
  EXPECT_TRUE(history_->Becomes({kFirst, kSecond}, kBack));
  EXPECT_TRUE(history_->AlwaysHas(kFirst));
  ExpectAllRight(*second);
  EXPECT_THAT(log.events(), ElementsAre("added", "removed", "added", "removed"));
}

TEST_P(FaultsTest, CutOffProviderRegistersAgainOnce) {
  TcpProxy proxy(registry_->port());
  auto first = Provide(kFirst);
  auto second = Provide(kSecond, registry_->Url(kSession, proxy.port()));
  ASSERT_TRUE(history_->Becomes({kFirst, kSecond}, kRoom));
  NodeLog log(*consumer_, kSecond);
  ASSERT_TRUE(Poll(kRoom, [&] { return !log.events().empty(); }));
  history_->Forget();
  proxy.Break();
  EXPECT_TRUE(history_->Becomes({kFirst}, kGone));
  proxy.Restore();
  EXPECT_TRUE(history_->Becomes({kFirst, kSecond}, kBack));
  EXPECT_TRUE(history_->AlwaysHas(kFirst));
  ExpectAllRight(*second);
  EXPECT_THAT(log.events(), ElementsAre("added", "removed", "added", "removed"));
}

TEST_P(FaultsTest, ConsumerThatWasCutOffSeesWhatHappenedMeanwhile) {
  auto first = Provide(kFirst);
  auto second = Provide(kSecond);
  TcpProxy proxy(registry_->port());
  ChildProcess watch({"tools/signpost", "watch", kService, "--json",
                      "--registry=" + registry_->Url(kSession, proxy.port())});
  ASSERT_TRUE(watch.WaitForOutput("192.0.2.2", kStarted)) << watch.output();
  ASSERT_TRUE(history_->Becomes({kFirst, kSecond}, kRoom));
  const std::string before = watch.output();
  proxy.Break();
  // A session that began before the cut has ended, and so has that of the watching process.
  second->Signal(SIGKILL);
  EXPECT_TRUE(history_->Becomes({kFirst}, kGone));
  auto third = Provide(kThird);
  EXPECT_TRUE(history_->Becomes({kFirst, kThird}, kRoom));
  proxy.Restore();
  EXPECT_TRUE(watch.WaitForOutput("192.0.2.3", kBack)) << watch.output();
  const std::string after = watch.output().substr(before.size());
  const std::string last = after.substr(after.rfind('\n', after.size() - 2) + 1);
  EXPECT_TRUE(absl::StrContains(last, "192.0.2.1")) << after;
  EXPECT_FALSE(absl::StrContains(last, "192.0.2.2")) << after;
  watch.Signal(SIGTERM);
  EXPECT_EQ(watch.Wait(kStarted), 0) << watch.output();
}

TEST_P(FaultsTest, KilledRegistryIsBackWithItsData) {
  auto first = Provide(kFirst, registry_->Url(kInTime));
  auto second = Provide(kSecond, registry_->Url(kInTime));
  ASSERT_TRUE(history_->Becomes({kFirst, kSecond}, kRoom));
  history_->Forget();
  KillRegistry();
  StartRegistry();
  // A provider that is new is seen, the others were there all the while.
  auto third = Provide(kThird);
  EXPECT_TRUE(history_->Becomes({kFirst, kSecond, kThird}, kBack));
  third->Signal(SIGTERM);
  EXPECT_TRUE(history_->Becomes({kFirst, kSecond}, kRoom));
  // Longer than the registry keeps what nobody owns any more.
  const absl::Duration kept = std::max(LeftBehind(GetParam()), kInTime);
  third = Provide(kThird, registry_->Url(kept));
  third->Signal(SIGKILL);
  EXPECT_TRUE(history_->Becomes({kFirst, kSecond, kThird}, kRoom));
  EXPECT_TRUE(history_->Becomes({kFirst, kSecond}, kept + kGone));
  EXPECT_TRUE(history_->AlwaysHas(kFirst));
  EXPECT_TRUE(history_->AlwaysHas(kSecond));
  ExpectAllRight(*second);
}

TEST_P(FaultsTest, KilledRegistryIsBackEmpty) {
  auto first = Provide(kFirst);
  auto second = Provide(kSecond);
  ASSERT_TRUE(history_->Becomes({kFirst, kSecond}, kRoom));
  KillRegistry();
  registry_->Wipe();
  StartRegistry();
  // Mapping, metadata and instances are written again: who comes now finds all.
  auto fresh = Open();
  auto directory = fresh->consumer().Refer(kService);
  ASSERT_TRUE(directory.ok()) << directory.status();
  History seen(**directory);
  EXPECT_TRUE(seen.Becomes({kFirst, kSecond}, kAnew));
  // And the consumer of before is back too, and sees what comes.
  auto third = Provide(kThird);
  EXPECT_TRUE(history_->Becomes({kFirst, kSecond, kThird}, kAnew));
  third->Signal(SIGTERM);
  EXPECT_TRUE(history_->Becomes({kFirst, kSecond}, kRoom));
  ExpectAllRight(*second);
}

// Longer than anybody's session.
TEST_P(FaultsTest, RegistryThatIsAwayForLongIsBackWithItsData) {
  auto first = Provide(kFirst, registry_->Url(kInTime));
  auto second = Provide(kSecond, registry_->Url(kInTime));
  ASSERT_TRUE(history_->Becomes({kFirst, kSecond}, kRoom));
  history_->Forget();
  KillRegistry();
  const absl::Duration end = Clock::Real().MonotonicNow() + kInTime + kSession;
  EXPECT_TRUE(Poll(kInTime + kSession + kRoom, [&] { return Clock::Real().MonotonicNow() > end; }));
  EXPECT_TRUE(directory_->Pick(Request()).ok());
  StartRegistry();
  auto third = Provide(kThird);
  EXPECT_TRUE(history_->Becomes({kFirst, kSecond, kThird}, kBack));
  EXPECT_TRUE(history_->AlwaysHas(kFirst));
  EXPECT_TRUE(history_->AlwaysHas(kSecond));
  third->Signal(SIGTERM);
  EXPECT_TRUE(history_->Becomes({kFirst, kSecond}, kRoom));
  ExpectAllRight(*second);
}

TEST_P(FaultsTest, ProviderThatDiesWhileTheRegistryIsAwayGoesWhenItIsBack) {
  auto first = Provide(kFirst, registry_->Url(kInTime));
  auto dies = Provide(kThird);
  ASSERT_TRUE(history_->Becomes({kFirst, kThird}, kRoom));
  history_->Forget();
  KillRegistry();
  dies->Signal(SIGKILL);
  dies->Wait(kStarted);
  StartRegistry();
  EXPECT_TRUE(history_->Becomes({kFirst}, LeftBehind(GetParam()) + kBack));
  auto second = Provide(kSecond);
  EXPECT_TRUE(history_->Becomes({kFirst, kSecond}, kBack));
  EXPECT_TRUE(history_->AlwaysHas(kFirst));
  EXPECT_TRUE(history_->NeverComesBack(kThird));
  ExpectAllRight(*second);
}

TEST_P(FaultsTest, ProviderThatDiesWhileTheRegistryIsEmptiedNeverComesBack) {
  auto first = Provide(kFirst);
  auto dies = Provide(kThird);
  ASSERT_TRUE(history_->Becomes({kFirst, kThird}, kRoom));
  history_->Forget();
  KillRegistry();
  dies->Signal(SIGKILL);
  dies->Wait(kStarted);
  registry_->Wipe();
  StartRegistry();
  auto second = Provide(kSecond);
  EXPECT_TRUE(history_->Becomes({kFirst, kSecond}, kAnew));
  EXPECT_TRUE(history_->NeverComesBack(kThird));
  ExpectAllRight(*second);
}

INSTANTIATE_TEST_SUITE_P(Over, FaultsTest, testing::Values("zookeeper", "signpost"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace signpost

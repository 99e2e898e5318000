// Both levels over a real ZooKeeper: what lies there, who finds whom, and what a migration or
// override rule changes while calls go on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "signpost/client/client.h"
#include "signpost/client/plugins/zookeeper.h"
#include "signpost/common/await.h"
#include "signpost/common/mutex.h"
#include "signpost/common/url.h"
#include "tests/integration/live_registry.h"
#include "tests/support/zookeeper_server.h"

namespace signpost {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

constexpr absl::Duration kBound = absl::Seconds(20 * kSlowness);
constexpr char kMigration[] =
    "/dubbo/config/DUBBO_SERVICEDISCOVERY_MIGRATION/demo-consumer.migration";

class DualModeTest : public testing::Test {
 protected:
  void SetUp() override {
    const absl::Status started = server_.Start();
    ASSERT_TRUE(started.ok()) << started;
    ASSERT_TRUE(AddZookeeper(registries_).ok());
  }

  // `more`: further parameters of the registry's URL, each with its `&`.
  std::string Registry(const std::string& more = "") const {
    return absl::StrCat("zookeeper://", server_.address(), "?session=4000", more);
  }
  std::unique_ptr<Client> Open(const std::string& app, const std::string& registry) {
    ClientOptions options;
    options.app = app;
    options.registry = registry;
    auto client = Client::Create(options, registries_);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }
  std::unique_ptr<Client> Provide(const std::string& app, const std::string& url,
                                  const std::string& registry) {
    auto client = Open(app, registry);
    EXPECT_TRUE(client->provider().Export(url).ok());
    const absl::Status started = client->Start(kBound);
    EXPECT_TRUE(started.ok()) << started;
    return client;
  }

  static std::vector<std::string> Children(Client& client, const std::string& path) {
    auto children = Await<absl::StatusOr<std::vector<StoreChild>>>(
        absl::Seconds(10),
        [&](auto done) { client.centre().store().List(path, CallOptions(), std::move(done)); });
    EXPECT_TRUE(children.ok()) << children.status();
    std::vector<std::string> names;
    if (!children.ok()) return names;
    for (const StoreChild& child : *children) names.push_back(child.name);
    return names;
  }
  static StoreValue Node(Client& client, const std::string& path) {
    auto value = Await<absl::StatusOr<StoreValue>>(absl::Seconds(10), [&](auto done) {
      client.centre().store().Get(path, CallOptions(), std::move(done));
    });
    EXPECT_TRUE(value.ok()) << value.status();
    return value.ok() ? *value : StoreValue();
  }
  static void Write(Client& client, const std::string& path, const std::string& text) {
    auto version = Await<absl::StatusOr<int64_t>>(absl::Seconds(10), [&](auto done) {
      client.centre().store().Put(path, text, CallOptions(), std::move(done));
    });
    EXPECT_TRUE(version.ok()) << version.status();
  }
  static void Delete(Client& client, const std::string& path) {
    const absl::Status status = Await<absl::Status>(absl::Seconds(10), [&](auto done) {
      client.centre().store().Delete(path, Store::kAnyVersion, CallOptions(), std::move(done));
    });
    EXPECT_TRUE(status.ok()) << status;
  }
  static std::string Captured(const std::string& file) {
    std::ifstream in("tests/interop/captures/rules/" + file);
    EXPECT_TRUE(in.good()) << file;
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }

  ZookeeperServer server_;
  RegistryFactories registries_{"registry"};
};

// Picks on a thread of its own until it goes.
class Caller {
 public:
  explicit Caller(Directory& directory) : directory_(directory), thread_([this] { Run(); }) {}
  ~Caller() { Stop(); }
  void Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  int calls() const { return calls_; }
  int failures() const { return failures_; }

 private:
  void Run() {
    while (!stop_) {
      auto pick = directory_.Pick(Request());
      if (pick.ok()) {
        directory_.Done(*pick, CallOutcome());
      } else {
        ++failures_;
      }
      ++calls_;
      std::this_thread::yield();
    }
  }

  Directory& directory_;
  std::atomic<bool> stop_{false};
  std::atomic<int> calls_{0};
  std::atomic<int> failures_{0};
  std::thread thread_;
};

// The names below a folder, and whether there ever was none after there had been one.
class Folder {
 public:
  Folder(Client& client, const std::string& path)
      : watch_(client.centre().store().WatchTree(
            path,
            [this](absl::StatusOr<TreeDelta> delta) {
              if (!delta.ok()) return;
              MutexLock lock(mutex_);
              for (const StoreChild& child : delta->added) names_.insert(child.name);
              for (const std::string& name : delta->removed) names_.erase(name);
              if (names_.empty() && seen_) was_empty_ = true;
              seen_ = seen_ || !names_.empty();
              if (!delta->empty()) ++changes_;
            },
            TreeContent::kNames)) {}

  std::set<std::string> names() {
    MutexLock lock(mutex_);
    return names_;
  }
  bool was_empty() {
    MutexLock lock(mutex_);
    return was_empty_;
  }
  int changes() {
    MutexLock lock(mutex_);
    return changes_;
  }
  // Whether it becomes one name with, and without, these parts of a decoded URL.
  bool BecomesOne(const std::vector<std::string>& with, const std::vector<std::string>& without) {
    return Poll(kBound, [&] {
      const std::set<std::string> now = names();
      if (now.size() != 1) return false;
      const auto url = Url::ParseEncoded(*now.begin());
      if (!url.ok()) return false;
      const std::string text = url->ToFullString();
      for (const std::string& part : with) {
        if (!absl::StrContains(text, part)) return false;
      }
      for (const std::string& part : without) {
        if (absl::StrContains(text, part)) return false;
      }
      return true;
    });
  }

 private:
  Mutex mutex_;
  std::set<std::string> names_;
  bool seen_ = false;
  bool was_empty_ = false;
  int changes_ = 0;
  Subscription watch_;
};

bool HasLevel(Directory& directory, const std::string& why) {
  return Poll(kBound, [&] {
    const auto levels = directory.levels();
    return !levels.empty() && absl::StartsWith(levels.front(), why);
  });
}

TEST_F(DualModeTest, WhatLiesThereAndWhoFindsWhom) {
  const struct {
    const char* mode;
    const char* interface;
    int port;
    bool application_level;
    bool interface_level;
  } kTable[] = {{"all", "a.All", 24001, true, true},
                {"instance", "a.Instance", 24002, true, false},
                {"interface", "a.Interface", 24003, false, true}};
  for (const auto& row : kTable) {
    SCOPED_TRACE(row.mode);
    const std::string app = absl::StrCat("app-", row.mode);
    const std::string address = absl::StrCat("127.0.0.1:", row.port);
    auto provider = Provide(app, absl::StrCat("tri://", address, "/", row.interface, "?methods=x"),
                            Registry(absl::StrCat("&register-mode=", row.mode)));
    const std::string folder = absl::StrCat("/dubbo/", row.interface);
    EXPECT_THAT(Children(*provider, "/services/" + app), SizeIs(row.application_level ? 1 : 0));
    const auto urls = Children(*provider, folder + "/providers");
    ASSERT_THAT(urls, SizeIs(row.interface_level ? 1 : 0));
    for (const std::string& name : urls) {
      const auto url = Url::ParseEncoded(name);
      ASSERT_TRUE(url.ok()) << name;
      EXPECT_EQ(url->protocol(), "tri");
      EXPECT_EQ(url->address(), address);
      EXPECT_EQ(url->Get("application"), app);
      EXPECT_EQ(url->Get("side"), "provider");
      EXPECT_TRUE(Node(*provider, absl::StrCat(folder, "/providers/", name)).session_bound);
    }
    for (const std::string mode : {"application", "interface", "dual"}) {
      SCOPED_TRACE(mode);
      const bool finds =
          mode == "dual" || (mode == "application" ? row.application_level : row.interface_level);
      {
        auto consumer = Open("demo-consumer", Registry("&mode=" + mode));
        auto directory = consumer->consumer().Refer(row.interface);
        ASSERT_TRUE(directory.ok());
        EXPECT_TRUE(Poll(kBound, [&] { return (*directory)->complete(); }));
        const absl::Status ready = (*directory)->WaitReady(finds ? kBound : absl::ZeroDuration());
        EXPECT_EQ(ready.ok(), finds) << ready;
        if (finds && ready.ok()) {
          auto pick = (*directory)->Pick(Request());
          ASSERT_TRUE(pick.ok()) << pick.status();
          EXPECT_EQ(pick->endpoint.address(), address);
          EXPECT_EQ(pick->endpoint->service->app, app);
          (*directory)->Done(*pick, CallOutcome());
        }
        const size_t seen = mode == "application" ? 0 : 1;
        EXPECT_TRUE(Poll(
            kBound, [&] { return Children(*provider, folder + "/consumers").size() == seen; }));
      }
      EXPECT_TRUE(Poll(kBound, [&] { return Children(*provider, folder + "/consumers").empty(); }));
    }
    provider->Shutdown(absl::ZeroDuration());
  }
  auto looks = Open("", Registry());
  for (const auto& row : kTable) {
    EXPECT_THAT(Children(*looks, absl::StrCat("/dubbo/", row.interface, "/providers")), IsEmpty());
    EXPECT_THAT(Children(*looks, absl::StrCat("/services/app-", row.mode)), IsEmpty());
  }
}

TEST_F(DualModeTest, ARuleSwitchesALiveConsumer) {
  auto provider =
      Provide("demo-java", "tri://127.0.0.1:24011/demo.GreetingService?methods=x", Registry());
  auto consumer = Open("demo-consumer", Registry());
  auto directory = *consumer->consumer().Refer("demo.GreetingService");
  ASSERT_TRUE(directory->WaitReady(kBound).ok());
  ASSERT_TRUE(HasLevel(*directory, "APPLICATION_FIRST: both levels serve"));
  Caller caller(*directory);
  const struct {
    const char* file;
    const char* why;
  } kTable[] = {{"migration-interface.yaml", "FORCE_INTERFACE: only"},
                {"migration-application.yaml", "FORCE_APPLICATION: only"},
                {"migration-one-service.yaml", "FORCE_INTERFACE: only"}};
  for (int round = 0; round < 3; ++round) {
    for (const auto& row : kTable) {
      SCOPED_TRACE(row.file);
      Write(*provider, kMigration, Captured(row.file));
      EXPECT_TRUE(HasLevel(*directory, row.why)) << directory->levels().front();
      // Interface-level addresses know no revision of an application's metadata.
      const bool by_interface = absl::StartsWith(row.why, "FORCE_INTERFACE");
      auto pick = directory->Pick(Request());
      ASSERT_TRUE(pick.ok()) << pick.status();
      EXPECT_EQ(pick->endpoint->service->revision.empty(), by_interface);
      directory->Done(*pick, CallOutcome());
    }
    Delete(*provider, kMigration);
    EXPECT_TRUE(HasLevel(*directory, "APPLICATION_FIRST")) << directory->levels().front();
  }
  caller.Stop();
  EXPECT_GT(caller.calls(), 0);
  EXPECT_EQ(caller.failures(), 0);
}

// TC-35.
TEST_F(DualModeTest, OverridesOfTheRegistryChangeTheRegisteredUrlAndAreTakenBack) {
  auto provider = Provide("shop", "tri://127.0.0.1:24021/a.A?methods=x&weight=100", Registry());
  Folder providers(*provider, "/dubbo/a.A/providers");
  Folder instances(*provider, "/services/shop");
  ASSERT_TRUE(providers.BecomesOne({"weight=100"}, {"timeout="}));
  ASSERT_TRUE(Poll(kBound, [&] { return instances.names().size() == 1; }));
  const std::set<std::string> original = providers.names();
  const std::string revision = provider->provider().registered().revision;
  auto by_interface = Open("web", Registry("&mode=interface"));
  auto by_application = Open("web", Registry("&mode=application"));
  std::vector<std::shared_ptr<Directory>> directories;
  for (Client* client : {by_interface.get(), by_application.get()}) {
    directories.push_back(*client->consumer().Refer("a.A"));
    ASSERT_TRUE(directories.back()->WaitReady(kBound).ok());
  }
  Caller caller(*directories[0]);
  Caller other(*directories[1]);
  const auto sees = [&](int weight, const std::string& timeout) {
    return Poll(kBound, [&] {
      for (const auto& directory : directories) {
        const auto list = directory->addresses();
        if (list->size() != 1 || list->at(0)->weight != weight ||
            list->at(0)->Get("timeout") != timeout) {
          return false;
        }
      }
      return true;
    });
  };
  const auto node_of = [](const std::string& parameter) {
    const auto url = Url::Parse(
        "override://0.0.0.0/a.A?category=configurators&configVersion=v3.0&dynamic=false"
        "&enabled=true&side=provider&" +
        parameter);
    return absl::StrCat("/dubbo/a.A/configurators/", url->ToEncodedString());
  };
  Write(*provider, node_of("weight=200"), "");
  Write(*provider, node_of("timeout=500"), "");
  EXPECT_TRUE(providers.BecomesOne({"weight=200", "timeout=500"}, {}));
  EXPECT_TRUE(sees(200, "500"));
  Delete(*provider, node_of("timeout=500"));
  EXPECT_TRUE(providers.BecomesOne({"weight=200"}, {"timeout="}));
  EXPECT_TRUE(sees(200, ""));
  Delete(*provider, node_of("weight=200"));
  EXPECT_TRUE(Poll(kBound, [&] { return providers.names() == original; }));
  EXPECT_TRUE(sees(100, ""));
  EXPECT_TRUE(Poll(kBound, [&] { return provider->provider().registered().revision == revision; }));
  caller.Stop();
  other.Stop();
  EXPECT_EQ(caller.failures(), 0);
  EXPECT_EQ(other.failures(), 0);
  EXPECT_FALSE(providers.was_empty());
  EXPECT_FALSE(instances.was_empty());
}

// TC-36.
TEST_F(DualModeTest, ARuleThatIsNotForTheProviderWritesNothing) {
  constexpr char kRule[] = "/dubbo/config/dubbo/a.B::.configurators";
  const auto rule = [](const std::string& side, const std::string& parameter) {
    return absl::StrCat(
        "configVersion: v3.0\nscope: service\nkey: a.B\nenabled: true\nconfigs:\n  - side: ", side,
        "\n    parameters:\n      ", parameter, "\n");
  };
  auto provider = Provide("shop", "tri://127.0.0.1:24031/a.B?methods=x&weight=100", Registry());
  Folder providers(*provider, "/dubbo/a.B/providers");
  ASSERT_TRUE(providers.BecomesOne({"weight=100"}, {}));
  const std::string name = *providers.names().begin();
  const std::string instance = "/services/shop/127.0.0.1:24031";
  const int64_t node_version = Node(*provider, "/dubbo/a.B/providers/" + name).version;
  const int64_t instance_version = Node(*provider, instance).version;
  auto consumer = Open("web", Registry());
  auto directory = *consumer->consumer().Refer("a.B");
  ASSERT_TRUE(directory->WaitReady(kBound).ok());
  Caller caller(*directory);
  for (int i = 0; i < 5; ++i) {
    // (a) for consumers
    Write(*provider, kRule, rule("consumer", absl::StrCat("timeout: ", 1000 + i)));
    EXPECT_TRUE(Poll(kBound, [&] {
      const auto list = directory->addresses();
      return list->size() == 1 && list->at(0)->Get("timeout") == absl::StrCat(1000 + i);
    }));
    // (b) what is there already
    Write(*provider, kRule, rule("provider", "weight: 100"));
    EXPECT_TRUE(Poll(kBound, [&] {
      const auto list = directory->addresses();
      return list->size() == 1 && list->at(0)->Get("timeout").empty();
    }));
    Delete(*provider, kRule);
  }
  EXPECT_EQ(Node(*provider, "/dubbo/a.B/providers/" + name).version, node_version);
  EXPECT_EQ(Node(*provider, instance).version, instance_version);
  EXPECT_EQ(providers.names(), std::set<std::string>{name});
  // (c) another weight
  for (int i = 0; i < 5; ++i) {
    Write(*provider, kRule, rule("provider", "weight: 300"));
    EXPECT_TRUE(providers.BecomesOne({"weight=300"}, {}));
    Delete(*provider, kRule);
    EXPECT_TRUE(providers.BecomesOne({"weight=100"}, {}));
  }
  caller.Stop();
  EXPECT_EQ(caller.failures(), 0);
  EXPECT_FALSE(providers.was_empty());
}

TEST_F(DualModeTest, OfflineAndOnlineAreOfBothLevels) {
  auto provider = Provide("shop", "tri://127.0.0.1:24041/a.C?methods=x", Registry());
  auto by_interface = Open("web", Registry("&mode=interface"));
  auto by_application = Open("web", Registry("&mode=application"));
  std::vector<std::shared_ptr<Directory>> directories;
  for (Client* client : {by_interface.get(), by_application.get()}) {
    directories.push_back(*client->consumer().Refer("a.C"));
    ASSERT_TRUE(directories.back()->WaitReady(kBound).ok());
  }
  CallOptions options;
  options.timeout = kBound;
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(provider->provider().Offline(options).ok());
    EXPECT_THAT(Children(*provider, "/dubbo/a.C/providers"), IsEmpty());
    for (const auto& directory : directories) {
      EXPECT_TRUE(Poll(kBound, [&] { return directory->addresses()->empty(); }));
      EXPECT_FALSE(directory->Pick(Request()).ok());
    }
    ASSERT_TRUE(provider->provider().Online(options).ok());
    EXPECT_THAT(Children(*provider, "/dubbo/a.C/providers"), SizeIs(1));
    for (const auto& directory : directories) EXPECT_TRUE(directory->WaitReady(kBound).ok());
  }
}

TEST_F(DualModeTest, OneCentreAskedTwiceIsOneSessionAndOneRegistration) {
  auto provider = Provide("shop", "tri://127.0.0.1:24051/a.D?methods=x",
                          absl::StrCat(Registry(), "|", Registry("&mode=application")));
  EXPECT_TRUE(Poll(kBound, [&] { return server_.Sessions() == 1; })) << server_.Sessions();
  EXPECT_THAT(Children(*provider, "/services/shop"), ElementsAre("127.0.0.1:24051"));
  EXPECT_THAT(Children(*provider, "/dubbo/a.D/providers"), SizeIs(1));
  auto directory = *provider->consumer().Refer("a.D");
  ASSERT_TRUE(directory->WaitReady(kBound).ok());
  EXPECT_THAT(directory->levels(), SizeIs(1));
}

// TC-52.
TEST_F(DualModeTest, CentresOfOneProcess) {
  ZookeeperServer second;
  ASSERT_TRUE(second.Start().ok());
  auto first_group = Provide("one", "tri://127.0.0.1:24061/a.E?methods=x", Registry());
  auto other_group = Provide("two", "tri://127.0.0.1:24062/a.E?methods=x", Registry("&group=g2"));
  // Each of the two is at most one of its sessions.
  const int before = 2;
  ASSERT_TRUE(Poll(kBound, [&] { return server_.Sessions() == before; })) << server_.Sessions();
  auto client =
      Open("web", absl::StrCat(Registry(), "|", Registry("&backup=" + second.address()), "|",
                               Registry("&group=g2"), "|", Registry("&timestamp=2")));
  auto directory = *client->consumer().Refer("a.E");
  ASSERT_TRUE(directory->WaitReady(kBound).ok());
  // The first and the fourth share one.
  EXPECT_TRUE(Poll(kBound, [&] { return server_.Sessions() + second.Sessions() == before + 3; }))
      << server_.Sessions() << " and " << second.Sessions();
  // Who asks one group alone never sees the other one.
  for (const auto& [more, address] : std::vector<std::pair<std::string, std::string>>{
           {"", "127.0.0.1:24061"}, {"&group=g2", "127.0.0.1:24062"}}) {
    auto alone = Open("web", Registry(more));
    auto found = *alone->consumer().Refer("a.E");
    ASSERT_TRUE(found->WaitReady(kBound).ok());
    ASSERT_TRUE(Poll(kBound, [&] { return found->complete(); }));
    for (int i = 0; i < 20; ++i) {
      auto pick = found->Pick(Request());
      ASSERT_TRUE(pick.ok()) << pick.status();
      EXPECT_EQ(pick->endpoint.address(), address);
      found->Done(*pick, CallOutcome());
    }
  }
}

TEST_F(DualModeTest, ABackupTakesOver) {
  ZookeeperServer second;
  ASSERT_TRUE(second.Start().ok());
  auto provider = Provide("shop", "tri://127.0.0.1:24071/a.F?methods=x",
                          Registry("&backup=" + second.address()));
  server_.Kill();
  // Another server that knows nothing: everything is written anew, at both levels.
  auto looks = Open("", absl::StrCat("zookeeper://", second.address(), "?session=4000"));
  EXPECT_TRUE(Poll(2 * kBound, [&] {
    return Children(*looks, "/services/shop").size() == 1 &&
           Children(*looks, "/dubbo/a.F/providers").size() == 1;
  }));
}

}  // namespace
}  // namespace signpost

#include "signpost/client/client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <iterator>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "signpost/client/plugins/memory.h"
#include "signpost/common/clock.h"
#include "tests/support/fake_network_interfaces.h"
#include "tests/support/kept_log.h"

namespace signpost {
namespace {

constexpr char kGreeter[] = "tri://192.0.2.1:50051/org.example.Greeter?methods=greet";

class ClientTest : public testing::Test {
 protected:
  ClientTest() {
    EXPECT_TRUE(AddMemory(registries_).ok());
    // What a backend says that cannot be opened; tells which URL it got.
    EXPECT_TRUE(registries_.Add("zookeeper", Refuse()).ok());
    EXPECT_TRUE(registries_.Add("nacos", Refuse()).ok());
  }
  RegistryFactory Refuse() {
    return [this](const Url& url, const CentreOptions&) {
      opened_ = url;
      return absl::StatusOr<std::unique_ptr<RegistryCentre>>(absl::UnavailableError("cannot open"));
    };
  }

  // A registry of its own for each test.
  std::string Memory() const {
    return std::string("memory://") + testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  absl::StatusOr<std::unique_ptr<Client>> New(std::string registry, std::string app = "shop") {
    ClientOptions options;
    options.app = std::move(app);
    options.registry = std::move(registry);
    options.debounce = absl::Milliseconds(1);
    return Client::Create(std::move(options), registries_);
  }
  absl::Status Error(std::string registry) { return New(std::move(registry)).status(); }

  RegistryFactories registries_{"registry"};
  KeptLog log_{LogLevel::kDebug};
  Url opened_;
};

TEST_F(ClientTest, ExportedIsFoundAndPicked) {
  auto provider = New(Memory());
  auto consumer = New(Memory(), "front");
  ASSERT_TRUE(provider.ok()) << provider.status();
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  ASSERT_TRUE((*provider)->provider().Export(kGreeter).ok());
  ASSERT_TRUE((*provider)->Start(absl::Seconds(10)).ok());
  EXPECT_NE((*provider)->provider().registered().revision, "");
  EXPECT_TRUE((*provider)->provider().state().ok());

  auto directory = (*consumer)->consumer().Refer("org.example.Greeter");
  ASSERT_TRUE(directory.ok());
  ASSERT_TRUE((*directory)->WaitReady(absl::Seconds(10)).ok());
  auto pick = (*directory)->Pick(Request());
  ASSERT_TRUE(pick.ok()) << pick.status();
  EXPECT_EQ(pick->endpoint.address(), "192.0.2.1:50051");
  EXPECT_EQ(pick->endpoint->service->protocol, "tri");
  EXPECT_EQ(pick->endpoint->service->app, "shop");
  (*directory)->Done(*pick, CallOutcome());
  EXPECT_EQ((*directory)->apps(), std::vector<std::string>{"shop"});
}

TEST_F(ClientTest, AddressAndBalancerOptionsReachTheirUsers) {
  auto interfaces = std::make_shared<FakeNetworkInterfaces>();
  interfaces->addresses = {{"eth0", "192.0.2.10"}, {"eth1", "192.0.2.11"}};
  // A name of this process, which nobody asks a resolver for.
  interfaces->routes[testing::UnitTest::GetInstance()->current_test_info()->name()] = "192.0.2.9";
  ClientOptions options;
  options.app = "shop";
  options.registry = Memory();
  options.debounce = absl::Milliseconds(1);
  options.interfaces = interfaces;
  options.balancer = "fastest";
  {
    auto client = *Client::Create(options, registries_);
    ASSERT_TRUE(client->provider().Export("tri://0.0.0.0:50051/org.example.Greeter").ok());
    EXPECT_EQ(client->provider().exported()[0].host(), "192.0.2.10");
    EXPECT_EQ(client->consumer().Refer("a.B").status().code(), absl::StatusCode::kNotFound);
  }
  options.address.preferred_interfaces = "eth1";
  {
    auto client = *Client::Create(options, registries_);
    ASSERT_TRUE(client->provider().Export("tri://0.0.0.0:50051/org.example.Greeter").ok());
    EXPECT_EQ(client->provider().exported()[0].host(), "192.0.2.11");
  }
  options.address.ignored_interfaces = "(";
  const absl::Status bad = Client::Create(options, registries_).status();
  EXPECT_EQ(bad.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(bad.message().find("ignored"), absl::string_view::npos);
}

TEST_F(ClientTest, RoutersAreAsked) {
  // Lets nothing through.
  class Closed final : public Router {
   public:
    absl::string_view name() const override { return "closed"; }
    int priority() const override { return 0; }
    absl::StatusOr<std::vector<RouteRule>> Route(const AddressList&, const Subset&) const override {
      return std::vector<RouteRule>{{"all day", nullptr, {}, true}};
    }
  };
  ClientOptions options;
  options.app = "shop";
  options.registry = Memory();
  options.debounce = absl::Milliseconds(1);
  options.routers.push_back([](const RouterOptions&) { return std::make_unique<Closed>(); });
  auto client = *Client::Create(options, registries_);
  ASSERT_TRUE(client->provider().Export(kGreeter).ok());
  ASSERT_TRUE(client->Start(absl::Seconds(10)).ok());
  auto directory = *client->consumer().Refer("org.example.Greeter");
  const absl::Duration end = absl::Seconds(10);
  for (absl::Duration waited; directory->addresses()->empty() && waited < end;
       waited += absl::Milliseconds(5)) {
    (void)directory->WaitReady(absl::Milliseconds(5));
  }
  EXPECT_EQ(directory->Pick(Request()).status().message(),
            "org.example.Greeter: rule closed/all day leaves none of 1 addresses");
}

TEST_F(ClientTest, TheRouteToTheRegistryIsAsked) {
  auto interfaces = std::make_shared<FakeNetworkInterfaces>();
  interfaces->addresses = {{"eth0", "192.0.2.10"}, {"eth1", "192.0.2.11"}};
  interfaces->routes["registry.example.org"] = "192.0.2.11";
  ASSERT_TRUE(registries_
                  .Add("far",
                       [this](const Url&, const CentreOptions& options) {
                         return (**registries_.Find("memory"))(*Url::Parse(Memory()), options);
                       })
                  .ok());
  ClientOptions options;
  options.app = "shop";
  options.registry = "far://registry.example.org:2181";
  options.interfaces = interfaces;
  auto client = *Client::Create(options, registries_);
  ASSERT_TRUE(client->provider().Export("tri://0.0.0.0:50051/org.example.Greeter").ok());
  EXPECT_EQ(client->provider().exported()[0].host(), "192.0.2.11");
}

TEST_F(ClientTest, ShutdownTakesTheProviderOff) {
  auto consumer = *New(Memory(), "front");
  auto directory = *consumer->consumer().Refer("org.example.Greeter");
  std::atomic<bool> gone{false};
  std::atomic<bool> came{false};
  Subscription subscription = directory->OnChange([&](const ServiceAddresses& now) {
    if (!now.list->empty()) came = true;
    if (now.list->empty() && came) gone = true;
  });
  {
    auto provider = *New(Memory());
    ASSERT_TRUE(provider->provider().Export(kGreeter).ok());
    ASSERT_TRUE(provider->Start(absl::Seconds(10)).ok());
    ASSERT_TRUE(directory->WaitReady(absl::Seconds(10)).ok());
    provider->Shutdown(absl::Milliseconds(50));
    EXPECT_EQ(provider->provider().Export(kGreeter).code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(provider->Start(absl::Seconds(1)).code(), absl::StatusCode::kFailedPrecondition);
    provider->Shutdown(absl::Seconds(100));  // again: nothing
  }
  // The change may still be on its way: one that is new is told only what is there.
  const absl::Duration end = Clock::Real().MonotonicNow() + absl::Seconds(10);
  while (!gone && Clock::Real().MonotonicNow() < end) {
    (void)directory->WaitReady(absl::Milliseconds(5));
  }
  EXPECT_TRUE(gone);
  EXPECT_FALSE(directory->Pick(Request()).ok());
}

TEST_F(ClientTest, ADirectoryOutlivesItsClient) {
  auto client = *New(Memory());
  auto directory = *client->consumer().Refer("org.example.Greeter");
  ASSERT_TRUE(client->provider().Export(kGreeter).ok());
  ASSERT_TRUE(directory->WaitReady(absl::Seconds(10)).ok());
  auto list = directory->addresses();
  client.reset();
  EXPECT_EQ(directory->Pick(Request()).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(directory->WaitReady(absl::Seconds(1)).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(list->size(), 1u);
}

TEST_F(ClientTest, NothingRunsAfterShutdown) {
  auto client = *New(Memory());
  auto directory = *client->consumer().Refer("org.example.Greeter");
  std::atomic<int> calls{0};
  Subscription subscription = directory->OnChange([&](const ServiceAddresses&) { ++calls; });
  ASSERT_TRUE(client->provider().Export(kGreeter).ok());
  ASSERT_TRUE(directory->WaitReady(absl::Seconds(10)).ok());
  client->Shutdown(absl::ZeroDuration());
  const int before = calls;
  auto other = *New(Memory());
  ASSERT_TRUE(other->provider().Export(kGreeter).ok());
  ASSERT_TRUE(other->Start(absl::Seconds(10)).ok());
  EXPECT_EQ(calls, before);
}

TEST_F(ClientTest, AskingWhatNobodyOffersNamesTheLink) {
  auto client = *New(Memory());
  auto directory = *client->consumer().Refer("org.example.Nobody");
  const absl::Status status = directory->WaitReady(absl::Milliseconds(300));
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("org.example.Nobody"), absl::string_view::npos) << status;
}

TEST_F(ClientTest, UnknownSchemeListsTheKnown) {
  const absl::Status status = Error("carrier-pigeon://192.0.2.10");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(status.message().find("memory, nacos, zookeeper"), absl::string_view::npos) << status;
}

TEST_F(ClientTest, AMisspeltUrlShowsNoPassword) {
  for (const char* url : {"zookeeper:/u:p4ss@192.0.2.10", "zookeeper//u:p4ss@192.0.2.10",
                          "u:p4ss@192.0.2.10", "192.0.2.10:2181"}) {
    const absl::Status status = Error(url);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_EQ(status.ToString().find("p4ss"), std::string::npos) << status;
    EXPECT_EQ(log_.text().find("p4ss"), std::string::npos);
  }
}

TEST_F(ClientTest, TheLevelsAreNoBusinessOfTheBackend) {
  for (const char* parameter :
       {"mode=interface", "mode=dual", "register-mode=interface", "register-mode=all"}) {
    opened_ = Url();
    const absl::Status status =
        Error(std::string("zookeeper://192.0.2.10:2181?session=5000&") + parameter);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << parameter << ": " << status;
    EXPECT_EQ(opened_.ToString(), "zookeeper://192.0.2.10:2181?session=5000") << parameter;
  }
  EXPECT_EQ(Error("zookeeper://192.0.2.10:2181?mode=both").code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Error("zookeeper://192.0.2.10:2181?register-mode=x").code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Error("zookeeper://192.0.2.10:2181?simplified=perhaps").code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(ClientTest, EachModeOfAProviderIsFoundByTheConsumersItIsFor) {
  const struct {
    const char* mode;
    bool application;
    bool interface;
  } kTable[] = {{"all", true, true}, {"instance", true, false}, {"interface", false, true}};
  for (const auto& row : kTable) {
    SCOPED_TRACE(row.mode);
    const std::string centre = Memory() + row.mode;
    auto provider = New(centre + "?register-mode=" + row.mode);
    ASSERT_TRUE(provider.ok()) << provider.status();
    ASSERT_TRUE((*provider)->provider().Export(kGreeter).ok());
    const absl::Status started = (*provider)->Start(absl::Seconds(10));
    ASSERT_TRUE(started.ok()) << started;
    for (const std::string mode : {"application", "interface", "dual"}) {
      auto consumer = New(centre + "?mode=" + mode, "front");
      ASSERT_TRUE(consumer.ok()) << consumer.status();
      auto directory = (*consumer)->consumer().Refer("org.example.Greeter");
      ASSERT_TRUE(directory.ok());
      const bool found =
          mode == "dual" || (mode == "application" ? row.application : row.interface);
      // The other way round it is only waited for, for a while.
      const absl::Status ready =
          (*directory)->WaitReady(found ? absl::Seconds(10) : absl::Milliseconds(50));
      EXPECT_EQ(ready.ok(), found) << mode << ": " << ready;
      EXPECT_EQ((*directory)->levels().empty(), mode != "dual") << mode;
    }
  }
}

TEST_F(ClientTest, OneCentreAskedTwiceIsRegisteredAtOnce) {
  const std::string centre = Memory();
  auto client = New(centre + "?mode=interface|" + centre + "?mode=application");
  ASSERT_TRUE(client.ok()) << client.status();
  ASSERT_TRUE((*client)->provider().Export(kGreeter).ok());
  ASSERT_TRUE((*client)->Start(absl::Seconds(10)).ok());
  size_t instances = 0;
  size_t providers = 0;
  for (const std::string& path : (*client)->provider().registered().paths) {
    if (path.find("/services/") == 0) ++instances;
    if (path.find("/providers/") != std::string::npos) ++providers;
  }
  EXPECT_EQ(instances, 1u);
  EXPECT_EQ(providers, 1u);
  auto directory = (*client)->consumer().Refer("org.example.Greeter");
  ASSERT_TRUE((*directory)->WaitReady(absl::Seconds(10)).ok());
  EXPECT_EQ((*directory)->levels().size(), 1u);
}

TEST_F(ClientTest, WhoOnlyLooksRegistersInNoMode) {
  ClientOptions options;
  options.registry = "zookeeper://192.0.2.10:2181?register-mode=all";
  options.read_only = true;
  EXPECT_EQ(Client::Create(options, registries_).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(ClientTest, ApplicationLevelBySeveralNames) {
  for (const char* url :
       {"zookeeper://192.0.2.10:2181?mode=application", "zookeeper://192.0.2.10:2181",
        "zookeeper://192.0.2.10:2181?registry-type=service",
        "zookeeper://192.0.2.10:2181?register-mode=instance",
        "service-discovery-registry://192.0.2.10:2181?registry=zookeeper"}) {
    opened_ = Url();
    EXPECT_EQ(Error(url).code(), absl::StatusCode::kUnavailable) << url;
    EXPECT_EQ(opened_.protocol(), "zookeeper") << url;
    EXPECT_EQ(opened_.address(), "192.0.2.10:2181") << url;
  }
  EXPECT_EQ(Error("service-discovery-registry://192.0.2.10:2181").code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(ClientTest, AMigrationOutOfItsRangeIsRefused) {
  const auto error = [this](const MigrationFields& migration) {
    ClientOptions options;
    options.registry = Memory();
    options.migration = migration;
    const absl::Status status = Client::Create(std::move(options), registries_).status();
    if (!status.ok()) {
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    }
    return std::string(status.message());
  };
  MigrationFields migration;
  migration.threshold = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(error(migration).find("migration.threshold: nan"), std::string::npos);
  // Stands for the process's own.
  migration.threshold = -1;
  EXPECT_NE(error(migration).find("migration.threshold: -1"), std::string::npos);
  migration = MigrationFields();
  migration.proportion = 150;
  EXPECT_NE(error(migration).find("migration.proportion: 150"), std::string::npos);
  migration = MigrationFields();
  migration.delay = absl::Seconds(-1);
  EXPECT_NE(error(migration).find("migration.delay: -1s"), std::string::npos);
  migration.delay = absl::Seconds(1);
  migration.threshold = 0;
  EXPECT_EQ(error(migration), "");
}

TEST_F(ClientTest, DubboLabelsAreRefused) {
  ClientOptions options;
  options.app = "shop";
  options.registry = Memory();
  options.labels = {{"dubbo.metadata.revision", "7"}};
  auto client = Client::Create(std::move(options), registries_);
  EXPECT_EQ(client.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(client.status().message().find("dubbo.metadata.revision"), absl::string_view::npos);
}

// TC-22
TEST_F(ClientTest, ThousandReferencesLeaveNoThread) {
  auto client = New(Memory());
  ASSERT_TRUE(client.ok());
  ASSERT_TRUE((*client)->provider().Export(kGreeter).ok());
  ASSERT_TRUE((*client)->Start(absl::Seconds(10)).ok());
  const auto threads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  ASSERT_TRUE(
      (*(*client)->consumer().Refer("org.example.Greeter"))->WaitReady(absl::Seconds(10)).ok());
  const auto before = threads();
  for (int i = 0; i < 1000; ++i) {
    auto directory = (*client)->consumer().Refer("org.example.Greeter");
    ASSERT_TRUE(directory.ok());
    const Subscription changes = (*directory)->OnChange([](const ServiceAddresses&) {});
  }
  EXPECT_EQ(threads(), before);
  auto directory = (*client)->consumer().Refer("org.example.Greeter");
  EXPECT_TRUE((*directory)->WaitReady(absl::Seconds(10)).ok());
}

// TC-53: what is used after its end says so, and no more.
TEST_F(ClientTest, NoSecretInErrorsAfterTheEnd) {
  auto client = New(Memory() + "?accessKey=ak1&secretKey=sk1&password=p4ss");
  ASSERT_TRUE(client.ok()) << client.status();
  auto directory = (*client)->consumer().Refer("org.example.Greeter");
  ASSERT_TRUE(directory.ok());
  (*client)->Shutdown(absl::ZeroDuration());
  std::string all;
  for (const absl::Status& status :
       {(*client)->provider().Export(kGreeter), (*client)->Start(absl::Seconds(1)),
        (*client)->consumer().Refer("org.example.Greeter").status(),
        (*directory)->Pick(Request()).status(), (*directory)->WaitReady(absl::Seconds(1))}) {
    EXPECT_FALSE(status.ok());
    all += status.ToString() + "\n";
  }
  all += log_.text();
  for (const char* secret : {"p4ss", "ak1", "sk1"}) {
    EXPECT_EQ(all.find(secret), std::string::npos) << secret << " in\n" << all;
  }
}

// TC-53.
TEST_F(ClientTest, NoSecretInAnyErrorOrLog) {
  std::string all;
  for (const char* base :
       {"nacos://192.0.2.10:8848?username=u&password=p4ss&accessKey=ak1&secretKey=sk1",
        "zookeeper://u:p4ss@192.0.2.10:2181", "pigeon://u:p4ss@192.0.2.10?secretKey=sk1",
        "zookeeper://u:p4ss@192.0.2.10:2181?mode=interface&accessKey=ak1",
        "zookeeper://u:p4ss@192.0.2.10:2181?mode=p&password=p4ss",
        "service-discovery-registry://u:p4ss@192.0.2.10:2181?secretKey=sk1",
        "service-discovery-registry://192.0.2.10?registry=zookeeper://u:p4ss@192.0.2.11"}) {
    for (const char* tail : {"", ":99999999", "&%zz=%", "\xff\xfe", "\n"}) {
      const absl::Status status = Error(std::string(base) + tail);
      EXPECT_FALSE(status.ok());
      all += status.ToString() + "\n";
    }
  }
  all += log_.text();
  EXPECT_NE(all.find("192.0.2.10"), std::string::npos);
  for (const char* secret : {"p4ss", "ak1", "sk1"}) {
    EXPECT_EQ(all.find(secret), std::string::npos) << secret << " in\n" << all;
  }
}

}  // namespace
}  // namespace signpost

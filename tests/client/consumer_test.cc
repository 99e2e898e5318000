#include "signpost/client/consumer.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "signpost/common/manual_executor.h"
#include "tests/client/fake_registry.h"
#include "tests/support/fake_network_interfaces.h"
#include "tests/support/kept_log.h"

namespace signpost {
namespace {

// Leaves the last address, or fails.
class LastRouter final : public Router {
 public:
  explicit LastRouter(absl::Status fault) : fault_(std::move(fault)) {}
  absl::string_view name() const override { return "last"; }
  int priority() const override { return 0; }
  absl::StatusOr<std::vector<RouteRule>> Route(const AddressList&,
                                               const Subset& input) const override {
    if (!fault_.ok()) return fault_;
    if (input.empty()) return std::vector<RouteRule>();
    return std::vector<RouteRule>{{"always", nullptr, {{input.back()}}, true}};
  }

 private:
  const absl::Status fault_;
};

class ConsumerTest : public testing::Test {
 protected:
  // What directories post when they go holds the executor.
  ~ConsumerTest() override { executor_->RunUntilIdle(); }
  Consumer New(std::vector<RouterFactory> routers = {}) {
    auto balancers = std::make_shared<BalancerFactories>("balancer");
    EXPECT_TRUE(AddBuiltinBalancers(*balancers).ok());
    return Consumer({executor_,
                     {ApplicationLevel(registry_)},
                     nullptr,
                     "front",
                     std::move(balancers),
                     "random",
                     std::move(routers)});
  }
  // The hosts of `times` calls, without doubles.
  static std::set<std::string> Hosts(const Directory& directory, int times = 100) {
    std::set<std::string> hosts;
    for (int i = 0; i < times; ++i) {
      auto pick = directory.Pick(Request());
      if (!pick.ok()) return {pick.status().ToString()};
      hosts.insert(pick->endpoint->host);
      directory.Done(*pick, CallOutcome());
    }
    return hosts;
  }

  SimulatedClock clock_;
  std::shared_ptr<ManualExecutor> executor_ = std::make_shared<ManualExecutor>(clock_);
  std::shared_ptr<FakeRegistry> registry_ = std::make_shared<FakeRegistry>();
};

TEST_F(ConsumerTest, SubscribesWithWhatDubboReads) {
  Consumer consumer = New();
  ReferOptions options;
  options.protocol = "tri,dubbo";
  options.provided_by = "shop";
  options.balancer = "roundrobin";
  auto directory = consumer.Refer("blue/org.example.Greeter:1.0.0", options);
  ASSERT_TRUE(directory.ok());
  EXPECT_EQ((*directory)->service(), "blue/org.example.Greeter:1.0.0");
  ASSERT_EQ(registry_->subscribed.size(), 1u);
  const Url& url = registry_->subscribed[0].first;
  EXPECT_EQ(url.protocol(), "consumer");
  EXPECT_EQ(url.path(), "org.example.Greeter");
  EXPECT_EQ(url.service_interface(), "org.example.Greeter");
  EXPECT_EQ(url.Get("group"), "blue");
  EXPECT_EQ(url.Get("version"), "1.0.0");
  EXPECT_EQ(url.Get("protocol"), "tri,dubbo");
  EXPECT_EQ(url.Get("provided-by"), "shop");
  EXPECT_EQ(url.Get("application"), "front");
}

TEST_F(ConsumerTest, AClosedDirectoryIsNotGivenOutAgain) {
  Consumer consumer = New();
  auto first = consumer.Refer("org.example.Greeter");
  ASSERT_TRUE(first.ok());
  (*first)->Close();
  auto second = consumer.Refer("org.example.Greeter");
  ASSERT_TRUE(second.ok());
  EXPECT_NE(*first, *second);
  EXPECT_FALSE((*second)->closed());
}

TEST_F(ConsumerTest, TheClientsBalancerIsTheDefault) {
  auto balancers = std::make_shared<BalancerFactories>("balancer");
  ASSERT_TRUE(AddBuiltinBalancers(*balancers).ok());
  Consumer consumer(
      {executor_, {ApplicationLevel(registry_)}, nullptr, "front", balancers, "roundrobin"});
  auto by_default = consumer.Refer("org.example.Greeter");
  ReferOptions options;
  options.balancer = "roundrobin";
  auto named = consumer.Refer("org.example.Greeter", options);
  options.balancer = "random";
  auto other = consumer.Refer("org.example.Greeter", options);
  ASSERT_TRUE(by_default.ok() && named.ok() && other.ok());
  EXPECT_EQ(*by_default, *named);
  EXPECT_NE(*by_default, *other);
  ASSERT_EQ(registry_->subscribed.size(), 2u);
  EXPECT_EQ(registry_->subscribed[0].first.Get("loadbalance"), "roundrobin");
  EXPECT_EQ(registry_->subscribed[1].first.Get("loadbalance"), "random");
}

TEST_F(ConsumerTest, SameArgumentsShareOneDirectory) {
  Consumer consumer = New();
  auto first = consumer.Refer("org.example.Greeter");
  auto second = consumer.Refer("org.example.Greeter");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(registry_->subscribed.size(), 1u);
  ReferOptions other;
  other.protocol = "tri";
  auto third = consumer.Refer("org.example.Greeter", other);
  ASSERT_TRUE(third.ok());
  EXPECT_NE(*first, *third);
  EXPECT_EQ(registry_->subscribed.size(), 2u);
}

TEST_F(ConsumerTest, TheLastReferenceUnsubscribesAndANewOneSubscribesAgain) {
  Consumer consumer = New();
  auto first = *consumer.Refer("org.example.Greeter");
  auto second = first;
  first.reset();
  EXPECT_EQ(registry_->unsubscribed, 0);
  second.reset();
  EXPECT_EQ(registry_->unsubscribed, 1);
  auto again = consumer.Refer("org.example.Greeter");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(registry_->subscribed.size(), 1u);
}

TEST_F(ConsumerTest, RefusesWhatIsWrong) {
  Consumer consumer = New();
  EXPECT_EQ(consumer.Refer("").status().code(), absl::StatusCode::kInvalidArgument);
  ReferOptions options;
  options.balancer = "fastest";
  auto directory = consumer.Refer("org.example.Greeter", options);
  EXPECT_EQ(directory.status().code(), absl::StatusCode::kNotFound);
  EXPECT_NE(directory.status().message().find("roundrobin"), absl::string_view::npos);
  EXPECT_TRUE(registry_->subscribed.empty());
}

TEST_F(ConsumerTest, AMigrationThatAUrlCannotSayIsRefused) {
  Consumer consumer = New();
  const auto error = [&consumer](const MigrationFields& migration) {
    ReferOptions options;
    options.migration = migration;
    const absl::Status status = consumer.Refer("org.example.Greeter", options).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  MigrationFields migration;
  migration.delay = absl::Milliseconds(500);
  EXPECT_EQ(error(migration),
            "refer 'org.example.Greeter': migration.delay: 500ms is not a whole number of seconds "
            ">= 0");
  migration.delay = absl::InfiniteDuration();
  EXPECT_NE(error(migration).find("migration.delay: inf"), std::string::npos);
  migration = MigrationFields();
  migration.proportion = 150;
  EXPECT_NE(error(migration).find("migration.proportion: 150"), std::string::npos);
  EXPECT_TRUE(registry_->subscribed.empty());

  ReferOptions options;
  options.migration.threshold = -1;
  options.migration.delay = absl::Seconds(7);
  const auto directory = consumer.Refer("org.example.Greeter", options);
  ASSERT_TRUE(directory.ok()) << directory.status();
  const auto read = MigrationFields::OfUrl(registry_->subscribed.at(0).first);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, options.migration);
}

TEST_F(ConsumerTest, WhoOnlyConsumesIsQuietAboutItsAddress) {
  auto interfaces = std::make_shared<FakeNetworkInterfaces>();
  InterfaceAddress loopback;
  loopback.interface = "lo";
  loopback.ip = "127.0.0.1";
  loopback.loopback = true;
  for (const bool has_loopback : {true, false}) {
    KeptLog log(LogLevel::kWarning);
    interfaces->asked = 0;
    interfaces->addresses.clear();
    if (has_loopback) interfaces->addresses.push_back(loopback);
    auto balancers = std::make_shared<BalancerFactories>("balancer");
    ASSERT_TRUE(AddBuiltinBalancers(*balancers).ok());
    Consumer consumer({executor_,
                       {ApplicationLevel(registry_)},
                       std::make_shared<AddressSelector>(AddressOptions(), Url(), interfaces),
                       "front",
                       balancers});
    const auto first = consumer.Refer("org.example.Greeter");
    const auto second = consumer.Refer("org.example.Other");
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_EQ(registry_->subscribed.back().first.host(), has_loopback ? "127.0.0.1" : "0.0.0.0");
    EXPECT_EQ(interfaces->asked, 1);
    EXPECT_EQ(log.text(), "");
  }
}

TEST_F(ConsumerTest, EachServiceHasARouterOfItsOwn) {
  std::vector<std::string> made_for;
  Consumer consumer = New({[&made_for](const RouterOptions& options) -> std::unique_ptr<Router> {
    made_for.push_back(options.url.service_interface() == "org.example.Greeter"
                           ? options.url.ToString()
                           : std::string(options.url.service_interface()));
    if (options.url.service_interface() == "org.example.Other") return nullptr;
    return std::make_unique<LastRouter>(absl::OkStatus());
  }});
  auto greeter = *consumer.Refer("blue/org.example.Greeter:1.0.0");
  auto other = *consumer.Refer("org.example.Other");
  EXPECT_TRUE(made_for.empty());  // not on this thread
  registry_->Publish({GreeterAt(1), GreeterAt(2)});
  EXPECT_EQ(Hosts(*greeter), (std::set<std::string>{"192.0.2.2"}));
  EXPECT_EQ(Hosts(*other), (std::set<std::string>{"192.0.2.1", "192.0.2.2"}));
  registry_->Publish({GreeterAt(1)});
  EXPECT_EQ(Hosts(*greeter), (std::set<std::string>{"192.0.2.1"}));
  // Once each, however many lists come.
  EXPECT_EQ(made_for, (std::vector<std::string>{
                          "consumer://0.0.0.0/org.example.Greeter?application=front&group=blue&"
                          "interface=org.example.Greeter&loadbalance=random&side=consumer&"
                          "version=1.0.0",
                          "org.example.Other"}));
  EXPECT_TRUE(greeter->notes().empty());
}

TEST_F(ConsumerTest, ARouterThatFailsLeavesTheListAndSaysSo) {
  KeptLog log;
  Consumer consumer = New({[](const RouterOptions&) {
    return std::make_unique<LastRouter>(absl::InvalidArgumentError("line 3: no such key"));
  }});
  auto directory = *consumer.Refer("org.example.Greeter");
  EXPECT_TRUE(directory->notes().empty());
  registry_->Publish({GreeterAt(1), GreeterAt(2)});
  EXPECT_EQ(Hosts(*directory), (std::set<std::string>{"192.0.2.1", "192.0.2.2"}));
  EXPECT_EQ(directory->notes(), std::vector<std::string>{"last: line 3: no such key"});
  registry_->Publish({GreeterAt(1)});
  EXPECT_EQ(directory->notes(), std::vector<std::string>{"last: line 3: no such key"});
  // Said once.
  EXPECT_EQ(log.lines(),
            std::vector<std::string>{"org.example.Greeter: router last: line 3: no such key"});
  directory->Close();
  EXPECT_TRUE(directory->notes().empty());
}

TEST_F(ConsumerTest, CloseClosesDirectories) {
  Consumer consumer = New();
  auto directory = *consumer.Refer("org.example.Greeter");
  registry_->Publish({GreeterAt(1)});
  ASSERT_TRUE(directory->Pick(Request()).ok());
  consumer.Close();
  consumer.Close();
  EXPECT_EQ(directory->Pick(Request()).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(consumer.Refer("org.example.Greeter").status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(registry_->unsubscribed, 1);
  executor_->RunUntilIdle();
  EXPECT_EQ(registry_.use_count(), 1);
}

}  // namespace
}  // namespace signpost

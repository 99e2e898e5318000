#include "signpost/client/address_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tests/client/two_levels.h"
#include "tests/support/kept_log.h"

namespace signpost::client_internal {
namespace {

using testing::HasSubstr;

constexpr char kService[] = "org.example.Greeter";

class AddressSourceTest : public testing::Test {
 protected:
  AddressSourceTest() {
    routing_.service = kService;
    routing_.balancer = [](const BalancerOptions& options) {
      return std::make_unique<RandomBalancer>(options);
    };
  }
  ~AddressSourceTest() override {
    if (source_ != nullptr) source_->Stop();
    source_.reset();
    executor_->RunUntilIdle();
    EXPECT_EQ(executor_->pending_timers(), 0u);
  }

  void Start(CentreRegistries centre,
             const std::string& consumer = "consumer://192.0.2.200/org.example.Greeter") {
    source_ = std::make_shared<AddressSource>(std::move(centre), executor_, *Url::Parse(consumer),
                                              routing_, [this] { ++changes_; });
    source_->Start();
    executor_->RunUntilIdle();
  }
  const LevelChoice& choice() const { return source_->choice(); }
  bool AtApplication() const { return !levels_.application->subscribed.empty(); }
  bool AtInterface() const { return !levels_.interface->subscribed.empty(); }

  SimulatedClock clock_;
  std::shared_ptr<ManualExecutor> executor_ = std::make_shared<ManualExecutor>(clock_);
  TwoLevels levels_{executor_};
  AddressRouting::Parts routing_;
  std::shared_ptr<AddressSource> source_;
  int changes_ = 0;
};

TEST_F(AddressSourceTest, OneLevelNeedsNoRule) {
  CentreRegistries centre = levels_.Centre();
  centre.interface = nullptr;
  centre.migration = nullptr;
  Start(centre);
  EXPECT_TRUE(AtApplication());
  EXPECT_EQ(choice().Unready().message(), "org.example.Greeter: addresses are not known yet");
  levels_.PublishApplication(2);
  EXPECT_TRUE(choice().Unready().ok());
  EXPECT_EQ(choice().Serving(), std::vector<const RoutedAddresses*>{choice().application.get()});
  EXPECT_EQ(choice().why, "");
  EXPECT_TRUE(choice().Pick(Request()).ok());
}

TEST_F(AddressSourceTest, TheInterfaceLevelAloneServesAllCalls) {
  CentreRegistries centre = levels_.Centre();
  centre.application = nullptr;
  centre.migration = nullptr;
  Start(centre);
  EXPECT_FALSE(AtApplication());
  EXPECT_TRUE(AtInterface());
  EXPECT_EQ(choice().proportion, 0);
  levels_.PublishInterface(1);
  auto pick = choice().Pick(Request());
  ASSERT_TRUE(pick.ok()) << pick.status();
  EXPECT_TRUE(TwoLevels::ByInterface(pick->endpoint));
  pick->endpoint.EndCall();
}

TEST_F(AddressSourceTest, BeforeTheRuleIsKnownNothingIsAskedFor) {
  // Not yet told: the watch of the rule posts its answer.
  source_ = std::make_shared<AddressSource>(
      levels_.Centre(), executor_, *Url::Parse("consumer://192.0.2.200/org.example.Greeter"),
      routing_, [this] { ++changes_; });
  source_->Start();
  EXPECT_FALSE(AtApplication());
  EXPECT_FALSE(AtInterface());
  EXPECT_EQ(choice().Pick(Request()).status().code(), absl::StatusCode::kUnavailable);
  executor_->RunUntilIdle();
  EXPECT_TRUE(AtApplication());
  EXPECT_TRUE(AtInterface());
}

TEST_F(AddressSourceTest, TheStepDecidesWhatIsSubscribedTo) {
  const struct {
    const char* step;
    bool application;
    bool interface;
  } kTable[] = {{"FORCE_INTERFACE", false, true},
                {"APPLICATION_FIRST", true, true},
                {"FORCE_APPLICATION", true, false}};
  for (const auto& row : kTable) {
    levels_.Rule(std::string("step: ") + row.step);
    Start(levels_.Centre());
    EXPECT_EQ(AtApplication(), row.application) << row.step;
    EXPECT_EQ(AtInterface(), row.interface) << row.step;
    EXPECT_EQ(choice().fall_back, row.application && row.interface) << row.step;
    EXPECT_THAT(choice().why, HasSubstr(row.step));
    source_->Stop();
    EXPECT_FALSE(AtApplication()) << row.step;
    EXPECT_FALSE(AtInterface()) << row.step;
    executor_->RunUntilIdle();
  }
}

TEST_F(AddressSourceTest, TheUrlAndTheOptionsDecideWhereTheRuleIsSilent) {
  CentreRegistries centre = levels_.Centre();
  centre.migration_options.step = MigrationStep::kForceInterface;
  Start(centre);
  EXPECT_FALSE(AtApplication());
  source_->Stop();
  executor_->RunUntilIdle();
  Start(centre, "consumer://192.0.2.200/org.example.Greeter?migration.step=FORCE_APPLICATION");
  EXPECT_TRUE(AtApplication());
  EXPECT_FALSE(AtInterface());
}

TEST_F(AddressSourceTest, AUrlThatCannotBeReadIsSaidAndDecidesNothing) {
  KeptLog log;
  Start(levels_.Centre(), "consumer://192.0.2.200/org.example.Greeter?migration.step=SOMETIMES");
  EXPECT_TRUE(AtApplication());
  EXPECT_TRUE(AtInterface());
  EXPECT_THAT(log.text(), HasSubstr("SOMETIMES"));
}

TEST_F(AddressSourceTest, AProvidersEntryCountsOnceItsNameIsKnown) {
  levels_.Rule(
      "step: APPLICATION_FIRST\n"
      "applications:\n"
      "  - serviceKey: shop\n"
      "    proportion: 0\n");
  Start(levels_.Centre());
  levels_.PublishApplication(1);
  levels_.PublishInterface(1);
  EXPECT_EQ(choice().proportion, 0);
}

TEST_F(AddressSourceTest, AForceStepWaitsForItsDelay) {
  Start(levels_.Centre());
  levels_.PublishApplication(1);
  levels_.PublishInterface(1);
  levels_.Rule("step: FORCE_APPLICATION\ndelay: 60");
  EXPECT_TRUE(AtInterface());
  EXPECT_EQ(executor_->pending_timers(), 1u);
  executor_->AdvanceAndRun(absl::Seconds(59));
  EXPECT_TRUE(AtInterface());
  executor_->AdvanceAndRun(absl::Seconds(1));
  EXPECT_FALSE(AtInterface());
  EXPECT_EQ(choice().interface, nullptr);
  EXPECT_FALSE(choice().fall_back);
  EXPECT_EQ(executor_->pending_timers(), 0u);
}

TEST_F(AddressSourceTest, WhatASwitchWaitsForIsLoggedWhenThatChanges) {
  Start(levels_.Centre());
  levels_.PublishApplication(1);
  levels_.PublishInterface(2);
  KeptLog log;
  levels_.Rule("step: FORCE_APPLICATION\ndelay: 60\nthreshold: 1");
  ASSERT_EQ(log.lines().size(), 1u) << log.text();
  EXPECT_THAT(log.lines()[0], HasSubstr("waits for its delay of 1m"));
  executor_->AdvanceAndRun(absl::Seconds(60));
  ASSERT_EQ(log.lines().size(), 2u) << log.text();
  EXPECT_THAT(log.lines()[1], HasSubstr("does not happen without `force`"));
  // Not at each address that comes or leaves.
  levels_.PublishInterface(3);
  levels_.PublishInterface(4);
  EXPECT_EQ(log.lines().size(), 2u) << log.text();
  levels_.PublishApplication(4);
  ASSERT_EQ(log.lines().size(), 3u) << log.text();
  EXPECT_THAT(log.lines()[2], HasSubstr("only the application level"));
}

TEST_F(AddressSourceTest, StopEndsTheTimer) {
  Start(levels_.Centre());
  levels_.PublishInterface(1);
  levels_.Rule("step: FORCE_APPLICATION\ndelay: 60");
  ASSERT_EQ(executor_->pending_timers(), 1u);
  source_->Stop();
  source_->Stop();
  executor_->RunUntilIdle();
  EXPECT_EQ(executor_->pending_timers(), 0u);
}

TEST_F(AddressSourceTest, AForceStepWithoutAddressesWaitsUnlessForced) {
  Start(levels_.Centre());
  levels_.PublishInterface(2);
  levels_.Rule("step: FORCE_APPLICATION");
  EXPECT_TRUE(AtInterface());
  EXPECT_THAT(choice().why, HasSubstr("FORCE_APPLICATION is wanted and waits"));
  levels_.PublishApplication(0, absl::NotFoundError("no mapping"));
  EXPECT_TRUE(AtInterface());
  EXPECT_THAT(choice().why, HasSubstr("`force`"));
  EXPECT_TRUE(choice().Pick(Request()).ok());
  levels_.Rule("step: FORCE_APPLICATION\nforce: true");
  EXPECT_FALSE(AtInterface());
  EXPECT_EQ(choice().Pick(Request()).status().message(), "org.example.Greeter: no mapping");
}

TEST_F(AddressSourceTest, ALevelThatCannotBeReadIsNotKnownEvenByForce) {
  levels_.Rule("step: FORCE_INTERFACE");
  Start(levels_.Centre());
  levels_.PublishInterface(2);
  levels_.Rule("step: FORCE_APPLICATION\nforce: true");
  levels_.PublishApplication(0, absl::UnavailableError("no metadata of revision r1"));
  EXPECT_TRUE(AtInterface());
  EXPECT_TRUE(choice().Pick(Request()).ok());
  EXPECT_THAT(choice().why,
              HasSubstr("(not known yet: org.example.Greeter: no metadata of revision r1)"));
  levels_.PublishApplication(0, absl::PermissionDeniedError("/services/shop"));
  EXPECT_TRUE(AtInterface());
  levels_.PublishApplication(1);
  EXPECT_FALSE(AtInterface());
}

TEST_F(AddressSourceTest, OldAddressesYieldToTheOtherLevel) {
  Start(levels_.Centre());
  levels_.application->Publish(TwoLevels::Specs(0, 5));
  levels_.PublishInterface(2);
  EXPECT_EQ(choice().proportion, 100);
  levels_.application->Publish(TwoLevels::Specs(0, 5),
                               absl::UnavailableError("no metadata of revision r2"), true);
  EXPECT_EQ(choice().proportion, 0);
  EXPECT_THAT(choice().why, HasSubstr("5 old addresses"));
  levels_.PublishInterface(0, absl::NotFoundError("none"));
  EXPECT_EQ(choice().proportion, 100);
  EXPECT_TRUE(choice().Pick(Request()).ok());
}

TEST_F(AddressSourceTest, ASwitchThatIsTakenBackLeavesWhatServes) {
  levels_.Rule("step: FORCE_INTERFACE");
  Start(levels_.Centre());
  levels_.PublishInterface(1);
  levels_.Rule("step: FORCE_APPLICATION\ndelay: 60");
  levels_.PublishApplication(2);
  levels_.PublishInterface(0, absl::NotFoundError("none"));
  EXPECT_TRUE(choice().Pick(Request()).ok());
  levels_.Rule("step: FORCE_INTERFACE");
  EXPECT_TRUE(AtApplication());
  EXPECT_TRUE(choice().Pick(Request()).ok());
  EXPECT_THAT(choice().why, HasSubstr("FORCE_INTERFACE is wanted and waits"));
  levels_.PublishInterface(1);
  EXPECT_FALSE(AtApplication());
  EXPECT_TRUE(choice().Pick(Request()).ok());
}

TEST_F(AddressSourceTest, BeforeAnythingIsKnownARuleIsNoSwitch) {
  Start(levels_.Centre());  // no rule could be read
  levels_.PublishApplication(0, absl::UnavailableError("not connected"));
  levels_.PublishInterface(0, absl::UnavailableError("not connected"));
  levels_.Rule("step: FORCE_INTERFACE\ndelay: 3600");
  EXPECT_FALSE(AtApplication());
  EXPECT_EQ(executor_->pending_timers(), 0u);
}

TEST_F(AddressSourceTest, AnEntryOfTheMappingsApplicationDoesNotFlap) {
  levels_.Rule(
      "step: APPLICATION_FIRST\n"
      "applications:\n"
      "  - serviceKey: shop\n"
      "    step: FORCE_INTERFACE\n");
  levels_.interface->apps = {"renamed"};
  Start(levels_.Centre());
  levels_.PublishInterface(1);
  levels_.PublishApplication(1);
  EXPECT_FALSE(AtApplication());
  for (int i = 2; i < 5; ++i) {
    levels_.PublishInterface(i);
    EXPECT_FALSE(AtApplication());
  }
  EXPECT_EQ(levels_.application->unsubscribed, 1);
}

TEST_F(AddressSourceTest, ALevelThatComesBackStartsFromNothing) {
  levels_.Rule("step: FORCE_INTERFACE");
  CentreRegistries centre = levels_.Centre();
  centre.configurators = levels_.configurators.Watch();
  Start(centre);
  levels_.configurators.Tell();
  levels_.PublishInterface(3);
  levels_.Rule("step: APPLICATION_FIRST");
  levels_.PublishApplication(1);
  levels_.Rule("step: FORCE_APPLICATION");
  EXPECT_FALSE(AtInterface());
  EXPECT_EQ(choice().interface, nullptr);
  // Nobody listens.
  levels_.PublishInterface(5);
  EXPECT_EQ(choice().interface, nullptr);
  levels_.Rule("step: APPLICATION_FIRST");
  EXPECT_TRUE(AtInterface());
  EXPECT_EQ(choice().interface, nullptr);
  levels_.PublishInterface(2);
  ASSERT_NE(choice().interface, nullptr);
  EXPECT_EQ(choice().interface->addresses.list->size(), 2u);
}

TEST_F(AddressSourceTest, ConsumersAreRegisteredWhereTheyAreToBeSeen) {
  levels_.Rule("step: APPLICATION_FIRST");
  CentreRegistries centre = levels_.Centre();
  Start(centre);
  EXPECT_TRUE(levels_.interface->registers.empty());
  source_->Stop();
  EXPECT_TRUE(levels_.interface->unregisters.empty());
  executor_->RunUntilIdle();

  centre.register_consumers = true;
  Start(centre);
  ASSERT_EQ(levels_.interface->registers.size(), 1u);
  const Url node = levels_.interface->registers[0].url;
  EXPECT_EQ(node.protocol(), "consumer");
  EXPECT_EQ(node.host(), "192.0.2.200");
  EXPECT_EQ(node.Get("category"), "consumers");
  EXPECT_EQ(node.Get("check"), "false");
  EXPECT_EQ(node.Get("pid"), std::to_string(getpid()));
  EXPECT_EQ(node.Get("timestamp"),
            std::to_string(absl::ToUnixMillis(executor_->clock().WallNow())));
  EXPECT_TRUE(levels_.application->registers.empty());
  levels_.PublishApplication(1);
  levels_.Rule("step: FORCE_APPLICATION");
  ASSERT_EQ(levels_.interface->unregisters.size(), 1u);
  EXPECT_EQ(levels_.interface->unregisters[0].url.ToFullString(), node.ToFullString());
  // Not a second time.
  source_->Stop();
  EXPECT_EQ(levels_.interface->unregisters.size(), 1u);
}

TEST_F(AddressSourceTest, StopTakesTheConsumerOff) {
  CentreRegistries centre = levels_.Centre();
  centre.application = nullptr;
  centre.migration = nullptr;
  centre.register_consumers = true;
  Start(centre);
  EXPECT_EQ(levels_.interface->registers.size(), 1u);
  source_->Stop();
  EXPECT_EQ(levels_.interface->unregisters.size(), 1u);
}

TEST_F(AddressSourceTest, OverridesAreKnownBeforeAnythingIsTold) {
  CentreRegistries centre = levels_.Centre();
  centre.configurators = levels_.configurators.Watch();
  Start(centre);
  levels_.PublishInterface(2);
  levels_.PublishApplication(2);
  EXPECT_EQ(choice().application, nullptr);
  EXPECT_EQ(choice().interface, nullptr);
  EXPECT_EQ(choice().Serving().size(), 0u);
  EXPECT_FALSE(choice().Pick(Request()).ok());
  levels_.configurators.Tell(
      {"override://192.0.2.1:20880/org.example.Greeter?category=configurators&disabled=true"});
  ASSERT_NE(choice().application, nullptr);
  EXPECT_EQ(choice().application->addresses.list->size(), 1u);
  EXPECT_EQ(choice().interface->addresses.list->size(), 2u);
  // Taken back: nothing is left of it.
  levels_.configurators.Tell();
  EXPECT_EQ(choice().application->addresses.list->size(), 2u);
  source_->Stop();
  EXPECT_EQ(levels_.configurators.watches(), 0u);
}

TEST_F(AddressSourceTest, RulesOfProvidersActAtApplicationLevelAlone) {
  CentreRegistries centre = levels_.Centre();
  centre.configurators = levels_.configurators.Watch();
  Start(centre);
  levels_.configurators.Tell(
      {"override://0.0.0.0/org.example.Greeter?category=configurators&side=provider"
       "&configVersion=v3.0&weight=7"});
  levels_.PublishApplication(1);
  levels_.PublishInterface(1);
  EXPECT_EQ(choice().application->addresses.list->at(0)->weight, 7);
  // There the provider itself registers what the rule makes of its URL.
  EXPECT_EQ(choice().interface->addresses.list->at(0)->weight, 100);
}

TEST_F(AddressSourceTest, AfterStopNothingIsTold) {
  Start(levels_.Centre());
  auto listener = levels_.application->subscribed.at(0).second;
  const int before = changes_;
  source_->Stop();
  ServiceAddresses late;
  late.list = AddressList::Empty();
  listener->Notify(late);
  levels_.Rule("step: FORCE_INTERFACE");
  EXPECT_EQ(changes_, before);
  // The registry may keep the listener longer than the source lives.
  source_.reset();
  executor_->RunUntilIdle();
  listener->Notify(late);
}

TEST_F(AddressSourceTest, NothingAtEitherLevelNamesBoth) {
  Start(levels_.Centre());
  levels_.PublishApplication(0, absl::NotFoundError("no mapping"));
  EXPECT_EQ(choice().Unready().message(), "org.example.Greeter: no mapping");
  levels_.PublishInterface(0, absl::NotFoundError("no provider at /dubbo/x/providers"));
  EXPECT_EQ(choice().Unready().message(),
            "org.example.Greeter: no mapping; at interface level: no provider at "
            "/dubbo/x/providers");
  EXPECT_EQ(choice().Unready().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(choice().Pick(Request()).status(), choice().Unready());
}

// A level's Unready is that of the list; a rule of a router counts as well.
TEST(LevelChoiceTest, TheOtherLevelIsAskedOnlyWhereItMay) {
  LevelChoice choice;
  choice.service = kService;
  EXPECT_EQ(choice.Pick(Request()).status().message(),
            "org.example.Greeter: addresses are not known yet");
  EXPECT_TRUE(choice.Serving().empty());
  choice.fall_back = true;
  EXPECT_FALSE(choice.Pick(Request()).ok());
  EXPECT_FALSE(choice.Unready().ok());
  EXPECT_TRUE(choice.Serving().empty());
}

TEST(LevelChoiceTest, OfTwoListsTheProportionChooses) {
  SimulatedClock clock;
  EndpointTable table;
  AddressRouting::Parts parts;
  parts.service = kService;
  parts.balancer = [](const BalancerOptions& options) {
    return std::make_unique<RandomBalancer>(options);
  };
  AddressRouting by_application(parts);
  AddressRouting by_interface(parts);
  const auto list = [&table](int from, int count) {
    std::vector<Endpoint> wanted;
    for (EndpointSpec& spec : TwoLevels::Specs(from, count)) {
      wanted.push_back(table.Intern(std::move(spec)));
    }
    ServiceAddresses addresses;
    addresses.delta = AddressList::Empty()->DiffTo(wanted);
    addresses.list = AddressList::Empty()->Apply(addresses.delta);
    return addresses;
  };
  LevelChoice choice;
  choice.service = kService;
  choice.application = by_application.Build(list(0, 2));
  choice.interface = by_interface.Build(list(TwoLevels::kInterfaceFrom, 2));
  const auto of_thousand = [&choice] {
    int by_interface = 0;
    for (int i = 0; i < 1000; ++i) {
      auto pick = choice.Pick(Request());
      EXPECT_TRUE(pick.ok()) << pick.status();
      if (!pick.ok()) continue;
      if (TwoLevels::ByInterface(pick->endpoint)) ++by_interface;
      pick->endpoint.EndCall();
    }
    return by_interface;
  };
  choice.proportion = 100;
  EXPECT_EQ(of_thousand(), 0);
  EXPECT_EQ(choice.Serving().size(), 1u);
  choice.proportion = 0;
  EXPECT_EQ(of_thousand(), 1000);
  choice.proportion = 30;
  EXPECT_NEAR(of_thousand(), 700, 100);
  EXPECT_EQ(choice.Serving().size(), 2u);
  // Without a way to the other level an empty one fails its share.
  choice.application = by_application.Build(list(0, 0));
  choice.proportion = 100;
  EXPECT_FALSE(choice.Pick(Request()).ok());
  choice.fall_back = true;
  EXPECT_EQ(of_thousand(), 1000);
  EXPECT_EQ(choice.Serving(), std::vector<const RoutedAddresses*>{choice.interface.get()});
}

}  // namespace
}  // namespace signpost::client_internal

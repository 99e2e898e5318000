#include "signpost/client/configured_addresses.h"

#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tests/client/configured_test.h"

namespace signpost::client_internal {
namespace {

TEST_F(ConfiguredAddressesTest, WithoutRulesTheListItselfPasses) {
  const ServiceAddresses published = Next({At(1), At(2)});
  Take(configured_->SetAddresses(published));
  EXPECT_EQ(told_.list, published.list);
  EXPECT_EQ(told_.delta.added.size(), 2u);
  EXPECT_EQ(told_.apps, published.apps);
  EXPECT_TRUE(told_.state.ok());
  Use(std::make_shared<const ConfiguratorSet>());
  EXPECT_EQ(told_.list, published.list);
  EXPECT_TRUE(told_.delta.empty());
  Use(nullptr);
  EXPECT_EQ(told_.list, published.list);
  Publish({At(1), At(3)});
  EXPECT_EQ(told_.list, list_);
  EXPECT_EQ(told_.delta.added.size(), 1u);
  EXPECT_EQ(told_.delta.removed.size(), 1u);
}

TEST_F(ConfiguredAddressesTest, TheRegistrysWordPasses) {
  ServiceAddresses published = Next({});
  published.state = absl::NotFoundError("no mapping");
  published.apps.clear();
  Use(Rules({All("weight=7")}));
  Take(configured_->SetAddresses(published));
  EXPECT_EQ(told_.state, published.state);
  published = Next({At(1)});
  published.state = absl::UnavailableError("a revision is not known");
  published.apps = {"a", "b"};
  Take(configured_->SetAddresses(published));
  EXPECT_EQ(told_.state, published.state);
  EXPECT_EQ(told_.apps, published.apps);
  // Also with a new set of rules.
  Use(Rules({All("weight=8")}));
  EXPECT_EQ(told_.state, published.state);
  EXPECT_EQ(told_.apps, published.apps);
}

TEST_F(ConfiguredAddressesTest, PutsWhatRulesSayAndNothingElse) {
  Use(Rules({All("weight=200&timeout=500&tag=gray"), One(2, "echo.retries=3")}));
  const Endpoint published = At(2);
  Publish({At(1), published});
  EXPECT_EQ(Shown(), (Lines{"192.0.2.1 200 500", "192.0.2.2 200 500"}));
  ASSERT_EQ(told_.list->size(), 2u);
  const EndpointSpec& first = told_.list->spec(0);
  const EndpointSpec& second = told_.list->spec(1);
  EXPECT_EQ(first.Get("echo.retries"), "");
  EXPECT_EQ(second.Get("echo.retries"), "3");
  EXPECT_EQ(second.port, 20880);
  EXPECT_EQ(second.service->name, service_->name);
  EXPECT_EQ(second.service->path, service_->path);
  EXPECT_EQ(second.service->protocol, "tri");
  EXPECT_EQ(second.service->app, "shop");
  EXPECT_EQ(second.service->revision, "r1");
  EXPECT_EQ(
      second.service->params,
      (StringMap{{"timeout", "500"}, {"weight", "200"}, {"tag", "gray"}, {"echo.retries", "3"}}));
  // What the registry holds is not touched.
  EXPECT_EQ(published->weight, 100);
  EXPECT_EQ(published->Get("timeout"), "1000");
}

// TC-35, the consumer's side.
TEST_F(ConfiguredAddressesTest, RemovalRestoresExactly) {
  const std::string o1 = All("weight=200");
  const std::string o2 = All("timeout=500");
  const std::vector<Endpoint> published = {At(1), At(2)};
  Publish(published);
  Use(Rules({o1}));
  Use(Rules({o1, o2}));
  EXPECT_EQ(Shown(), (Lines{"192.0.2.1 200 500", "192.0.2.2 200 500"}));
  Use(Rules({o1}));
  EXPECT_EQ(Shown(), (Lines{"192.0.2.1 200 1000", "192.0.2.2 200 1000"}));
  EXPECT_EQ(told_.delta.updated.size(), 2u);
  Use(Rules({}));
  EXPECT_EQ(Shown(), (Lines{"192.0.2.1 100 1000", "192.0.2.2 100 1000"}));
  // The very records and the very list.
  EXPECT_EQ(EndpointsOf(*told_.list), published);
  EXPECT_EQ(told_.list, list_);
  EXPECT_EQ(told_.delta.updated.size(), 2u);
  EXPECT_TRUE(told_.delta.added.empty());
  EXPECT_TRUE(told_.delta.removed.empty());
}

TEST_F(ConfiguredAddressesTest, WhatNoRuleMeansPassesAsItIs) {
  Use(Rules({One(1, "weight=7"), "override://192.0.2.98/org.example.Greeter?weight=9"}));
  const Endpoint two = At(2);
  Publish({At(1), two});
  EXPECT_EQ(Shown(), (Lines{"192.0.2.1 7 1000", "192.0.2.2 100 1000"}));
  EXPECT_EQ(IdsOf(*told_.list).count(two.id()), 1u);
  // A rule that says what is so already.
  Use(Rules({All("timeout=1000&weight=100")}));
  EXPECT_EQ(Shown(), (Lines{"192.0.2.1 100 1000", "192.0.2.2 100 1000"}));
}

TEST_F(ConfiguredAddressesTest, DisabledGoesAndComesBack) {
  Publish({At(1), At(2), At(3)});
  Use(Rules({One(2, "disabled=true")}));
  EXPECT_EQ(Shown(), (Lines{"192.0.2.1 100 1000", "192.0.2.3 100 1000"}));
  EXPECT_EQ(told_.delta.removed.size(), 1u);
  EXPECT_TRUE(told_.state.ok());
  // What happens to it meanwhile is not told.
  Publish({At(1), At(2, 50), At(3)});
  EXPECT_TRUE(told_.delta.empty());
  Use(Rules({}));
  EXPECT_EQ(Shown(), (Lines{"192.0.2.1 100 1000", "192.0.2.2 50 1000", "192.0.2.3 100 1000"}));
  EXPECT_EQ(told_.delta.added.size(), 1u);
  // It goes while it is disabled.
  Use(Rules({One(2, "disabled=true")}));
  Publish({At(1), At(3)});
  EXPECT_TRUE(told_.delta.empty());
  Publish({At(1), At(2), At(3)});
  EXPECT_TRUE(told_.delta.empty());
  EXPECT_EQ(told_.list->size(), 2u);
}

TEST_F(ConfiguredAddressesTest, ARuleDisablesOneAddress) {
  Publish({At(1), At(2)});
  Use(Text("side: consumer, providerAddresses: ['192.0.2.1:20880'], parameters: {disabled: true}"));
  EXPECT_EQ(Shown(), Lines{"192.0.2.2 100 1000"});
  Use(Rules({}));
  EXPECT_EQ(Shown(), (Lines{"192.0.2.1 100 1000", "192.0.2.2 100 1000"}));
}

TEST_F(ConfiguredAddressesTest, AnUpdateMayDisableOrEnable) {
  // By a parameter that the provider has or has not.
  Use(Rules({All("~zone=east&disabled=true")}));
  const ServicePtr east = Greeter({{"timeout", "1000"}, {"zone", "east"}});
  Publish({At(1), At(2)});
  EXPECT_EQ(told_.list->size(), 2u);
  Publish({At(1), At(2, 100, east)});
  EXPECT_EQ(Shown(), Lines{"192.0.2.1 100 1000"});
  EXPECT_EQ(told_.delta.removed.size(), 1u);
  EXPECT_TRUE(told_.delta.updated.empty());
  Publish({At(1), At(2)});
  EXPECT_EQ(told_.list->size(), 2u);
  EXPECT_EQ(told_.delta.added.size(), 1u);
  EXPECT_TRUE(told_.delta.updated.empty());
}

TEST_F(ConfiguredAddressesTest, WhenAllAreDisabledTheStateSaysSo) {
  Publish({At(1), At(2)});
  Use(Rules({All("disabled=true")}));
  EXPECT_TRUE(told_.list->empty());
  EXPECT_TRUE(absl::IsNotFound(told_.state));
  EXPECT_EQ(told_.state.message(), "override rules disable all 2 addresses of org.example.Greeter");
  Publish({At(1), At(2), At(3)});
  EXPECT_EQ(told_.state.message(), "override rules disable all 3 addresses of org.example.Greeter");
  // None is there to be disabled.
  Publish({});
  EXPECT_TRUE(told_.state.ok());
  Publish({At(1)});
  Use(Rules({}));
  EXPECT_TRUE(told_.state.ok());
  EXPECT_EQ(told_.list->size(), 1u);
}

TEST_F(ConfiguredAddressesTest, OneOfAThousandIsADeltaOfOne) {
  Use(Rules({All("timeout=500")}));
  std::vector<Endpoint> published;
  for (int i = 0; i < 1000; ++i) published.push_back(At(i));
  Publish(published);
  EXPECT_EQ(told_.delta.added.size(), 1000u);
  const std::shared_ptr<const AddressList> before = told_.list;

  published[500] = At(500, 50);
  ServiceAddresses next;
  next.delta.from_version = list_->version();
  next.delta.updated.push_back({At(500), published[500]});
  list_ = list_->Apply(next.delta);
  next.delta.to_version = list_->version();
  next.list = list_;
  Take(configured_->SetAddresses(next));
  ASSERT_EQ(told_.delta.updated.size(), 1u);
  EXPECT_TRUE(told_.delta.added.empty());
  EXPECT_TRUE(told_.delta.removed.empty());
  EXPECT_EQ(told_.delta.updated[0].after->weight, 50);
  EXPECT_EQ(told_.delta.updated[0].after->Get("timeout"), "500");

  // So does comparing the whole.
  const AddressDelta whole = before->DiffTo(EndpointsOf(*told_.list));
  ASSERT_EQ(whole.updated.size(), 1u);
  EXPECT_TRUE(whole.added.empty());
  EXPECT_TRUE(whole.removed.empty());
  EXPECT_EQ(whole.updated[0].before, told_.delta.updated[0].before);
  EXPECT_EQ(whole.updated[0].after, told_.delta.updated[0].after);

  published.erase(published.begin());
  Publish(published);
  EXPECT_EQ(told_.delta.removed.size(), 1u);
  EXPECT_TRUE(told_.delta.updated.empty());
  EXPECT_EQ(told_.list->size(), 999u);
}

TEST_F(ConfiguredAddressesTest, RecordsGoOnSharingTheirService) {
  Use(Rules({All("timeout=500"), One(7, "timeout=70")}));
  std::vector<Endpoint> published;
  for (int i = 0; i < 300; ++i) published.push_back(At(i));
  const ServicePtr other = Greeter({{"timeout", "1000"}}, "r2");
  for (int i = 300; i < 310; ++i) published.push_back(At(i, 100, other));
  Publish(published);
  const auto services = [this] {
    std::set<const EndpointService*> seen;
    told_.list->ForEach([&seen](const Endpoint& each) { seen.insert(each->service.get()); });
    return seen;
  };
  EXPECT_EQ(services().size(), 3u);
  const auto first = services();
  // Later ones too.
  for (int i = 400; i < 420; ++i) published.push_back(At(i));
  published[3] = At(3, 30);
  Publish(published);
  EXPECT_EQ(services(), first);
}

TEST_F(ConfiguredAddressesTest, AnUpdateThatARuleHidesIsNoNews) {
  Use(Rules({All("weight=7")}));
  Publish({At(1), At(2)});
  const std::shared_ptr<const AddressList> before = told_.list;
  Publish({At(1, 50), At(2)});
  EXPECT_TRUE(told_.delta.empty());
  EXPECT_EQ(told_.list, before);
  // It is known all the same.
  Publish({At(1, 50), At(2), At(3)});
  EXPECT_EQ(told_.delta.added.size(), 1u);
  Use(Rules({}));
  EXPECT_EQ(Shown(), (Lines{"192.0.2.1 50 1000", "192.0.2.2 100 1000", "192.0.2.3 100 1000"}));
}

TEST_F(ConfiguredAddressesTest, RulesThatMakeNoDifferenceTellTheListThatWasTold) {
  Use(Rules({One(9, "weight=7")}));
  Publish({At(1), At(2)});
  const std::shared_ptr<const AddressList> before = told_.list;
  Use(Rules({One(8, "weight=7")}));
  EXPECT_EQ(told_.list, before);
  EXPECT_TRUE(told_.delta.empty());
  EXPECT_EQ(told_.delta.to_version, before->version());
  Publish({At(1)});
  EXPECT_EQ(told_.delta.removed.size(), 1u);
}

TEST_F(ConfiguredAddressesTest, RulesComeAndGoBetweenChanges) {
  Publish({At(1)});
  Use(Rules({All("weight=7")}));
  Publish({At(1), At(2)});
  Publish({At(1), At(2), At(3)});
  Use(Rules({}));
  EXPECT_EQ(told_.list, list_);
  Publish({At(2), At(3)});
  EXPECT_EQ(told_.list, list_);
  Use(Rules({All("weight=8")}));
  Use(Rules({All("weight=9"), One(2, "disabled=true")}));
  EXPECT_EQ(Shown(), Lines{"192.0.2.3 9 1000"});
  Publish({At(2), At(3), At(4)});
  EXPECT_EQ(Shown(), (Lines{"192.0.2.3 9 1000", "192.0.2.4 9 1000"}));
  Use(nullptr);
  EXPECT_EQ(told_.list, list_);
  Publish({});
  EXPECT_TRUE(told_.list->empty());
}

TEST_F(ConfiguredAddressesTest, RulesBeforeAddresses) {
  Use(Rules({All("weight=7")}));
  EXPECT_TRUE(told_.list->empty());
  EXPECT_TRUE(told_.state.ok());
  Publish({At(1)});
  EXPECT_EQ(Shown(), Lines{"192.0.2.1 7 1000"});
}

TEST_F(ConfiguredAddressesTest, AfterAGapTheWholeIsCompared) {
  for (const SetPtr& rules : {Rules({}), Rules({All("weight=7")})}) {
    Make(true);
    Use(rules);
    Publish({At(1), At(2)});
    Next({At(2), At(3)});  // is never heard of
    Publish({At(3), At(4)});
    EXPECT_EQ(told_.list->size(), 2u);
    EXPECT_EQ(told_.delta.added.size(), 2u);
    EXPECT_EQ(told_.delta.removed.size(), 2u);
    Publish({At(3), At(4, 40), At(5)});
    EXPECT_EQ(told_.list->size(), 3u);
    EXPECT_EQ(told_.delta.added.size(), 1u);
  }
}

TEST_F(ConfiguredAddressesTest, ANewSubscriptionStartsFromNothing) {
  for (const SetPtr& rules : {Rules({}), Rules({All("weight=7")})}) {
    Make(true);
    Use(rules);
    Publish({At(1)});
    Publish({At(1), At(2)});
    ServiceAddresses none;
    none.list = list_ = AddressList::Empty();
    Take(configured_->SetAddresses(none));
    EXPECT_TRUE(told_.list->empty());
    EXPECT_EQ(told_.delta.removed.size(), 2u);
    Publish({At(2), At(3)});
    EXPECT_EQ(told_.list->size(), 2u);
    EXPECT_EQ(told_.delta.added.size(), 2u);
  }
}

TEST_F(ConfiguredAddressesTest, RulesForProvidersActWhereTheirProvidersAreNotAsked) {
  const SetPtr rule = Text("side: provider, parameters: {weight: 7}");
  Use(rule);
  Publish({At(1)});
  EXPECT_EQ(Shown(), Lines{"192.0.2.1 7 1000"});
  Make(false);
  Use(rule);
  Publish({At(1)});
  EXPECT_EQ(Shown(), Lines{"192.0.2.1 100 1000"});
}

TEST_F(ConfiguredAddressesTest, AbsentPutsOnlyWhereThereIsNone) {
  const std::string absent = "absent://0.0.0.0/org.example.Greeter?";
  Use(Rules({absent + "timeout=900&retries=1&weight=50"}));
  // The weight of the second is not among its parameters, as at interface level.
  Publish({At(1), At(2, 70), At(3, 100, Greeter({{"weight", "100"}}))});
  EXPECT_EQ(Shown(), (Lines{"192.0.2.1 50 1000", "192.0.2.2 70 1000", "192.0.2.3 100 900"}));
  EXPECT_EQ(told_.list->spec(0).Get("retries"), "1");
}

TEST_F(ConfiguredAddressesTest, TheWeightOfTheInstanceIsTheOneThatRulesChange) {
  EndpointSpec spec;
  spec.host = "192.0.2.1";
  spec.port = 20880;
  spec.weight = 200;
  spec.service = Greeter({{"weight", "100"}, {"timeout", "1000"}});
  spec.instance_metadata = std::make_shared<const StringMap>(StringMap{{"weight", "200"}});
  const Endpoint endpoint = table_.Intern(spec);
  Use(Rules({All("weight=100")}));
  Publish({endpoint});
  EXPECT_EQ(Shown(), Lines{"192.0.2.1 100 1000"});
  Use(Rules({All("~weight=200&timeout=5")}));
  EXPECT_EQ(Shown(), Lines{"192.0.2.1 200 5"});
}

TEST_F(ConfiguredAddressesTest, ValuesThatMakeNoSenseLeaveWhatWas) {
  Publish({At(1, 30)});
  Use(Rules({All("weight=heavy&disabled=perhaps")}));
  EXPECT_EQ(Shown(), Lines{"192.0.2.1 30 1000"});
  Use(Rules({All("weight=99999999999999999999")}));
  EXPECT_EQ(Shown(), Lines{"192.0.2.1 30 1000"});
  Use(Rules({All("weight=-5")}));
  EXPECT_EQ(told_.list->spec(0).weight, 0);
  Use(Rules({All("weight=4294967297")}));
  EXPECT_EQ(told_.list->spec(0).weight, std::numeric_limits<int32_t>::max());
  Use(Rules({All("weight=")}));
  EXPECT_EQ(told_.list->spec(0).weight, 30);
}

TEST_F(ConfiguredAddressesTest, TheUrlOfAnEndpoint) {
  EndpointService service;
  service.name = "shop/org.example.Greeter:1.0.0";
  service.path = "greet";
  service.protocol = "tri";
  service.app = "shop";
  service.params = {{"timeout", "1000"}, {"side", "provider"}, {"zone", "east"}};
  EndpointSpec spec;
  spec.host = "2001:db8::1";
  spec.port = 20880;
  spec.service = std::make_shared<const EndpointService>(service);
  EXPECT_EQ(ProviderUrlOf(table_.Intern(spec)).ToFullString(),
            "tri://[2001:db8::1]:20880/greet?application=shop&group=shop&"
            "interface=org.example.Greeter&side=provider&timeout=1000&version=1.0.0&zone=east");
  // The service's parameters count before those of the instance.
  spec.weight = 30;
  spec.instance_metadata =
      std::make_shared<const StringMap>(StringMap{{"zone", "west"}, {"rack", "7"}});
  service.app = "";
  service.params["group"] = "own";
  spec.service = std::make_shared<const EndpointService>(service);
  EXPECT_EQ(ProviderUrlOf(table_.Intern(spec)).ToFullString(),
            "tri://[2001:db8::1]:20880/greet?group=own&interface=org.example.Greeter&rack=7&"
            "side=provider&timeout=1000&version=1.0.0&weight=30&zone=east");
  // A name that is none says nothing.
  service = EndpointService();
  service.name = "a b";
  spec = EndpointSpec();
  spec.host = "192.0.2.1";
  spec.service = std::make_shared<const EndpointService>(service);
  EXPECT_EQ(ProviderUrlOf(table_.Intern(spec)).ToFullString(), "192.0.2.1?side=provider");
}

}  // namespace
}  // namespace signpost::client_internal

#include "signpost/router/configurator/configurator.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "signpost/common/url.h"
#include "signpost/router/configurator/configurator_item.h"
#include "signpost/router/configurator/configurator_set.h"

namespace signpost {
namespace {

using Side = ConfiguratorTarget::Side;

Url Parsed(const std::string& text) {
  auto url = Url::Parse(text);
  EXPECT_TRUE(url.ok()) << text << ": " << url.status();
  return url.ok() ? *url : Url();
}

Configurator Rule(const std::string& text) {
  auto configurator = Configurator::FromUrl(Parsed(text));
  EXPECT_TRUE(configurator.ok()) << text << ": " << configurator.status();
  return *configurator;
}

const char kProvider[] =
    "tri://192.0.2.1:20880/demo.Echo?application=shop&env=gray&side=provider&timeout=1000";

ConfiguratorTarget Consumer(bool provider_rules = false) {
  ConfiguratorTarget target = ConfiguratorTarget::OfConsumer(
      Parsed("consumer://192.0.2.7/demo.Echo?application=web&side=consumer&zone=east"));
  target.provider_rules = provider_rules;
  return target;
}

ConfiguratorTarget Provider() { return ConfiguratorTarget::OfProvider(Parsed(kProvider)); }

// The parameter afterwards.
std::string Applied(const std::string& rule, const ConfiguratorTarget& target,
                    const std::string& key = "timeout", const std::string& original = kProvider) {
  const ConfiguratorSet set({Rule(rule)}, {}, {});
  return std::string(set.Apply(Parsed(original), target).Get(key, "-"));
}

TEST(ConfiguratorTargetTest, OfUrls) {
  const ConfiguratorTarget consumer = Consumer();
  EXPECT_EQ(consumer.side, Side::kConsumer);
  EXPECT_EQ(consumer.application, "web");
  EXPECT_EQ(consumer.host, "192.0.2.7");
  EXPECT_EQ(Provider().side, Side::kProvider);
  EXPECT_EQ(Provider().application, "shop");
}

// TC-03: what two spellings of one node name mean.
TEST(ConfiguratorTest, NodeNamesOfBothSpellings) {
  const auto a = Url::ParseEncoded(
      "override%3A%2F%2F192.0.2.7%2Forg.example.Echo%3Fcategory%3Dconfigurators%26weight%3D0");
  const auto b = Url::ParseEncoded(
      "override%3A%2F%2F192.0.2.7%2Forg.example.Echo?category=configurators&weight=0");
  ASSERT_TRUE(a.ok() && b.ok());
  const auto first = Configurator::FromUrl(*a);
  const auto second = Configurator::FromUrl(*b);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(first->host(), "192.0.2.7");
  EXPECT_EQ(first->parameters(), (Url::Parameters{{"weight", "0"}}));
}

TEST(ConfiguratorTest, WhatIsTheRulesOwnIsNotPut) {
  const Configurator rule = Rule(
      "override://0.0.0.0/demo.Echo?category=configurators&check=false&dynamic=false&enabled=true"
      "&group=g&version=1&application=*&side=consumer&configVersion=v2.7&compatible_config=true"
      "&interfaces=x&anyhost=true&priority=3&providerAddresses=0.0.0.0&~env=gray&interface=demo."
      "Echo"
      "&router=a&rule=b&runtime=c&type=d&accesslog.fixed.path=e&timeout=500&disabled=true");
  EXPECT_EQ(rule.parameters(), (Url::Parameters{{"disabled", "true"}, {"timeout", "500"}}));
  EXPECT_EQ(rule.priority(), 3);
}

TEST(ConfiguratorTest, WithoutParametersOrNotEnabledItDoesNothing) {
  EXPECT_TRUE(Rule("override://0.0.0.0/demo.Echo?timeout=1").active());
  EXPECT_FALSE(Rule("override://0.0.0.0/demo.Echo").active());
  EXPECT_FALSE(Rule("override://0.0.0.0/demo.Echo?anyhost=true").active());
  EXPECT_FALSE(Rule("override://0.0.0.0/demo.Echo?enabled=false&timeout=1").active());
  EXPECT_EQ(Applied("override://0.0.0.0/demo.Echo?enabled=false&timeout=1", Consumer()), "1000");
}

TEST(ConfiguratorTest, FaultsNameTheParameterAndHoldNoSecret) {
  const auto message = [](const std::string& text) {
    return std::string(Configurator::FromUrl(Parsed(text)).status().message());
  };
  EXPECT_EQ(message("dubbo://h:1/demo.Echo?a=b"),
            "dubbo://h:1/demo.Echo: neither override:// nor absent://");
  EXPECT_EQ(message("override:///demo.Echo?a=b"), "override:///demo.Echo: no host");
  EXPECT_EQ(message("override://0.0.0.0?a=b"), "override://0.0.0.0/: no service");
  EXPECT_EQ(message("override://h/demo.Echo?configVersion=v2.7&a=b"),
            "override://h/demo.Echo: parameter side: neither provider nor consumer: ''");
  EXPECT_EQ(message("override://h/demo.Echo?side=both&a=b"),
            "override://h/demo.Echo: parameter side: neither provider nor consumer: 'both'");
  EXPECT_EQ(message("override://h/demo.Echo?priority=high&a=b"),
            "override://h/demo.Echo: parameter priority: not a number");
  const std::string secret =
      message("override://me:hunter2@h/demo.Echo?enabled=maybe&password=hunter2");
  EXPECT_TRUE(absl::StrContains(secret, "enabled")) << secret;
  EXPECT_FALSE(absl::StrContains(secret, "hunter2")) << secret;
}

TEST(ConfiguratorTest, ToStringHidesSecrets) {
  const std::string text =
      Rule("override://192.0.2.1:20880/demo.Echo?timeout=5&password=hunter2").ToString();
  EXPECT_TRUE(absl::StrContains(text, "override://192.0.2.1:20880/demo.Echo")) << text;
  EXPECT_TRUE(absl::StrContains(text, "timeout=5")) << text;
  EXPECT_FALSE(absl::StrContains(text, "hunter2")) << text;
}

TEST(ConfiguratorTest, EqualIsWhatDoesTheSame) {
  const std::string text = "override://0.0.0.0/demo.Echo?side=consumer&timeout=5&~env=gray";
  EXPECT_EQ(Rule(text), Rule(text));
  EXPECT_EQ(Rule(text), Rule(text + "&category=configurators"));
  EXPECT_NE(Rule(text), Rule(text + "&retries=1"));
  EXPECT_NE(Rule(text), Rule(text + "&priority=1"));
  EXPECT_NE(Rule(text), Rule(text + "&~zone=east"));
  EXPECT_NE(Rule(text), Rule("absent://0.0.0.0/demo.Echo?side=consumer&timeout=5&~env=gray"));
  EXPECT_NE(Rule("override://h/demo.Echo?a=1"), Rule("override://h:1/demo.Echo?a=1"));
  EXPECT_NE(Rule("override://h/demo.Echo?a=1"), Rule("override://h/demo.Echo2?a=1"));
}

TEST(ConfiguratorTest, AbsentPutsOnlyWhatNobodyHas) {
  EXPECT_EQ(Applied("absent://0.0.0.0/demo.Echo?timeout=5", Consumer()), "1000");
  EXPECT_EQ(Applied("absent://0.0.0.0/demo.Echo?retries=5", Consumer(), "retries"), "5");
  // Nor what the consumer has itself.
  EXPECT_EQ(Applied("absent://0.0.0.0/demo.Echo?zone=west", Consumer(), "zone"), "-");
  EXPECT_EQ(Applied("absent://0.0.0.0/demo.Echo?zone=west", Provider(), "zone"), "west");
}

// 2.6: a host with port is a provider, one without port a consumer.
TEST(ConfiguratorTest, HostsWithoutConfigVersion) {
  struct Case {
    std::string host;
    bool consumer;
    bool provider;
  };
  for (const Case& c : std::vector<Case>{
           {"0.0.0.0", true, true},
           {"192.0.2.7", true, false},
           {"192.0.2.8", false, false},
           {"192.0.2.1", false, false},
           {"192.0.2.1:20880", true, true},
           {"192.0.2.1:20881", false, false},
           {"0.0.0.0:20880", true, true},
           {"192.0.2.7:20880", false, false},
       }) {
    const std::string rule = "override://" + c.host + "/demo.Echo?timeout=5";
    EXPECT_EQ(Applied(rule, Consumer()), c.consumer ? "5" : "1000") << rule;
    EXPECT_EQ(Applied(rule, Provider()), c.provider ? "5" : "1000") << rule;
  }
}

TEST(ConfiguratorTest, SidesWithoutConfigVersion) {
  const std::string any = "override://0.0.0.0/demo.Echo?timeout=5";
  EXPECT_EQ(Applied(any + "&side=consumer", Consumer()), "5");
  EXPECT_EQ(Applied(any + "&side=consumer", Provider()), "1000");
  EXPECT_EQ(Applied(any + "&side=provider", Provider()), "5");
  EXPECT_EQ(Applied(any + "&side=provider", Consumer()), "1000");
  EXPECT_EQ(Applied(any + "&side=provider", Consumer(true)), "5");
  EXPECT_EQ(Applied(any + "&side=*", Consumer()), "5");
}

TEST(ConfiguratorTest, SidesWithConfigVersion) {
  const auto rule = [](const std::string& host, const std::string& side) {
    return "override://" + host + "/demo.Echo?configVersion=v2.7&timeout=5&side=" + side;
  };
  // The consumer's rules look at the consumer's host, without the port.
  EXPECT_EQ(Applied(rule("192.0.2.7", "consumer"), Consumer()), "5");
  EXPECT_EQ(Applied(rule("192.0.2.7:1", "consumer"), Consumer()), "5");
  EXPECT_EQ(Applied(rule("192.0.2.*", "consumer"), Consumer()), "5");
  EXPECT_EQ(Applied(rule("192.0.2.1", "consumer"), Consumer()), "1000");
  EXPECT_EQ(Applied(rule("0.0.0.0", "consumer"), Provider()), "1000");
  // The provider's at the provider's.
  EXPECT_EQ(Applied(rule("192.0.2.1", "provider"), Provider()), "5");
  EXPECT_EQ(Applied(rule("192.0.2.7", "provider"), Provider()), "1000");
  EXPECT_EQ(Applied(rule("192.0.2.1:20881", "provider"), Provider()), "1000");
  // Which act on the consumer only where it is asked for.
  EXPECT_EQ(Applied(rule("192.0.2.1", "provider"), Consumer(false)), "1000");
  EXPECT_EQ(Applied(rule("192.0.2.1", "provider"), Consumer(true)), "5");
  EXPECT_EQ(Applied(rule("192.0.2.7", "provider"), Consumer(true)), "1000");
}

TEST(ConfiguratorTest, AConsumerWithoutHostKnowsRulesForAnyHostAlone) {
  ConfiguratorTarget target = Consumer();
  target.host.clear();
  EXPECT_EQ(Applied("override://0.0.0.0/demo.Echo?timeout=5", target), "5");
  EXPECT_EQ(Applied("override://192.0.2.7/demo.Echo?timeout=5", target), "1000");
}

TEST(ConfiguratorTest, Ipv6Hosts) {
  ConfiguratorTarget target = Consumer();
  target.host = "2001:db8::7";
  EXPECT_EQ(Applied("override://[2001:db8::7]/demo.Echo?timeout=5", target), "5");
  EXPECT_EQ(Applied("override://[2001:db8::8]/demo.Echo?timeout=5", target), "1000");
  EXPECT_EQ(Applied("override://[2001:db8::1]:20880/demo.Echo?timeout=5", target, "timeout",
                    "tri://[2001:db8::1]:20880/demo.Echo?timeout=1000"),
            "5");
}

TEST(ConfiguratorTest, ProviderAddresses) {
  const auto rule = [](const std::string& addresses) {
    return "override://0.0.0.0/demo.Echo?configVersion=v2.7&side=consumer&timeout=5"
           "&providerAddresses=" +
           addresses;
  };
  for (const char* matching :
       {"192.0.2.1:20880", "0.0.0.0", "0.0.0.0:*", "0.0.0.0:20880", "192.0.2.1",
        "192.0.2.9:1,192.0.2.1:20880", "192.0.2.*:20880", " 192.0.2.1 ", ""}) {
    EXPECT_EQ(Applied(rule(matching), Consumer()), "5") << matching;
  }
  for (const char* other :
       {"192.0.2.1:20881", "0.0.0.0:20881", "192.0.2.2", "x", ":", "[", "a/b"}) {
    EXPECT_EQ(Applied(rule(other), Consumer()), "1000") << other;
  }
}

TEST(ConfiguratorTest, ApplicationOfTheOneWhoApplies) {
  const std::string any = "override://0.0.0.0/demo.Echo?timeout=5&application=";
  EXPECT_EQ(Applied(any + "web", Consumer()), "5");
  EXPECT_EQ(Applied(any + "*", Consumer()), "5");
  EXPECT_EQ(Applied(any + "shop", Consumer()), "1000");
  EXPECT_EQ(Applied(any + "shop", Provider()), "5");
  EXPECT_EQ(Applied(any + "web", Provider()), "1000");
  // As old tools wrote it.
  EXPECT_EQ(Applied("override://web@0.0.0.0/demo.Echo?timeout=5", Consumer()), "5");
  EXPECT_EQ(Applied("override://shop@0.0.0.0/demo.Echo?timeout=5", Consumer()), "1000");
}

TEST(ConfiguratorTest, ProviderRulesOnTheConsumerMeanTheProvidersApplication) {
  const std::string rule =
      "override://0.0.0.0/demo.Echo?configVersion=v2.7&side=provider&timeout=5&application=";
  EXPECT_EQ(Applied(rule + "shop", Consumer(true)), "5");
  EXPECT_EQ(Applied(rule + "web", Consumer(true)), "1000");
  ConfiguratorTarget target = Consumer(true);
  target.provider_application = "shop-b";
  EXPECT_EQ(Applied(rule + "shop-b", target), "5");
  EXPECT_EQ(Applied(rule + "shop", target), "1000");
}

TEST(ConfiguratorTest, ServiceKeysAreEqualWithGroupAndVersion) {
  const std::string versioned =
      "tri://192.0.2.1:20880/demo.Echo?group=shop&version=1.0.0&timeout=1000";
  const auto applied = [&](const std::string& path_and_more) {
    return Applied("override://0.0.0.0/" + path_and_more + "&timeout=5", Consumer(), "timeout",
                   versioned);
  };
  EXPECT_EQ(applied("demo.Echo?group=shop&version=1.0.0"), "5");
  EXPECT_EQ(applied("demo.Echo?x=y"), "1000");
  EXPECT_EQ(applied("demo.Echo?version=1.0.0"), "1000");
  EXPECT_EQ(applied("demo.Other?group=shop&version=1.0.0"), "1000");
  EXPECT_EQ(applied("*?x=y"), "5");
  EXPECT_EQ(applied("other?interface=demo.Echo&group=shop&version=1.0.0"), "5");
}

TEST(ConfiguratorTest, ConditionsOnParameters) {
  const auto applied = [](const std::string& condition, const ConfiguratorTarget& target) {
    return Applied("override://0.0.0.0/demo.Echo?timeout=5&" + condition, target) == "5";
  };
  EXPECT_TRUE(applied("~env=gray", Consumer()));
  EXPECT_FALSE(applied("~env=blue", Consumer()));
  EXPECT_TRUE(applied("~none=*", Consumer()));
  EXPECT_FALSE(applied("~none=x", Consumer()));
  EXPECT_FALSE(applied("~none=", Consumer()));
  EXPECT_TRUE(applied("~zone=east", Consumer()));
  EXPECT_FALSE(applied("~zone=east", Provider()));
  EXPECT_TRUE(applied("~side=consumer", Consumer()));
  EXPECT_FALSE(applied("~side=provider", Consumer()));
  EXPECT_TRUE(applied("~application=web", Consumer()));
  EXPECT_TRUE(applied("~application=shop", Provider()));
  EXPECT_FALSE(applied("~env=gray&~zone=west", Consumer()));
}

TEST(ConfiguratorTest, TheConsumersParameterComesBeforeTheProvidersButForFive) {
  ConfiguratorTarget target = Consumer();
  target.parameters["env"] = "blue";
  target.parameters["release"] = "mine";
  const std::string provider = "tri://192.0.2.1:20880/demo.Echo?env=gray&release=theirs";
  const auto applied = [&](const std::string& condition) {
    return Applied("override://0.0.0.0/demo.Echo?timeout=5&" + condition, target, "timeout",
                   provider) == "5";
  };
  EXPECT_TRUE(applied("~env=blue"));
  EXPECT_FALSE(applied("~env=gray"));
  EXPECT_TRUE(applied("~release=theirs"));
  EXPECT_FALSE(applied("~release=mine"));
}

TEST(ItemTest, HostsAndPortsOfAddresses) {
  using configurator_internal::HostOf;
  using configurator_internal::PortOf;
  EXPECT_EQ(HostOf("192.0.2.1:20880"), "192.0.2.1");
  EXPECT_EQ(PortOf("192.0.2.1:20880"), 20880);
  EXPECT_EQ(HostOf("192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(PortOf("192.0.2.1"), 0);
  EXPECT_EQ(HostOf("[2001:db8::1]:20880"), "[2001:db8::1]");
  EXPECT_EQ(PortOf("[2001:db8::1]:20880"), 20880);
  EXPECT_EQ(HostOf("2001:db8::1"), "[2001:db8::1]");
  EXPECT_EQ(HostOf("192.0.2.0/24"), "192.0.2.0/24");
  EXPECT_EQ(HostOf("0.0.0.0:*"), "0.0.0.0");
  EXPECT_EQ(PortOf("0.0.0.0:*"), 0);
  EXPECT_EQ(HostOf("["), "[");
  EXPECT_EQ(HostOf(":"), "");
  EXPECT_EQ(PortOf("h:99999"), 0);
}

}  // namespace
}  // namespace signpost

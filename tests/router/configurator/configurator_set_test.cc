#include "signpost/router/configurator/configurator_set.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/support/kept_log.h"

namespace signpost {
namespace {

Url Parsed(const std::string& text) {
  auto url = Url::Parse(text);
  EXPECT_TRUE(url.ok()) << text << ": " << url.status();
  return url.ok() ? *url : Url();
}

std::vector<Configurator> Rules(const std::vector<std::string>& texts) {
  std::vector<Url> urls;
  for (const std::string& text : texts) urls.push_back(Parsed(text));
  return ConfiguratorsOf(urls);
}

std::vector<Configurator> Rule(const std::string& text) {
  auto rule = ParseConfiguratorRule(text);
  EXPECT_TRUE(rule.ok()) << text << ": " << rule.status();
  return rule.ok() ? *std::move(rule) : std::vector<Configurator>();
}

const ConfiguratorTarget& Consumer() {
  static const auto& target = *new ConfiguratorTarget(
      ConfiguratorTarget::OfConsumer(Parsed("consumer://192.0.2.7/demo.Echo?application=web")));
  return target;
}

const Url& Provider() {
  static const auto& url =
      *new Url(Parsed("tri://192.0.2.1:20880/demo.Echo?application=shop&side=provider&weight=100"));
  return url;
}

std::string Weight(const ConfiguratorSet& set, const Url& url = Provider()) {
  return std::string(set.Apply(url, Consumer()).Get("weight"));
}

TEST(ConfiguratorSetTest, EmptyGivesTheOriginal) {
  const ConfiguratorSet set;
  EXPECT_TRUE(set.empty());
  EXPECT_EQ(set.Apply(Provider(), Consumer()), Provider());
}

TEST(ConfiguratorSetTest, NothingThatAppliesGivesTheOriginal) {
  const ConfiguratorSet set(Rules({"override://192.0.2.99/demo.Echo?weight=1"}), {}, {});
  EXPECT_FALSE(set.empty());
  EXPECT_EQ(set.Apply(Provider(), Consumer()), Provider());
}

TEST(ConfiguratorSetTest, OnlyParametersChange) {
  const ConfiguratorSet set(
      Rules({"override://0.0.0.0/demo.Echo?weight=1&echo.timeout=7&path=x&protocol=y"}), {}, {});
  const Url url = set.Apply(Provider(), Consumer());
  EXPECT_EQ(url.ToIdentityString(), Provider().ToIdentityString());
  EXPECT_EQ(url.GetMethod("echo", "timeout"), "7");
  EXPECT_EQ(url.Get("application"), "shop");
}

// TC-35
TEST(ConfiguratorSetTest, RemovalRestoresExactly) {
  const std::string o1 = "override://0.0.0.0/demo.Echo?weight=200";
  const std::string o2 = "override://0.0.0.0/demo.Echo?timeout=500";
  for (const ConfiguratorTarget& target :
       {Consumer(), ConfiguratorTarget::OfProvider(Provider())}) {
    Url url = ConfiguratorSet(Rules({o1, o2}), {}, {}).Apply(Provider(), target);
    EXPECT_EQ(url.Get("weight"), "200");
    EXPECT_EQ(url.Get("timeout"), "500");
    url = ConfiguratorSet(Rules({o1}), {}, {}).Apply(Provider(), target);
    EXPECT_EQ(url.Get("weight"), "200");
    EXPECT_FALSE(url.Has("timeout"));
    url = ConfiguratorSet(Rules({}), {}, {}).Apply(Provider(), target);
    EXPECT_EQ(url, Provider());
  }
}

// TC-35, where the provider has a value of its own, in what it registers.
TEST(ConfiguratorSetTest, RemovalRestoresTheProvidersOwnValue) {
  const Url provider = Provider().With("timeout", "3000");
  const std::string o1 = "override://0.0.0.0/demo.Echo?side=provider&configVersion=v3.0&weight=200";
  const std::string o2 =
      "override://0.0.0.0/demo.Echo?side=provider&configVersion=v3.0&timeout=500";
  const ConfiguratorTarget target = ConfiguratorTarget::OfProvider(provider);
  const auto registered = [&](const std::vector<std::string>& rules) {
    return ConfiguratorSet(Rules(rules), {}, {}).Apply(provider, target).ToFullString();
  };
  EXPECT_EQ(registered({o1, o2}),
            provider.With("weight", "200").With("timeout", "500").ToFullString());
  EXPECT_EQ(registered({o1}), provider.With("weight", "200").ToFullString());
  EXPECT_TRUE(absl::StrContains(registered({o1}), "timeout=3000"));
  EXPECT_EQ(registered({}), provider.ToFullString());
}

// TC-37. `192.0.2.1` without port is every provider of that host.
TEST(ConfiguratorSetTest, AddressesOfProviderRules) {
  struct Case {
    std::string address;
    std::string weight20880;
    std::string weight20881;
  };
  for (const Case& c : std::vector<Case>{
           {"0.0.0.0:20881", "100", "80"},
           {"192.0.2.1:20881", "100", "80"},
           {"0.0.0.0", "80", "80"},
           {"192.0.2.1", "80", "80"},
           {"192.0.2.2", "100", "100"},
           {"192.0.2.0/24", "80", "80"},
           {"192.0.2.*:20880", "80", "100"},
       }) {
    for (const char* version : {"v2.7", "v3.0"}) {
      const ConfiguratorSet set(
          {}, {},
          Rule(absl::StrCat("configVersion: ", version,
                            "\nkey: demo.Echo\nconfigs:\n- side: ", "provider\n  addresses: ['",
                            c.address, "']\n  parameters: {weight: 80}\n")));
      for (const auto& [port, weight] :
           {std::make_pair("20880", c.weight20880), std::make_pair("20881", c.weight20881)}) {
        const Url url = Parsed(
            absl::StrCat("tri://192.0.2.1:", port, "/demo.Echo?application=shop&weight=100"));
        EXPECT_EQ(set.Apply(url, ConfiguratorTarget::OfProvider(url)).Get("weight"), weight)
            << c.address << " on provider " << port;
        EXPECT_EQ(set.Apply(url, Consumer()).Get("weight"), weight)
            << c.address << " on consumer, " << port;
      }
    }
  }
}

TEST(ConfiguratorSetTest, SourcesLaterOnesWin) {
  const auto registry = Rules({"override://0.0.0.0/demo.Echo?weight=1&a=registry"});
  const auto application = Rules({"override://0.0.0.0/demo.Echo?weight=2&b=application"});
  const auto service = Rules({"override://0.0.0.0/demo.Echo?weight=3&c=service"});
  EXPECT_EQ(Weight(ConfiguratorSet(registry, application, service)), "3");
  EXPECT_EQ(Weight(ConfiguratorSet(registry, application, {})), "2");
  EXPECT_EQ(Weight(ConfiguratorSet(registry, {}, {})), "1");
  const Url url = ConfiguratorSet(registry, application, service).Apply(Provider(), Consumer());
  EXPECT_EQ(url.Get("a"), "registry");
  EXPECT_EQ(url.Get("b"), "application");
  EXPECT_EQ(url.Get("c"), "service");
  // The host orders inside one source alone.
  EXPECT_EQ(
      Weight(ConfiguratorSet(Rules({"override://192.0.2.7/demo.Echo?weight=9"}), application, {})),
      "2");
}

TEST(ConfiguratorSetTest, InsideASourceByHostThenPriorityThenAsTheyCame) {
  const std::string any = "override://0.0.0.0/demo.Echo?weight=";
  const std::string mine = "override://192.0.2.7/demo.Echo?weight=";
  EXPECT_EQ(Weight(ConfiguratorSet(Rules({mine + "1", any + "2"}), {}, {})), "1");
  EXPECT_EQ(Weight(ConfiguratorSet(Rules({any + "1&priority=9", any + "2&priority=-1"}), {}, {})),
            "1");
  EXPECT_EQ(Weight(ConfiguratorSet(Rules({any + "1", any + "2"}), {}, {})), "2");
  // A priority does not lift a rule over those of a later host.
  EXPECT_EQ(Weight(ConfiguratorSet(Rules({mine + "1", any + "2&priority=99"}), {}, {})), "1");
}

TEST(ConfiguratorSetTest, ConditionsSeeWhatWasPutBefore) {
  const ConfiguratorSet set(Rules({"override://0.0.0.0/demo.Echo?env=gray",
                                   "override://192.0.2.7/demo.Echo?~env=gray&weight=1"}),
                            {}, {});
  EXPECT_EQ(Weight(set), "1");
  const ConfiguratorSet absent(
      Rules({"override://0.0.0.0/demo.Echo?retries=1", "absent://192.0.2.7/demo.Echo?retries=2"}),
      {}, {});
  EXPECT_EQ(absent.Apply(Provider(), Consumer()).Get("retries"), "1");
}

TEST(ConfiguratorSetTest, DisabledIsPutAndEnabledIsNot) {
  const ConfiguratorSet set({}, {},
                            Rule("key: demo.Echo\nconfigs:\n- side: consumer\n  parameters: "
                                 "{disabled: true, enabled: false}\n"));
  const Url url = set.Apply(Provider(), Consumer());
  EXPECT_TRUE(*url.GetBool("disabled", false));
  EXPECT_FALSE(url.Has("enabled"));
}

TEST(ConfiguratorSetTest, EqualityKnowsARuleThatChangedNothing) {
  const auto a =
      Rules({"override://192.0.2.7/demo.Echo?weight=1", "override://0.0.0.0/demo.Echo?timeout=2"});
  const auto b = Rules({"override://0.0.0.0/demo.Echo?timeout=2&dynamic=false",
                        "override://192.0.2.7/demo.Echo?weight=1",
                        "override://192.0.2.7/demo.Echo?enabled=false&weight=1"});
  EXPECT_EQ(ConfiguratorSet(a, {}, {}), ConfiguratorSet(b, {}, {}));
  EXPECT_NE(ConfiguratorSet(a, {}, {}), ConfiguratorSet({}, {}, {}));
  EXPECT_NE(ConfiguratorSet(a, {}, {}),
            ConfiguratorSet(Rules({"override://0.0.0.0/demo.Echo?timeout=2"}), {}, {}));
}

TEST(ConfiguratorSetTest, SetsShareTheirSources) {
  const ConfiguratorSet first(Rules({"override://0.0.0.0/demo.Echo?weight=1"}), {}, {});
  const ConfiguratorSet second(first.sources());
  EXPECT_EQ(first, second);
  EXPECT_TRUE(first.sources() == second.sources());
  EXPECT_EQ(Weight(second), "1");
  EXPECT_EQ(second.configurators().size(), 1u);
  EXPECT_EQ(ConfiguratorSet(), ConfiguratorSet({}, {}, {}));
  EXPECT_TRUE(ConfiguratorSet().sources() == ConfiguratorSet().sources());
}

TEST(ConfiguratorSetTest, AConsumersOwnUrl) {
  ConfiguratorTarget target = Consumer();
  target.provider_rules = false;
  const Url own = Parsed("consumer://192.0.2.7/demo.Echo?application=web");
  const ConfiguratorSet set(
      {}, {},
      Rule(
          "key: demo.Echo\nconfigs:\n"
          "- {side: consumer, parameters: {loadbalance: leastactive}}\n"
          "- {side: provider, parameters: {threads: 5}}\n"
          "- {side: consumer, providerAddresses: ['192.0.2.1:20880'], parameters: {weight: 5}}\n"));
  const Url url = set.Apply(own, target);
  EXPECT_EQ(url.Get("loadbalance"), "leastactive");
  EXPECT_FALSE(url.Has("threads"));
  EXPECT_FALSE(url.Has("weight"));
}

TEST(ConfiguratorsOfTest, EmptyClears) {
  EXPECT_EQ(Rules({"override://0.0.0.0/demo.Echo?weight=1"}).size(), 1u);
  EXPECT_TRUE(Rules({"override://0.0.0.0/demo.Echo?weight=1",
                     "empty://192.0.2.7/demo.Echo?category=configurators"})
                  .empty());
}

TEST(ConfiguratorsOfTest, WhatCannotBeReadIsLeftOutAndTold) {
  KeptLog log;
  std::vector<Url> urls = {
      Parsed("override://0.0.0.0/demo.Echo?enabled=perhaps&password=hunter2&a=b"),
      Parsed("route://0.0.0.0/demo.Echo?a=b"), Parsed("override://0.0.0.0/demo.Echo?weight=1")};
  std::vector<std::string> unreadable;
  EXPECT_EQ(ConfiguratorsOf(urls, &unreadable).size(), 1u);
  ASSERT_EQ(unreadable.size(), 2u);
  EXPECT_TRUE(absl::StrContains(unreadable[0], "enabled=perhaps")) << unreadable[0];
  EXPECT_FALSE(absl::StrContains(unreadable[0], "hunter2")) << unreadable[0];
  EXPECT_TRUE(absl::StrContains(unreadable[1], "route://0.0.0.0/demo.Echo")) << unreadable[1];
  urls.push_back(Parsed("empty://0.0.0.0/demo.Echo"));
  EXPECT_TRUE(ConfiguratorsOf(urls, &unreadable).empty());
  EXPECT_TRUE(unreadable.empty());
  EXPECT_EQ(log.text(), "");
}

TEST(ConfiguratorsOfTest, AValueThatNobodyCanReadIsTold) {
  const std::vector<Url> urls = {
      Parsed("override://0.0.0.0/demo.Echo?disabled=yes&password=hunter2"),
      Parsed("override://0.0.0.0/demo.Echo?weight=5x"),
      Parsed("override://0.0.0.0/demo.Echo?disabled=TRUE&weight=-5&timeout=soon"),
      // Nothing is put.
      Parsed("override://0.0.0.0/demo.Echo?enabled=false&weight=5x")};
  std::vector<std::string> unreadable;
  EXPECT_EQ(ConfiguratorsOf(urls, &unreadable).size(), 3u);
  ASSERT_EQ(unreadable.size(), 2u);
  EXPECT_TRUE(absl::StrContains(unreadable[0], "override://0.0.0.0/demo.Echo")) << unreadable[0];
  EXPECT_TRUE(absl::StrContains(unreadable[0], "disabled='yes' is neither true nor false"));
  EXPECT_TRUE(absl::StrContains(unreadable[1], "weight='5x' is not a whole number"));
  EXPECT_FALSE(absl::StrContains(unreadable[0], "hunter2"));
}

}  // namespace
}  // namespace signpost

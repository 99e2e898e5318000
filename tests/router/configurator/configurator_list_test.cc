#include "signpost/router/configurator/configurator_list.h"

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "signpost/common/url.h"
#include "signpost/router/configurator/configurator_item.h"
#include "signpost/router/configurator/configurator_set.h"

namespace signpost::configurator_internal {
namespace {

Url Parsed(const std::string& text) {
  auto url = Url::Parse(text);
  EXPECT_TRUE(url.ok()) << text << ": " << url.status();
  return url.ok() ? *url : Url();
}

std::vector<Configurator> Rule(const std::string& text) {
  auto rule = ParseConfiguratorRule(text);
  EXPECT_TRUE(rule.ok()) << text << ": " << rule.status();
  return rule.ok() ? *std::move(rule) : std::vector<Configurator>();
}

std::vector<Configurator> OfAddresses(const std::vector<std::string>& addresses,
                                      const std::string& side = "consumer",
                                      const std::string& parameters = "a: b") {
  return Rule(absl::StrCat("key: demo.Echo\nconfigs:\n- {side: ", side, ", parameters: {",
                           parameters, "}, addresses: ['", absl::StrJoin(addresses, "', '"),
                           "']}\n"));
}

std::vector<std::string> Hosts(const std::vector<const Configurator*>& configurators) {
  std::vector<std::string> hosts;
  for (const Configurator* one : configurators) hosts.push_back(one->host());
  return hosts;
}

TEST(ConfiguratorListTest, None) {
  EXPECT_TRUE(ConfiguratorList::None()->empty());
  EXPECT_EQ(ConfiguratorList::None().get(), ConfiguratorList::None().get());
  EXPECT_TRUE(ConfiguratorList::None()->ForHosts("192.0.2.1", "").empty());
  EXPECT_EQ(*ConfiguratorList::None(), ConfiguratorList(std::vector<Configurator>()));
}

TEST(ConfiguratorListTest, WhatIsNotActiveIsLeftOut) {
  std::vector<Configurator> rules = OfAddresses({"192.0.2.1"});
  rules.push_back(*Configurator::FromUrl(Parsed("override://0.0.0.0/demo.Echo?enabled=false&a=b")));
  EXPECT_EQ(ConfiguratorList(rules).configurators().size(), 1u);
}

TEST(ConfiguratorListTest, ForHostsGivesTheHostsAndAllThatIsNoPlainAddressInOrder) {
  const ConfiguratorList list(
      OfAddresses({"192.0.2.9", "192.0.2.1:20880", "h", "192.0.2.1", "192.0.2.*", "0.0.0.0",
                   "[2001:db8::1]:1", "192.0.2.0/24", "192.0.2.001", "10.0.0.1"}));
  using Texts = std::vector<std::string>;
  const Texts others = {"0.0.0.0",     "192.0.2.*",     "192.0.2.0/24",
                        "192.0.2.001", "[2001:db8::1]", "h"};
  EXPECT_EQ(Hosts(list.ForHosts("198.51.100.1", "h")), others);
  EXPECT_EQ(Hosts(list.ForHosts("192.0.2.1", "10.0.0.1")),
            (Texts{"0.0.0.0", "10.0.0.1", "192.0.2.*", "192.0.2.0/24", "192.0.2.001", "192.0.2.1",
                   "192.0.2.1", "[2001:db8::1]", "h"}));
  EXPECT_EQ(list.ForHosts("192.0.2.9", "192.0.2.9").size(), others.size() + 1);
  EXPECT_EQ(list.ForHosts("[192.0.2.9]", "").size(), others.size() + 1);
}

TEST(ConfiguratorListTest, OneAddressOfManyIsFoundWithoutLookingAtTheOthers) {
  std::vector<std::string> addresses;
  for (int i = 0; i < 30000; ++i) {
    addresses.push_back(absl::StrCat("10.", i / 65536, ".", i / 256 % 256, ".", i % 256));
  }
  const ConfiguratorList list(OfAddresses(addresses));
  EXPECT_EQ(Hosts(list.ForHosts("10.0.1.2", "192.0.2.7")), std::vector<std::string>{"10.0.1.2"});
  EXPECT_TRUE(list.ForHosts("10.9.1.2", "192.0.2.7").empty());
}

TEST(ConfiguratorListTest, EqualByWhatTheyDo) {
  const auto list = [](const std::vector<std::string>& addresses, const std::string& parameters) {
    return std::make_shared<const ConfiguratorList>(OfAddresses(addresses, "consumer", parameters));
  };
  const auto a = list({"192.0.2.1", "192.0.2.2"}, "a: b");
  EXPECT_EQ(*a, *a);
  EXPECT_EQ(*a, *list({"192.0.2.2", "192.0.2.1"}, "a: 'b'"));
  EXPECT_NE(*a, *list({"192.0.2.1"}, "a: b"));
  EXPECT_NE(*a, *list({"192.0.2.1", "192.0.2.3"}, "a: b"));
  EXPECT_NE(*a, *list({"192.0.2.1", "192.0.2.2:1"}, "a: b"));
  EXPECT_NE(*a, *list({"192.0.2.1", "192.0.2.2"}, "a: c"));
  // Each address with its own item.
  const std::string both =
      "key: demo.Echo\nconfigs:\n- {side: consumer, addresses: [a, c], parameters: {x: y}}\n- "
      "{side: consumer, addresses: [b, d], parameters: {x: z}}\n";
  const std::string crossed =
      "key: demo.Echo\nconfigs:\n- {side: consumer, addresses: [a, d], parameters: {x: y}}\n- "
      "{side: consumer, addresses: [b, c], parameters: {x: z}}\n";
  EXPECT_EQ(ConfiguratorList(Rule(both)), ConfiguratorList(Rule(both)));
  EXPECT_NE(ConfiguratorList(Rule(both)), ConfiguratorList(Rule(crossed)));
}

// What ForHosts leaves out would not have applied.
TEST(ConfiguratorListTest, ApplyingFewIsApplyingAll) {
  const std::vector<std::string> addresses = {"0.0.0.0",
                                              "0.0.0.0:20880",
                                              "*",
                                              "192.0.2.1",
                                              "192.0.2.1:20880",
                                              "192.0.2.2",
                                              "192.0.2.*",
                                              "192.0.2.1-2",
                                              "192.0.2.001",
                                              "192.0.2.0/31",
                                              "192.0.2.2:*",
                                              "h",
                                              "H",
                                              "2001:db8:0::1",
                                              "[2001:db8::1]:20880",
                                              "2001:db8:*",
                                              "192.0.2.1:",
                                              "192.0.2",
                                              "192.0.2.1:20881",
                                              "::ffff:192.0.2.1",
                                              "192.0.2.999",
                                              "192.0.2.1.",
                                              "0192.0.2.1",
                                              "[192.0.2.1]:20880",
                                              "192.0.2.2:20881"};
  const std::vector<std::string> hosts = {"192.0.2.1",     "192.0.2.2",          "h",
                                          "[2001:db8::1]", "[::ffff:192.0.2.1]", "192.0.2.001"};
  std::mt19937 random(20240707);
  const auto pick = [&](const std::vector<std::string>& from) {
    return from[random() % from.size()];
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<Configurator> rules;
    for (int item = 0; item < 4; ++item) {
      const std::string side = random() % 2 == 0 ? "provider" : "consumer";
      for (Configurator& one :
           OfAddresses({pick(addresses), pick(addresses), pick(addresses)}, side,
                       absl::StrCat("k", random() % 3, ": ", round, "-", item))) {
        rules.push_back(std::move(one));
      }
      const auto url = Url::Parse(
          absl::StrCat("override://", pick({"192.0.2.1", "192.0.2.2:20880", "0.0.0.0", "h"}),
                       "/demo.Echo?k", random() % 3, "=url-", item));
      rules.push_back(*Configurator::FromUrl(*url));
    }
    const ConfiguratorSet set(rules, {}, {});
    for (const std::string& host : hosts) {
      const Url url = Parsed(absl::StrCat("tri://", host, ":20880/demo.Echo"));
      ConfiguratorTarget target;
      target.side = random() % 2 == 0 ? ConfiguratorTarget::Side::kConsumer
                                      : ConfiguratorTarget::Side::kProvider;
      target.host = pick(hosts);
      Application all(url, target);
      const std::vector<Configurator> configurators = set.configurators();
      for (const Configurator& one : configurators) all.Put(one);
      EXPECT_EQ(set.Apply(url, target), all.Result()) << round << " " << host;
    }
  }
}

}  // namespace
}  // namespace signpost::configurator_internal

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "signpost/router/configurator/configurator.h"
#include "signpost/router/configurator/configurator_set.h"

namespace signpost {
namespace {

std::string Capture(const std::string& name) {
  std::ifstream file(absl::StrCat("tests/interop/captures/rules/", name, ".yaml"));
  EXPECT_TRUE(file.good()) << name;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

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

std::string Fault(const std::string& text) {
  const auto rule = ParseConfiguratorRule(text);
  EXPECT_FALSE(rule.ok()) << text;
  EXPECT_EQ(rule.ok() ? absl::StatusCode::kInvalidArgument : rule.status().code(),
            absl::StatusCode::kInvalidArgument);
  return std::string(rule.status().message());
}

// A rule of one item for demo.Echo; `item` in YAML's flow style.
std::string OneItem(const std::string& item, const std::string& head = "") {
  return absl::StrCat("configVersion: v3.0\nkey: demo.Echo\n", head, "configs:\n- {", item, "}\n");
}

Url Apply(const std::string& rule, const std::string& url, const ConfiguratorTarget& target) {
  return ConfiguratorSet({}, {}, Rule(rule)).Apply(Parsed(url), target);
}

ConfiguratorTarget Consumer(const std::string& app = "demo-consumer") {
  ConfiguratorTarget target;
  target.application = app;
  target.host = "192.0.2.7";
  return target;
}

const char kGreeting[] = "tri://127.0.0.1:20881/demo.GreetingService?application=demo-provider";
const char kOther[] = "tri://127.0.0.1:20882/demo.GreetingService?application=demo-provider";
const char kEcho[] = "tri://192.0.2.1:20880/demo.Echo?application=shop";

// What live Java consumers made of the same texts.
TEST(CaptureTest, ServiceRule) {
  const std::string rule = Capture("configurator-service");
  for (const char* url : {kGreeting, kOther}) {
    EXPECT_EQ(Apply(rule, url, Consumer()).Get("timeout"), "4321");
    EXPECT_EQ(Apply(rule, url, Consumer()).Get("loadbalance"), "leastactive");
  }
  EXPECT_EQ(Apply(rule, kEcho, Consumer()), Parsed(kEcho));
}

TEST(CaptureTest, OneAddressInV30AndV27) {
  EXPECT_EQ(Apply(Capture("configurator-address"), kGreeting, Consumer()).Get("weight"), "5");
  EXPECT_EQ(Apply(Capture("configurator-address"), kOther, Consumer()), Parsed(kOther));
  EXPECT_EQ(Apply(Capture("configurator-address-v27"), kGreeting, Consumer()).Get("weight"), "7");
  EXPECT_EQ(Apply(Capture("configurator-address-v27"), kOther, Consumer()), Parsed(kOther));
}

TEST(CaptureTest, OneAddressDisabled) {
  const std::string rule = Capture("configurator-disable");
  EXPECT_EQ(Apply(rule, kGreeting, Consumer()).Get("disabled"), "true");
  EXPECT_FALSE(Apply(rule, kOther, Consumer()).Has("disabled"));
}

TEST(CaptureTest, ApplicationRuleIsForThatConsumer) {
  const std::string rule = Capture("configurator-application");
  EXPECT_EQ(Apply(rule, kGreeting, Consumer()).Get("timeout"), "6543");
  EXPECT_EQ(Apply(rule, kEcho, Consumer()).Get("timeout"), "6543");
  EXPECT_FALSE(Apply(rule, kEcho, Consumer("another")).Has("timeout"));
}

TEST(CaptureTest, GroupAndVersionStandInTheKey) {
  const std::string order =
      "tri://127.0.0.1:20881/demo.OrderService?group=shop&version=1.0.0&application=demo-provider";
  EXPECT_EQ(Apply(Capture("configurator-order"), order, Consumer()).Get("timeout"), "7777");
  EXPECT_FALSE(Apply(Capture("configurator-order"),
                     "tri://127.0.0.1:20881/demo.OrderService?version=1.0.0", Consumer())
                   .Has("timeout"));
}

TEST(ConfiguratorRuleTest, AddressesAreTheConsumersOnTheConsumersSide) {
  for (const char* where : {"addresses: ['192.0.2.7']", "match: {address: {exact: 192.0.2.7}}",
                            "match: {address: {cird: 192.0.2.0/24}}"}) {
    EXPECT_EQ(Apply(OneItem(absl::StrCat("side: consumer, parameters: {timeout: 5}, ", where)),
                    kEcho, Consumer())
                  .Get("timeout"),
              "5")
        << where;
  }
  for (const char* where : {"addresses: ['192.0.2.1']", "addresses: ['192.0.2.1:20880']",
                            "match: {address: {exact: 192.0.2.1}}"}) {
    EXPECT_FALSE(Apply(OneItem(absl::StrCat("side: consumer, parameters: {timeout: 5}, ", where)),
                       kEcho, Consumer())
                     .Has("timeout"))
        << where;
  }
}

TEST(ConfiguratorRuleTest, ApplicationsOfAServiceRule) {
  const std::string rule =
      OneItem("side: consumer, applications: [a, b], parameters: {timeout: 5}");
  EXPECT_EQ(Apply(rule, kEcho, Consumer("a")).Get("timeout"), "5");
  EXPECT_EQ(Apply(rule, kEcho, Consumer("b")).Get("timeout"), "5");
  EXPECT_FALSE(Apply(rule, kEcho, Consumer("c")).Has("timeout"));
}

TEST(ConfiguratorRuleTest, ServicesOfAnApplicationRule) {
  const std::string rule =
      "scope: application\nkey: web\nconfigs:\n- {side: consumer, services: ['g/demo.Echo:1', "
      "demo.Order], parameters: {timeout: 5}}\n";
  EXPECT_EQ(Apply(rule, "tri://h:1/demo.Echo?group=g&version=1", Consumer("web")).Get("timeout"),
            "5");
  EXPECT_EQ(Apply(rule, "tri://h:1/demo.Order", Consumer("web")).Get("timeout"), "5");
  EXPECT_FALSE(Apply(rule, "tri://h:1/demo.Echo", Consumer("web")).Has("timeout"));
  EXPECT_FALSE(Apply(rule, "tri://h:1/demo.Order", Consumer("other")).Has("timeout"));
}

TEST(ConfiguratorRuleTest, AllPartsOfAMatch) {
  const std::string rule = OneItem(
      "side: consumer, parameters: {timeout: 5}, match: {service: {oneof: [{exact: demo.Echo}]}, "
      "app: {oneof: [{regex: 'demo-.*'}]}, param: [{key: env, value: {exact: gray}}]}");
  EXPECT_EQ(Apply(rule, absl::StrCat(kEcho, "&env=gray"), Consumer()).Get("timeout"), "5");
  EXPECT_FALSE(Apply(rule, absl::StrCat(kEcho, "&env=blue"), Consumer()).Has("timeout"));
  EXPECT_FALSE(Apply(rule, absl::StrCat(kEcho, "&env=gray"), Consumer("web")).Has("timeout"));
}

TEST(ConfiguratorRuleTest, ValuesAreTakenAsTheyAre) {
  const Url url = Apply(
      OneItem("side: consumer, parameters: {a: 'x&y=z;w', b: 007, c: 1.10, d: true, e: 'q?#%26', "
              "echo.timeout: 5, f: ''}"),
      kEcho, Consumer());
  EXPECT_EQ(url.Get("a"), "x&y=z;w");
  EXPECT_EQ(url.Get("b"), "007");
  EXPECT_EQ(url.Get("c"), "1.10");
  EXPECT_EQ(url.Get("d"), "true");
  EXPECT_EQ(url.Get("e"), "q?#%26");
  EXPECT_EQ(url.Get("f", "gone"), "gone");
  EXPECT_FALSE(url.Has("y"));
  EXPECT_EQ(url.GetMethod("echo", "timeout"), "5");
}

TEST(ConfiguratorRuleTest, BooleansAreYaml11sAsInJava) {
  const Url url = Apply(OneItem("side: consumer, parameters: {a: yes, b: On, c: NO, d: off, e: "
                                "False, f: 'yes', g: \"on\", h: yEs, i: y}"),
                        kEcho, Consumer());
  for (const char* key : {"a", "b"}) EXPECT_EQ(url.Get(key), "true") << key;
  for (const char* key : {"c", "d", "e"}) EXPECT_EQ(url.Get(key), "false") << key;
  EXPECT_EQ(url.Get("f"), "yes");
  EXPECT_EQ(url.Get("g"), "on");
  EXPECT_EQ(url.Get("h"), "yEs");
  EXPECT_EQ(url.Get("i"), "y");
  EXPECT_TRUE(Rule(OneItem("side: consumer, parameters: {a: b}", "enabled: Off\n")).empty());
  EXPECT_EQ(Rule(OneItem("side: consumer, parameters: {a: b}", "enabled: 'yes'\n")).size(), 1u);
  // Where a name is asked for, none.
  const std::string fault = "true or false, as YAML reads it without quotes; not a text";
  EXPECT_EQ(Fault(OneItem("side: consumer, parameters: {a: b}, applications: [web, no]")),
            "configs[0].applications[1]: " + fault);
  EXPECT_EQ(Fault(OneItem("side: on, parameters: {a: b}")), "configs[0].side: " + fault);
  EXPECT_EQ(Rule(OneItem("side: consumer, parameters: {a: b}, applications: ['no']")).size(), 1u);
}

TEST(ConfiguratorRuleTest, ConditionsPriorityAndOwnWordsInParameters) {
  const auto rule = Rule(
      OneItem("side: consumer, parameters: {~env: gray, priority: 7, group: g, script: x, rule: y, "
              "timeout: 5}"));
  ASSERT_EQ(rule.size(), 1u);
  EXPECT_EQ(rule[0].priority(), 7);
  EXPECT_EQ(rule[0].parameters(), (Url::Parameters{{"script", "x"}, {"timeout", "5"}}));
  const ConfiguratorSet set({}, {}, rule);
  EXPECT_FALSE(set.Apply(Parsed(kEcho), Consumer()).Has("timeout"));
  EXPECT_TRUE(set.Apply(Parsed(absl::StrCat(kEcho, "&env=gray")), Consumer()).Has("timeout"));
}

// Java writes the rule's own `enabled` behind the parameters, where it counts instead.
TEST(ConfiguratorRuleTest, EnabledAmongTheParametersDoesNothing) {
  for (const char* value : {"true", "false"}) {
    const auto rule = Rule(
        OneItem(absl::StrCat("side: consumer, parameters: {timeout: 5, enabled: ", value, "}")));
    ASSERT_EQ(rule.size(), 1u);
    EXPECT_EQ(rule[0].parameters(), (Url::Parameters{{"timeout", "5"}}));
  }
  EXPECT_TRUE(Rule(OneItem("side: consumer, parameters: {enabled: false}")).empty());
}

TEST(ConfiguratorRuleTest, OneConfiguratorForEachAddress) {
  const auto rule = Rule(OneItem(
      "side: consumer, addresses: ['192.0.2.1', 192.0.2.2], applications: [a, b], parameters: {a: "
      "b}"));
  ASSERT_EQ(rule.size(), 2u);
  EXPECT_EQ(rule[0].host(), "192.0.2.1");
  EXPECT_EQ(rule[1].host(), "192.0.2.2");
}

TEST(ConfiguratorRuleTest, NotEnabledGivesNone) {
  const std::string item = "side: consumer, parameters: {a: b}";
  EXPECT_EQ(Rule(OneItem(item, "enabled: true\n")).size(), 1u);
  EXPECT_EQ(Rule(OneItem(item, "enabled: yes\n")).size(), 1u);
  EXPECT_TRUE(Rule(OneItem(item, "enabled: false\n")).empty());
  EXPECT_TRUE(Rule(OneItem(item, "enabled: 'False'\n")).empty());
  // Switching a rule off works also when it is broken.
  EXPECT_TRUE(Rule(OneItem("side: nowhere", "enabled: false\n")).empty());
  EXPECT_TRUE(Rule("enabled: false\nkey: demo.Echo\n").empty());
}

TEST(ConfiguratorRuleTest, ItemsOfOtherTypesHaveTheirOwnSwitch) {
  const std::string item = "side: consumer, parameters: {weight: 1}, type: ";
  EXPECT_EQ(Rule(OneItem(item + "general, enabled: false")).size(), 1u);
  EXPECT_EQ(Rule(OneItem(item + "weight, enabled: true")).size(), 1u);
  EXPECT_TRUE(Rule(OneItem(item + "weight, enabled: false")).empty());
  EXPECT_TRUE(Rule(OneItem(item + "weight")).empty());
  EXPECT_EQ(Rule(OneItem(item + "weight, enabled: true", "enabled: false\n")).size(), 1u);
}

TEST(ConfiguratorRuleTest, NothingButBlanksAndCommentsIsNoRule) {
  EXPECT_TRUE(Rule("").empty());
  EXPECT_TRUE(Rule("\n  \n# key: demo.Echo\n").empty());
  EXPECT_TRUE(Rule("---\n").empty());
  EXPECT_TRUE(Rule("key: demo.Echo\nconfigs: []\n").empty());
}

TEST(ConfiguratorRuleTest, VersionsAreKnownOrAFault) {
  for (const char* version : {"", "configVersion: v2.7\n", "configVersion: v3.0\n",
                              "configVersion: 3.0\n", "configVersion: v3.1\n"}) {
    EXPECT_EQ(Rule(absl::StrCat(version, "key: demo.Echo\nconfigs: [{side: consumer, parameters: ",
                                "{a: b}}]\n"))
                  .size(),
              1u)
        << version;
  }
  EXPECT_EQ(Fault("configVersion: v9\nkey: a\nconfigs: []"),
            "configVersion: neither v2 nor v3: 'v9'");
}

TEST(ConfiguratorRuleTest, JsonArrayOfUrls) {
  const auto rule = Rule(
      R"( ["override://0.0.0.0/demo.Echo?category=configurators&timeout=5",
           "absent://192.0.2.7/demo.Echo?configVersion=v2.7&side=consumer&retries=1",
           "override://0.0.0.0/demo.Echo?enabled=false&a=b"])");
  ASSERT_EQ(rule.size(), 2u);
  const Url url = ConfiguratorSet({}, {}, rule).Apply(Parsed(kEcho), Consumer());
  EXPECT_EQ(url.Get("timeout"), "5");
  EXPECT_EQ(url.Get("retries"), "1");
  EXPECT_TRUE(Rule("[]").empty());
  EXPECT_TRUE(
      Rule(R"(["override://0.0.0.0/demo.Echo?timeout=5", "empty://0.0.0.0/demo.Echo"])").empty());
}

TEST(ConfiguratorRuleTest, FaultsNameThePlace) {
  EXPECT_EQ(Fault("just text"), "rule: neither a map nor a list of URLs");
  EXPECT_EQ(Fault("key: a\nconfigs: []\n---\nkey: b\n"), "rule: more than one document");
  EXPECT_EQ(Fault("configs: []"), "key: missing");
  EXPECT_EQ(Fault("key: [a]\nconfigs: []"), "key: not a text");
  EXPECT_TRUE(absl::StartsWith(Fault("key: 'a b'\nconfigs: []"), "key: "));
  EXPECT_EQ(Fault("key: a\nscope: global\nconfigs: []"),
            "scope: neither service nor application: 'global'");
  EXPECT_EQ(Fault("key: a\nenabled: perhaps\nconfigs: []"), "enabled: neither true nor false");
  EXPECT_EQ(Fault("key: a\n"), "configs: missing, or not a list");
  EXPECT_EQ(Fault("key: a\nconfigs: {}\n"), "configs: missing, or not a list");
  EXPECT_EQ(Fault("key: a\nconfigs: [x]\n"), "configs[0]: not a map");
  EXPECT_EQ(Fault("configVersion: {}\nkey: a\nconfigs: []\n"), "configVersion: not a text");
}

TEST(ConfiguratorRuleTest, FaultsOfItemsNameThePlace) {
  const std::string good = "side: consumer, parameters: {a: b}";
  EXPECT_EQ(Fault(OneItem("parameters: {a: b}")),
            "configs[0].side: neither provider nor consumer: ''");
  EXPECT_EQ(Fault(OneItem("side: consumer")), "configs[0].parameters: at least one is needed");
  EXPECT_EQ(Fault(OneItem("side: consumer, parameters: {}")),
            "configs[0].parameters: at least one is needed");
  EXPECT_EQ(Fault(OneItem("side: consumer, parameters: x")), "configs[0].parameters: not a map");
  EXPECT_EQ(Fault(OneItem("side: consumer, parameters: {timeout: }")),
            "configs[0].parameters.timeout: no value, or no text");
  EXPECT_EQ(Fault(OneItem("side: consumer, parameters: {timeout: [1]}")),
            "configs[0].parameters.timeout: no value, or no text");
  EXPECT_EQ(Fault(OneItem("side: consumer, parameters: {a: b, priority: x}")),
            "configs[0].parameters.priority: not a number");
  EXPECT_EQ(Fault(OneItem(good + ", addresses: x")), "configs[0].addresses: not a list");
  EXPECT_EQ(Fault(OneItem(good + ", addresses: [a, '']")),
            "configs[0].addresses[1]: empty, or not a text");
  EXPECT_EQ(Fault(OneItem(good + ", providerAddresses: [{}]")),
            "configs[0].providerAddresses[0]: empty, or not a text");
  EXPECT_EQ(Fault(OneItem(good + ", applications: x")), "configs[0].applications: not a list");
  EXPECT_EQ(Fault(OneItem(good + ", match: {adress: {exact: a}}")),
            "configs[0].match: unknown key 'adress'");
  EXPECT_EQ(Fault(OneItem(good + "}\n- {" + good + ", type: weight, enabled: maybe")),
            "configs[1].enabled: neither true nor false");
  EXPECT_TRUE(absl::StartsWith(
      Fault("scope: application\nkey: web\nconfigs: [{" + good + ", services: [a, 'b c']}]"),
      "configs[0].services[1]: "));
}

TEST(ConfiguratorRuleTest, AMatchThatJavaWouldLeaveOutIsAFault) {
  EXPECT_EQ(Fault("configVersion: v2.7\nkey: a\nconfigs: [{side: consumer, parameters: {a: b}, "
                  "match: {address: {exact: h}}}]"),
            "configs[0].match: needs configVersion v3.0");
}

TEST(ConfiguratorRuleTest, FaultsOfTheTextNameTheLine) {
  EXPECT_TRUE(absl::StrContains(Fault("key: a\nconfigs:\n- {side: consumer\n"), "line"));
  EXPECT_TRUE(absl::StrContains(Fault("key: a\nkey: b\n"), "line 2"));
  EXPECT_TRUE(absl::StartsWith(Fault(R"(["override://0.0.0.0/demo.Echo?a=b", 5])"), "[1]: "));
  EXPECT_TRUE(absl::StartsWith(Fault(R"(["nonsense"])"), "[0]: "));
  EXPECT_TRUE(absl::StartsWith(Fault(R"(["dubbo://h/demo.Echo?a=b"])"), "[0]: dubbo://h/"));
  Fault(R"(["override://)");
}

TEST(ConfiguratorRuleTest, NoFaultHoldsASecret) {
  EXPECT_FALSE(absl::StrContains(
      Fault(OneItem("side: consumer, parameters: {password: hunter2, timeout: }")), "hunter2"));
  EXPECT_FALSE(absl::StrContains(
      Fault(R"(["override://me:hunter2@0.0.0.0/demo.Echo?enabled=x&password=hunter2"])"),
      "hunter2"));
}

// Whatever the text, it is a rule or a fault, and a rule can be applied.
void Survives(const std::string& text) {
  const auto rule = ParseConfiguratorRule(text);
  if (!rule.ok()) {
    EXPECT_EQ(rule.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_FALSE(rule.status().message().empty()) << text;
    return;
  }
  const ConfiguratorSet set(*rule, *rule, *rule);
  for (const Configurator& configurator : set.configurators()) configurator.ToString();
  for (const char* url : {kGreeting, kEcho}) {
    set.Apply(Parsed(url), Consumer());
    set.Apply(Parsed(url), ConfiguratorTarget::OfProvider(Parsed(url)));
  }
}

TEST(HostileRuleTest, TableOfTexts) {
  for (const std::string& text : std::vector<std::string>{
           "\0",
           std::string("key: a\0b\nconfigs: []", 20),
           "\xff\xfe",
           "- a\n- b\n",
           "5",
           "null",
           "~",
           "{}",
           "[",
           "]",
           "}",
           "{",
           "[{}]",
           "[null]",
           "[[[]]]",
           "[\"\"]",
           "[\"://\"]",
           "[\"override://\"]",
           "[\"override:///\"]",
           "[\"override://[/x?a=b\"]",
           "[\"override://:/x?a=b\"]",
           "[\"override://0.0.0.0:99999/x?a=b\"]",
           "[\"override://0.0.0.0/?a=b\"]",
           "[\"override://0.0.0.0/x?=&=&~=&~\"]",
           "[\"override://0.0.0.0/x?~=a&b=c\"]",
           "[\"absent://*/*?a=\"]",
           "key: a\nconfigs: &x [*x]\n",
           "key: a\nconfigs: !!set {a}\n",
           "? a\n: b\n",
           "key: *\nconfigs: []\n",
           "key: '*'\nconfigs: [{side: provider, parameters: {'': x}}]",
           "key: a\nconfigs: [{side: provider, parameters: {'~': x}}]",
           "key: a\nconfigs: [{side: provider, addresses: ['[', ':', '/', '::', '*:*', '[]:1', "
           "'0.0.0.0:', '999.1.1.1/99'], parameters: {a: b}}]",
           "key: a/b/c:d:e\nconfigs: []\n",
           "key: ':'\nconfigs: []\n",
           "key: '/'\nconfigs: []\n",
           "scope: application\nkey: '*'\nconfigs: [{side: consumer, services: ['*'], parameters: "
           "{a: b}}]",
           "%YAML 9.9\n---\nkey: a\n",
           "key: a\n\tconfigs: []",
           "\r\n\r\n",
           "--- \n--- \n"}) {
    SCOPED_TRACE(text);
    Survives(text);
  }
}

TEST(HostileRuleTest, ChangedCaptures) {
  std::vector<std::string> seeds = {
      R"(["override://0.0.0.0/demo.Echo?category=configurators&~env=gray&timeout=5"])",
      OneItem("side: provider, addresses: ['192.0.2.*:20880'], match: {providerAddress: {cird: "
              "192.0.2.0/24}, app: {oneof: [{regex: 'a.*'}]}, param: [{key: env, value: {noempty: "
              "true}}]}, parameters: {weight: 5, priority: 1}"),
  };
  for (const auto& entry : std::filesystem::directory_iterator("tests/interop/captures/rules")) {
    if (absl::StartsWith(entry.path().filename().string(), "configurator-")) {
      seeds.push_back(Capture(entry.path().stem().string()));
    }
  }
  ASSERT_GE(seeds.size(), 8u);
  std::mt19937 random(20240611);
  const auto below = [&](size_t n) { return random() % n; };
  const std::string spice = "[]{}:,-&*!|>'\"%@`#?~\n\t \x01\xff\x80/=";
  for (int round = 0; round < 3000; ++round) {
    std::string text = seeds[below(seeds.size())];
    for (size_t change = 0; change <= below(4); ++change) {
      const size_t at = below(text.size() + 1);
      switch (below(5)) {
        case 0:
          text.insert(at, 1, spice[below(spice.size())]);
          break;
        case 1:
          text.erase(at, 1 + below(8));
          break;
        case 2:
          text.insert(at, text.substr(below(text.size() + 1), below(30)));
          break;
        case 3:
          text.resize(at);
          break;
        default:
          if (at < text.size()) text[at] = static_cast<char>(random());
      }
    }
    Survives(text);
    if (testing::Test::HasFailure()) FAIL() << "round " << round << ":\n" << text;
  }
}

TEST(ConfiguratorRuleTest, AMisspeltKeyIsAFaultThatNamesBoth) {
  const std::string rest = "side: consumer, parameters: {timeout: 1}";
  const struct {
    const char* key;
    const char* known;
  } kTable[] = {{"providerAdresses: ['192.0.2.1:1']", "providerAddresses"},
                {"adresses: ['192.0.2.7']", "addresses"},
                {"Applications: [web]", "applications"},
                {"enable: false", "enabled"},
                {"matches: {app: {oneof: [{exact: web}]}}", "match"}};
  for (const auto& row : kTable) {
    const std::string key(row.key);
    EXPECT_EQ(Fault(OneItem(absl::StrCat(rest, ", ", key))),
              absl::StrCat("configs[0]: unknown key '", key.substr(0, key.find(':')),
                           "', did you mean '", row.known, "'?"));
  }
  EXPECT_EQ(Fault(OneItem(rest, "enable: false\n")),
            "unknown key 'enable', did you mean 'enabled'?");
  EXPECT_EQ(Fault(OneItem(rest, "Scope: application\n")),
            "unknown key 'Scope', did you mean 'scope'?");
  // It would be off, for want of `enabled`.
  EXPECT_EQ(Fault(OneItem(absl::StrCat(rest, ", type: weight, enable: true"))),
            "configs[0]: unknown key 'enable', did you mean 'enabled'?");
}

TEST(ConfiguratorRuleTest, WhatIsOffIsNotLookedAtForItsKeys) {
  const std::string item = "side: consumer, parameters: {timeout: 1}, adresses: [x]";
  EXPECT_TRUE(Rule(OneItem(item, "enabled: false\nScope: application\n")).empty());
  EXPECT_TRUE(Rule(OneItem(item + ", type: weight, enabled: false")).empty());
}

TEST(ConfiguratorRuleTest, OtherUnknownKeysAreToldAndDoNothing) {
  std::vector<std::string> unknown;
  const auto rule = ParseConfiguratorRule(
      OneItem("side: consumer, parameters: {timeout: 1}, colour: red", "runtime: true\n"),
      &unknown);
  ASSERT_TRUE(rule.ok()) << rule.status();
  EXPECT_EQ(rule->size(), 1u);
  EXPECT_EQ(unknown, (std::vector<std::string>{"'runtime'", "configs[0]: 'colour'"}));
}

}  // namespace
}  // namespace signpost

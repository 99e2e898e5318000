// How much a rule of the config centre may hold.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "signpost/common/url.h"
#include "signpost/router/configurator/configurator.h"
#include "signpost/router/configurator/configurator_set.h"

namespace signpost {
namespace {

std::vector<Configurator> Rule(const std::string& text) {
  auto rule = ParseConfiguratorRule(text);
  EXPECT_TRUE(rule.ok()) << rule.status();
  return rule.ok() ? *std::move(rule) : std::vector<Configurator>();
}

std::string Fault(const std::string& text) {
  const auto rule = ParseConfiguratorRule(text);
  EXPECT_EQ(rule.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(rule.status().message());
}

// A rule of one item for demo.Echo; `item` in YAML's flow style.
std::string OneItem(const std::string& item) {
  return absl::StrCat("configVersion: v3.0\nkey: demo.Echo\nconfigs:\n- {", item, "}\n");
}

TEST(ConfiguratorBoundsTest, SizesAreBounded) {
  EXPECT_FALSE(ParseConfiguratorRule(std::string(2 << 20, ' ') + "x").ok());
  EXPECT_FALSE(ParseConfiguratorRule("[\"" + std::string(2 << 20, 'x') + "\"]").ok());
  EXPECT_FALSE(ParseConfiguratorRule(std::string(100000, '[')).ok());
  EXPECT_FALSE(ParseConfiguratorRule("key: a\nconfigs: " + std::string(100000, '[')).ok());
  // Each address with each provider's is one comparison.
  std::string list;
  for (int i = 0; i < 400; ++i) absl::StrAppend(&list, "h", i, ",");
  list.pop_back();
  const std::string item = "side: consumer, parameters: {a: b}, addresses: [" + list + "]";
  EXPECT_EQ(Rule(OneItem(item)).size(), 400u);
  EXPECT_EQ(Rule(OneItem("side: consumer, parameters: {a: '" + std::string(20000, 'x') +
                         "'}, addresses: [" + list + "]"))
                .size(),
            400u);
  list = list + "," + list;
  const auto texts = [&](const std::string& before, const std::string& after) {
    std::string all;
    for (int i = 0; i < 800; ++i) absl::StrAppend(&all, i == 0 ? "" : ", ", before, i, after);
    return all;
  };
  const std::string too_much =
      "configs[0].addresses: each with all that the item says: the rule would take more than "
      "200000 comparisons";
  for (const std::string& more : std::vector<std::string>{
           "providerAddresses: [" + list + "]",
           "applications: [" + list + "]",
           "match: {service: {oneof: [" + texts("{exact: h", "}") + "]}}",
           "match: {app: {oneof: [" + texts("{prefix: h", "}") + "]}}",
           "match: {param: [" + texts("{key: h", ", value: {noempty: true}}") + "]}",
       }) {
    EXPECT_EQ(Fault(OneItem(item + ", " + more)), too_much) << more.substr(0, 40);
  }
  for (const std::string& parameters :
       {texts("p", ": x"), texts("~p", ": x") + ", a: b", "a: '" + std::string(40000, 'x') + "'",
        "~a: '" + std::string(40000, 'x') + "', a: b"}) {
    EXPECT_EQ(Fault(OneItem("side: consumer, parameters: {" + parameters + "}, addresses: [" +
                            list + "]")),
              too_much)
        << parameters.substr(0, 40);
  }
  EXPECT_EQ(
      Fault("scope: application\nkey: web\nconfigs:\n- {" + item + ", services: [" + list + "]}\n"),
      too_much);
  // Nor by many items, each of which is small.
  std::string items = "configVersion: v3.0\nkey: demo.Echo\nconfigs:\n";
  for (int i = 0; i < 3; ++i) {
    absl::StrAppend(&items, "- {", item, ", applications: [", texts("a", "").substr(0, 1200),
                    "]}\n");
  }
  EXPECT_EQ(Fault(items).substr(0, 20), "configs[2].addresses");
}

// 50,000 times `*` with 49,000 services were 2.4e9 comparisons for one URL.
TEST(ConfiguratorBoundsTest, ManyAddressesWithManyServices) {
  std::string text = "scope: application\nkey: web\nconfigs:\n- side: consumer\n  addresses: [";
  for (int i = 0; i < 50000; ++i) text += "'*',";
  text += "h]\n  services: [";
  for (int i = 0; i < 49000; ++i) absl::StrAppend(&text, "s", i, ",");
  text += "s]\n  parameters: {a: b}\n";
  EXPECT_TRUE(absl::StartsWith(Fault(text), "configs[0].addresses: "));
}

TEST(ConfiguratorBoundsTest, ALongListOfAddressesIsFine) {
  std::string text = "key: demo.Echo\nconfigs:\n- side: provider\n  addresses:\n";
  for (int i = 0; i < 40000; ++i) {
    absl::StrAppend(&text, "  - 10.", i / 65536, ".", i / 256 % 256, ".", i % 256, "\n");
  }
  text += "  parameters: {weight: 5, timeout: 7}\n";
  const auto rule = Rule(text);
  EXPECT_EQ(rule.size(), 40000u);
  const ConfiguratorSet set({}, {}, rule);
  const ConfiguratorTarget target;
  EXPECT_EQ(set.Apply(*Url::Parse("tri://10.0.7.3:1/demo.Echo"), target).Get("weight"), "5");
  EXPECT_FALSE(set.Apply(*Url::Parse("tri://10.9.7.3:1/demo.Echo"), target).Has("weight"));
}

TEST(ConfiguratorBoundsTest, PatternsOfARuleAreCountedTogether) {
  std::string text = "configVersion: v3.0\nkey: demo.Echo\nconfigs:\n";
  for (int i = 0; i < 257; ++i) {
    absl::StrAppend(&text,
                    "- {side: consumer, parameters: {a: b}, match: {app: {oneof: [{regex: 'a.", i,
                    "'}]}}}\n");
  }
  EXPECT_EQ(Fault(text),
            "configs[256].match.app.oneof[0].regex: more than 256 patterns in one rule");
}

TEST(ConfiguratorBoundsTest, AliasesThatGrowAreRefused) {
  std::string text = "a: &a [x,x,x,x,x,x,x,x,x,x]\n";
  for (char c = 'b'; c < 'j'; ++c) {
    const char before = static_cast<char>(c - 1);
    absl::StrAppend(&text, std::string(1, c), ": &", std::string(1, c), " [");
    for (int i = 0; i < 10; ++i)
      absl::StrAppend(&text, "*", std::string(1, before), i < 9 ? "," : "]\n");
  }
  EXPECT_FALSE(ParseConfiguratorRule(text + "key: k\nconfigs: []\n").ok());
}

}  // namespace
}  // namespace signpost

#include "signpost/router/configurator/configurator_match.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "signpost/common/yaml.h"

namespace signpost::configurator_internal {
namespace {

Json Yaml(const std::string& text) {
  YamlLimits limits;
  limits.plain_is_text = true;
  limits.yaml_1_1_booleans = true;
  auto documents = ParseYaml(text, limits);
  EXPECT_TRUE(documents.ok()) << documents.status();
  return documents.ok() && !documents->empty() ? documents->front() : Json();
}

bool TextMatches(const std::string& yaml, std::optional<absl::string_view> text) {
  RegexUse use;
  const auto match = StringMatch::Parse(Yaml(yaml), "value", use);
  EXPECT_TRUE(match.ok()) << yaml << ": " << match.status();
  return match.ok() && match->Matches(text);
}

bool AddressMatches(const std::string& yaml, absl::string_view host, uint16_t port = 0) {
  const auto match = AddressMatch::Parse(Yaml(yaml), "address");
  EXPECT_TRUE(match.ok()) << yaml << ": " << match.status();
  return match.ok() && match->Matches(host, port);
}

TEST(StringMatchTest, EachKind) {
  struct Case {
    std::string yaml;
    std::optional<absl::string_view> text;
    bool matches;
  };
  for (const Case& c : std::vector<Case>{
           {"exact: gray", "gray", true},
           {"exact: true", "true", true},
           {"exact: yes", "true", true},
           {"exact: 'yes'", "yes", true},
           {"exact: gray", "grays", false},
           {"exact: gray", std::nullopt, false},
           {"exact: ''", "", true},
           {"prefix: gr", "gray", true},
           {"prefix: gr", "ugray", false},
           {"prefix: gr", std::nullopt, false},
           {"regex: 'gr.y'", "gray", true},
           {"regex: 'gr.y'", "grays", false},  // the whole text
           {"regex: '.*'", std::nullopt, false},
           {"wildcard: '*'", "anything", true},
           {"wildcard: '*'", "", true},
           {"wildcard: '*'", std::nullopt, false},
           {"wildcard: 'gr*'", "gray", false},  // no more than equality, as in Java
           {"wildcard: 'gr*'", "gr*", true},
           {"empty: true", "", true},
           {"empty: true", std::nullopt, true},
           {"empty: true", "x", false},
           {"noempty: true", "x", true},
           {"noempty: true", "", false},
           {"noempty: true", std::nullopt, false},
       }) {
    EXPECT_EQ(TextMatches(c.yaml, c.text), c.matches) << c.yaml << " on " << c.text.value_or("-");
  }
}

TEST(StringMatchTest, OfSeveralKeysTheFirstOfDubbosOrderCounts) {
  EXPECT_TRUE(TextMatches("{prefix: x, exact: gray}", "gray"));
  EXPECT_FALSE(TextMatches("{wildcard: '*', regex: 'x+'}", "gray"));
  EXPECT_TRUE(TextMatches("{noempty: true, empty: true}", ""));
}

TEST(StringMatchTest, FaultsNameThePlace) {
  const auto message = [](const std::string& yaml) {
    RegexUse use;
    return std::string(StringMatch::Parse(Yaml(yaml), "param[0].value", use).status().message());
  };
  EXPECT_EQ(message("gray"), "param[0].value: not a map");
  EXPECT_EQ(message("{}"), "param[0].value: says nothing");
  EXPECT_EQ(message("exakt: gray"), "param[0].value: unknown key 'exakt'");
  EXPECT_EQ(message("exact: [gray]"), "param[0].value.exact: not a text");
  EXPECT_EQ(message("exact:"), "param[0].value.exact: not a text");
  EXPECT_TRUE(absl::StartsWith(message("regex: '(a'"), "param[0].value.regex: "));
}

TEST(StringMatchTest, PatternsAreBounded) {
  // Much memory, once compiled.
  RegexUse use;
  EXPECT_FALSE(StringMatch::Parse(Yaml("regex: '((a{100}){100}){10}'"), "x", use).ok());
  // And no pattern takes exponential time, nor is a very long text looked at.
  EXPECT_FALSE(TextMatches("regex: '(a*)*b'", std::string(4096, 'a')));
  EXPECT_TRUE(TextMatches("regex: 'a*'", std::string(4096, 'a')));
  EXPECT_FALSE(TextMatches("regex: 'a*'", std::string(4097, 'a')));
}

// One rule may have many.
TEST(StringMatchTest, PatternsAreBoundedTogether) {
  RegexUse small;
  for (int i = 0; i < 256; ++i) {
    ASSERT_TRUE(StringMatch::Parse(Yaml("regex: 'gr.*y'"), "x", small).ok()) << i;
  }
  EXPECT_EQ(StringMatch::Parse(Yaml("regex: a"), "oneof[256]", small).status().message(),
            "oneof[256].regex: more than 256 patterns in one rule");
  EXPECT_TRUE(StringMatch::Parse(Yaml("exact: a"), "oneof[257]", small).ok());

  RegexUse large;
  absl::Status status;
  for (int i = 0; i < 256 && status.ok(); ++i) {
    status = StringMatch::Parse(Yaml("regex: 'a{1000}b{1000}'"), "x", large).status();
  }
  EXPECT_EQ(status.message(), "x.regex: the patterns of this rule take more than 4 MiB, compiled");
  EXPECT_GT(large.patterns, 50u);
  EXPECT_LT(large.patterns, 200u);
}

TEST(ConfiguratorMatchCostTest, CountsAlternativesTextsAndPrograms) {
  const auto cost = [](const std::string& yaml) {
    RegexUse use;
    const auto match = ConfiguratorMatch::Parse(Yaml(yaml), "match", use);
    EXPECT_TRUE(match.ok()) << match.status();
    return match.ok() ? match->cost() : 0;
  };
  EXPECT_EQ(cost("{}"), 0u);
  EXPECT_EQ(cost("address: {exact: a}"), 1u);
  EXPECT_EQ(cost("{address: {exact: a}, providerAddress: {exact: a}}"), 2u);
  EXPECT_EQ(cost("service: {oneof: [{exact: a}, {prefix: b}]}"), 2u);
  EXPECT_EQ(cost("app: {oneof: [{exact: " + std::string(640, 'a') + "}]}"), 11u);
  EXPECT_EQ(cost("param: [{key: a, value: {exact: b}}]"), 2u);
  EXPECT_GT(cost("app: {oneof: [{regex: 'a{1000}'}]}"), 100u);
}

TEST(AddressMatchTest, EachKind) {
  struct Case {
    std::string yaml;
    std::string host;
    uint16_t port;
    bool matches;
  };
  for (const Case& c : std::vector<Case>{
           {"exact: '192.0.2.1:20880'", "192.0.2.1", 20880, true},
           {"exact: '192.0.2.1'", "192.0.2.1", 20880, false},
           {"exact: '192.0.2.1'", "192.0.2.1", 0, true},
           {"exact: '2001:db8::1'", "[2001:db8::1]", 0, true},
           {"exact: '[2001:db8::1]:20880'", "[2001:db8::1]", 20880, true},
           {"exact: '*'", "192.0.2.1", 0, false},
           {"wildcard: '127.0.0.1:20881'", "127.0.0.1", 20881, true},
           {"wildcard: '127.0.0.1:20881'", "127.0.0.1", 20882, false},
           {"wildcard: '127.0.0.1:*'", "127.0.0.1", 20882, true},
           {"wildcard: '192.0.2.*'", "192.0.2.9", 20880, true},
           {"wildcard: '192.0.2.*:20880'", "192.0.2.9", 20880, true},
           {"wildcard: '192.0.2.*:20880'", "192.0.3.9", 20880, false},
           {"wildcard: '*'", "shop.example", 1, true},
           {"wildcard: '0.0.0.0'", "192.0.2.9", 1, true},
           {"wildcard: '*.example'", "shop.example", 0, true},
           {"cird: 192.0.2.0/24", "192.0.2.9", 20880, true},
           {"cird: 192.0.2.0/24", "192.0.3.9", 20880, false},
           {"cidr: 192.0.2.0/24", "192.0.2.9", 0, true},  // spelt right is understood too
           {"cird: '2001:db8::/32'", "[2001:db8::1]", 0, true},
           {"cird: 192.0.2.0/99", "192.0.2.9", 0, false},
           {"cird: 192.0.2.0/24", "shop.example", 0, false},
           {"wildcard: '*'", "", 0, true},
           {"exact: '192.0.2.1'", "", 0, false},
       }) {
    EXPECT_EQ(AddressMatches(c.yaml, c.host, c.port), c.matches)
        << c.yaml << " on " << c.host << ":" << c.port;
  }
}

TEST(AddressMatchTest, FaultsNameThePlace) {
  const auto message = [](const std::string& yaml) {
    return std::string(AddressMatch::Parse(Yaml(yaml), "match.address").status().message());
  };
  EXPECT_EQ(message("192.0.2.1"), "match.address: not a map");
  EXPECT_EQ(message("{}"), "match.address: says nothing");
  EXPECT_EQ(message("exact: ''"), "match.address: an empty address");
  EXPECT_EQ(message("prefix: 192"), "match.address: unknown key 'prefix'");
}

class ConfiguratorMatchTest : public testing::Test {
 protected:
  bool Matches(const std::string& yaml) {
    RegexUse use;
    const auto match = ConfiguratorMatch::Parse(Yaml(yaml), "match", use);
    EXPECT_TRUE(match.ok()) << yaml << ": " << match.status();
    MatchInput input;
    input.host = "192.0.2.7";
    input.provider_host = "192.0.2.1";
    input.provider_port = 20880;
    input.service = "shop/demo.Echo:1.0.0";
    input.app = "web";
    input.parameter = [](absl::string_view key) -> std::optional<absl::string_view> {
      if (key == "env") return "gray";
      if (key == "zone") return "";
      return std::nullopt;
    };
    return match.ok() && match->Matches(input);
  }
};

TEST_F(ConfiguratorMatchTest, NothingGivenHolds) {
  EXPECT_TRUE(Matches(""));
  EXPECT_TRUE(Matches("{}"));
  EXPECT_TRUE(Matches("param: []"));
}

TEST_F(ConfiguratorMatchTest, EachPart) {
  EXPECT_TRUE(Matches("address: {exact: 192.0.2.7}"));
  EXPECT_FALSE(Matches("address: {exact: 192.0.2.1}"));
  EXPECT_TRUE(Matches("providerAddress: {exact: '192.0.2.1:20880'}"));
  EXPECT_FALSE(Matches("providerAddress: {exact: '192.0.2.7:20880'}"));
  EXPECT_TRUE(Matches("service: {oneof: [{exact: x}, {exact: 'shop/demo.Echo:1.0.0'}]}"));
  EXPECT_FALSE(Matches("service: {oneof: [{exact: demo.Echo}]}"));
  EXPECT_FALSE(Matches("service: {oneof: []}"));
  EXPECT_TRUE(Matches("app: {oneof: [{prefix: we}]}"));
  EXPECT_FALSE(Matches("app: {oneof: [{exact: shop}]}"));
  EXPECT_TRUE(Matches("param: [{key: env, value: {exact: gray}}]"));
  EXPECT_FALSE(Matches("param: [{key: env, value: {exact: blue}}]"));
  EXPECT_TRUE(Matches("param: [{key: zone, value: {empty: true}}]"));
}

TEST_F(ConfiguratorMatchTest, AParameterThatIsNotThereMatchesNothing) {
  EXPECT_FALSE(Matches("param: [{key: none, value: {empty: true}}]"));
}

TEST_F(ConfiguratorMatchTest, AllPartsMustHold) {
  EXPECT_TRUE(Matches("{address: {exact: 192.0.2.7}, app: {oneof: [{exact: web}]}}"));
  EXPECT_FALSE(Matches("{address: {exact: 192.0.2.7}, app: {oneof: [{exact: shop}]}}"));
  EXPECT_FALSE(
      Matches("param: [{key: env, value: {exact: gray}}, {key: none, value: {noempty: true}}]"));
}

TEST_F(ConfiguratorMatchTest, FaultsNameThePlace) {
  const auto message = [](const std::string& yaml) {
    RegexUse use;
    return std::string(
        ConfiguratorMatch::Parse(Yaml(yaml), "configs[0].match", use).status().message());
  };
  EXPECT_EQ(message("x"), "configs[0].match: not a map");
  EXPECT_EQ(message("adress: {exact: x}"), "configs[0].match: unknown key 'adress'");
  EXPECT_EQ(message("address: {}"), "configs[0].match.address: says nothing");
  EXPECT_EQ(message("service: [x]"), "configs[0].match.service: not a map");
  EXPECT_EQ(message("service: {anyof: []}"), "configs[0].match.service: unknown key 'anyof'");
  EXPECT_EQ(message("app: {oneof: x}"), "configs[0].match.app.oneof: not a list");
  EXPECT_EQ(message("app: {oneof: [{exact: a}, {}]}"),
            "configs[0].match.app.oneof[1]: says nothing");
  EXPECT_EQ(message("param: {}"), "configs[0].match.param: not a list");
  EXPECT_EQ(message("param: [x]"), "configs[0].match.param[0]: not a map");
  EXPECT_EQ(message("param: [{value: {exact: x}}]"), "configs[0].match.param[0].key: missing");
  EXPECT_EQ(message("param: [{key: x}]"), "configs[0].match.param[0].value: not a map");
  EXPECT_EQ(message("param: [{key: x, values: {}}]"),
            "configs[0].match.param[0]: unknown key 'values'");
}

TEST(ConfiguratorMatchEqualityTest, ByWhatTheySay) {
  const auto parse = [](const std::string& yaml) {
    RegexUse use;
    return *ConfiguratorMatch::Parse(Yaml(yaml), "match", use);
  };
  EXPECT_EQ(parse("app: {oneof: [{regex: 'a+'}]}"), parse("app: {oneof: [{regex: 'a+'}]}"));
  EXPECT_FALSE(parse("app: {oneof: [{regex: 'a+'}]}") == parse("app: {oneof: [{regex: 'a*'}]}"));
  EXPECT_FALSE(parse("app: {oneof: [{exact: a}]}") == parse("app: {oneof: [{prefix: a}]}"));
  EXPECT_FALSE(parse("address: {exact: a}") == parse("providerAddress: {exact: a}"));
}

TEST(QuotedTest, IsShortAndPlain) {
  EXPECT_EQ(Quoted("a\nb"), "'a\\nb'");
  EXPECT_EQ(Quoted(std::string(1000, 'x')).size(), 102u);
}

}  // namespace
}  // namespace signpost::configurator_internal

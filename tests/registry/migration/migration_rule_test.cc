#include "signpost/registry/migration/migration_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "tests/common/hostile.h"

namespace signpost {
namespace {

using testing::HasSubstr;

constexpr char kSteps[] = "FORCE_INTERFACE, APPLICATION_FIRST, FORCE_APPLICATION";

constexpr char kFull[] = R"(# The migration of the demo.
key: demo-consumer
step: APPLICATION_FIRST
threshold: 0.8
proportion: 60
delay: 60
force: false
interfaces:
  - serviceKey: org.example.Greeter:1.0.0
    step: FORCE_APPLICATION
    threshold: 1.0
    proportion: 30
    delay: 5
    force: true
  - serviceKey: org.example.Clock
    step: FORCE_INTERFACE
applications:
  - serviceKey: demo-provider
    threshold: -1
    proportion: 0
)";

MigrationRule Parsed(absl::string_view text) {
  auto rule = MigrationRule::Parse(text);
  EXPECT_TRUE(rule.ok()) << rule.status() << "\n" << text.substr(0, 200);
  return rule.ok() ? *std::move(rule) : MigrationRule();
}

// What is said of a text that is no rule.
std::string Refusal(absl::string_view text) {
  const auto rule = MigrationRule::Parse(text);
  EXPECT_FALSE(rule.ok()) << text.substr(0, 200);
  EXPECT_TRUE(rule.ok() || absl::IsInvalidArgument(rule.status())) << rule.status();
  return std::string(rule.status().message());
}

MigrationRule Verified(const std::string& name) {
  const std::string path = absl::StrCat("tests/interop/captures/rules/", name, ".yaml");
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  return Parsed(std::string(std::istreambuf_iterator<char>(file), {}));
}

ServiceKey Service(absl::string_view text) {
  auto key = ServiceKey::Parse(text);
  EXPECT_TRUE(key.ok()) << key.status();
  return key.ok() ? *std::move(key) : ServiceKey();
}

Url Consumer(const std::string& parameters) {
  auto url = Url::Parse(absl::StrCat("consumer://192.0.2.200/org.example.Greeter?", parameters));
  EXPECT_TRUE(url.ok()) << url.status();
  return url.ok() ? *std::move(url) : Url();
}

MigrationSettings SettingsOf(const MigrationRule& rule, absl::string_view service = "a.B",
                             const std::vector<std::string>& apps = {}) {
  return rule.SettingsFor(Service(service), apps, MigrationFields(), MigrationOptions());
}

TEST(MigrationRuleTest, ReadsEveryField) {
  const MigrationRule rule = Parsed(kFull);
  EXPECT_EQ(rule.fields.step, MigrationStep::kApplicationFirst);
  EXPECT_EQ(rule.fields.threshold, 0.8);
  EXPECT_EQ(rule.fields.proportion, 60);
  EXPECT_EQ(rule.fields.delay, absl::Seconds(60));
  EXPECT_EQ(rule.fields.force, false);

  ASSERT_EQ(rule.interfaces.size(), 2u);
  const MigrationFields& greeter = rule.interfaces.at("org.example.Greeter:1.0.0");
  EXPECT_EQ(greeter.step, MigrationStep::kForceApplication);
  EXPECT_EQ(greeter.threshold, 1.0);
  EXPECT_EQ(greeter.proportion, 30);
  EXPECT_EQ(greeter.delay, absl::Seconds(5));
  EXPECT_EQ(greeter.force, true);
  MigrationFields only_step;
  only_step.step = MigrationStep::kForceInterface;
  EXPECT_EQ(rule.interfaces.at("org.example.Clock"), only_step);

  ASSERT_EQ(rule.applications.size(), 1u);
  MigrationFields shares;
  shares.threshold = -1;
  shares.proportion = 0;
  EXPECT_EQ(rule.applications.at("demo-provider"), shares);
}

TEST(MigrationRuleTest, StepsHaveDubbosNames) {
  const std::vector<std::pair<MigrationStep, std::string>> kNames = {
      {MigrationStep::kForceInterface, "FORCE_INTERFACE"},
      {MigrationStep::kApplicationFirst, "APPLICATION_FIRST"},
      {MigrationStep::kForceApplication, "FORCE_APPLICATION"}};
  for (const auto& [step, name] : kNames) {
    EXPECT_EQ(MigrationStepName(step), name);
    const auto parsed = ParseMigrationStep(name);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, step);
    EXPECT_EQ(Parsed(absl::StrCat("step: ", name)).fields.step, step);
  }
}

TEST(MigrationRuleTest, ReadsTheVerifiedRules) {
  MigrationRule application;
  application.fields.step = MigrationStep::kForceApplication;
  EXPECT_EQ(Verified("migration-application"), application);

  MigrationRule interface;
  interface.fields.step = MigrationStep::kForceInterface;
  EXPECT_EQ(Verified("migration-interface"), interface);

  const MigrationRule one = Verified("migration-one-service");
  EXPECT_EQ(SettingsOf(one, "demo.GreetingService").step, MigrationStep::kForceInterface);
  EXPECT_EQ(SettingsOf(one, "demo.OrderService:1.0.0").step, MigrationStep::kForceApplication);
}

TEST(MigrationRuleTest, LinesMayEndAsOnWindows) {
  EXPECT_EQ(Parsed(absl::StrReplaceAll(kFull, {{"\n", "\r\n"}})), Parsed(kFull));
  // TC-39, its first text.
  const MigrationRule rule = Parsed("step: APPLICATION_FIRST\r\nproportion: 0");
  EXPECT_EQ(rule.fields.step, MigrationStep::kApplicationFirst);
  EXPECT_EQ(rule.fields.proportion, 0);
}

TEST(MigrationRuleTest, NothingIsARuleThatSaysNothing) {
  for (const char* text :
       {"", " ", "\n", "\r\n\r\n", "# later\n", "# one\r\n# two\r\n", "---\n", "--- ~\n", "~", "{}",
        "key: demo-consumer\n", "step:\nthreshold: ~\ninterfaces:\napplications: null\n",
        "interfaces: []\napplications: []\n"}) {
    EXPECT_EQ(Parsed(text), MigrationRule()) << text;
  }
}

TEST(MigrationRuleTest, ScalarsMayBeQuoted) {
  const MigrationRule rule = Parsed(
      "step: 'FORCE_APPLICATION'\nthreshold: \"0.5\"\nproportion: '30'\ndelay: \"5\"\n"
      "force: 'true'\ninterfaces: [{serviceKey: ' a.B:1 ', step: \"FORCE_INTERFACE\"}]\n");
  EXPECT_EQ(rule.fields.step, MigrationStep::kForceApplication);
  EXPECT_EQ(rule.fields.threshold, 0.5);
  EXPECT_EQ(rule.fields.proportion, 30);
  EXPECT_EQ(rule.fields.delay, absl::Seconds(5));
  EXPECT_EQ(rule.fields.force, true);
  EXPECT_EQ(rule.interfaces.count("a.B:1"), 1u);
  // JSON is YAML too.
  EXPECT_EQ(Parsed(R"({"step":"FORCE_INTERFACE","proportion":100,"force":true})"),
            Parsed("step: FORCE_INTERFACE\nproportion: 100\nforce: True\n"));
}

TEST(MigrationRuleTest, UnknownKeysAreIgnored) {
  const MigrationRule rule = Parsed(
      "configVersion: v3.0\nstep: FORCE_INTERFACE\nmore: {stepp: wrong, list: [1]}\n"
      "interfaces:\n- {serviceKey: a.B, delay: 3, colour: red}\n");
  MigrationRule expected;
  expected.fields.step = MigrationStep::kForceInterface;
  expected.interfaces["a.B"].delay = absl::Seconds(3);
  EXPECT_EQ(rule, expected);
}

TEST(MigrationRuleTest, UnknownKeysAreToldWithTheirPlaces) {
  std::vector<std::string> unknown;
  const auto rule = MigrationRule::Parse(
      "configVersion: v3.0\nstep: FORCE_INTERFACE\n"
      "interfaces:\n- {serviceKey: a.B, colour: red}\n",
      &unknown);
  EXPECT_TRUE(rule.ok()) << rule.status();
  EXPECT_EQ(unknown, (std::vector<std::string>{"'configVersion'", "interfaces[0]: 'colour'"}));
}

TEST(MigrationRuleTest, AMisspeltKeyIsRefusedAndBothAreNamed) {
  const struct {
    const char* text;
    const char* fault;
  } kTable[] = {
      {"stepp: FORCE_APPLICATION", "unknown key 'stepp', did you mean 'step'?"},
      {"STEP: FORCE_APPLICATION", "unknown key 'STEP', did you mean 'step'?"},
      {"step: FORCE_APPLICATION\npromotion: 10", "'promotion', did you mean 'proportion'?"},
      {"aplications: []", "'aplications', did you mean 'applications'?"},
      {"interfaces: [{serviceKey: a.B, setp: FORCE_INTERFACE}]",
       "interfaces[0]: unknown key 'setp', did you mean 'step'?"},
      {"applications: [{serviceKey: a}, {servicekey: b}]",
       "applications[1]: unknown key 'servicekey', did you mean 'serviceKey'?"},
  };
  for (const auto& row : kTable) EXPECT_THAT(Refusal(row.text), HasSubstr(row.fault)) << row.text;
}

TEST(MigrationRuleTest, OfTwoEntriesTheLastOneCounts) {
  const MigrationRule rule = Parsed(
      "interfaces:\n"
      "- {serviceKey: a.B, step: FORCE_INTERFACE, proportion: 30}\n"
      "- {serviceKey: a.B, step: FORCE_APPLICATION}\n"
      "applications:\n"
      "- {serviceKey: shop, proportion: 10}\n"
      "- {serviceKey: shop, proportion: 20}\n");
  ASSERT_EQ(rule.interfaces.size(), 1u);
  // As a whole: nothing of the first one is left.
  MigrationFields last;
  last.step = MigrationStep::kForceApplication;
  EXPECT_EQ(rule.interfaces.at("a.B"), last);
  EXPECT_EQ(rule.applications.at("shop").proportion, 20);
}

// TC-39, its last text.
TEST(MigrationRuleTest, AnUnknownStepIsRefusedWithTheValidNames) {
  for (const char* step : {"APPLICATION_FORCE", "force_interface", "Force_Application", "INTERFACE",
                           "FORCE_INTERFACE,", "INIT", "0", "true", "''", "'FORCE_INTERFACE '"}) {
    EXPECT_THAT(Refusal(absl::StrCat("step: ", step)), HasSubstr(kSteps)) << step;
  }
  EXPECT_EQ(Refusal("step: APPLICATION_FORCE"),
            absl::StrCat("step: 'APPLICATION_FORCE' is not one of ", kSteps));
  EXPECT_EQ(Refusal("interfaces:\n- {serviceKey: a.B}\n- {serviceKey: a.C, step: FIRST}\n"),
            absl::StrCat("interfaces[1] (a.C): step: 'FIRST' is not one of ", kSteps));
}

TEST(MigrationRuleTest, ValuesOutOfRangeAreRefusedWithTheirPlace) {
  const std::vector<std::pair<std::string, std::vector<const char*>>> kWrong = {
      {"threshold",
       {"-0.5", "-2", "-1.5", "nan", "-nan", ".nan", "inf", ".inf", "1e999", "-1e999", "0x1",
        "half", "''", "'1 2'", "1,5"}},
      {"proportion",
       {"-1", "101", "1000", "60.5", "60%", "0x10", "1e2", "half", "''", "2147483648",
        "99999999999999999999", "-99999999999999999999"}},
      {"delay",
       {"-1", "1.5", "60s", "0x10", "soon", "''", "2147483648", "4294967296",
        "99999999999999999999"}},
      {"force", {"'yes'", "'on'", "yEs", "1", "0", "truly", "''"}}};
  for (const auto& [name, values] : kWrong) {
    for (const char* value : values) {
      const std::string field = absl::StrCat(name, ": ", value);
      SCOPED_TRACE(field);
      EXPECT_TRUE(absl::StartsWith(Refusal(field), absl::StrCat(name, ": '")));
      EXPECT_TRUE(absl::StartsWith(
          Refusal(absl::StrCat("interfaces:\n- {serviceKey: 'a.B:1', ", name, ": '",
                               absl::StrReplaceAll(value, {{"'", ""}}), "'}\n")),
          absl::StrCat("interfaces[0] (a.B:1): ", name, ": '")));
      EXPECT_TRUE(absl::StartsWith(
          Refusal(absl::StrCat("step: FORCE_INTERFACE\napplications:\n- serviceKey: other\n"
                               "- serviceKey: shop\n  ",
                               field, "\n")),
          absl::StrCat("applications[1] (shop): ", name, ": '")));
    }
  }
  // The ends of the ranges.
  const std::vector<std::pair<std::string, std::vector<const char*>>> kRight = {
      {"threshold", {"-1", "-1.0", "0", "0.0", "1", "1.5", "1e3", "3.4e38"}},
      {"proportion", {"0", "1", "99", "100"}},
      {"delay", {"0", "1", "2147483647"}},
      {"force", {"true", "false", "True", "FALSE", "'true'", "yes", "No", "on", "OFF"}}};
  for (const auto& [name, values] : kRight) {
    for (const char* value : values) {
      EXPECT_FALSE(Parsed(absl::StrCat(name, ": ", value)) == MigrationRule()) << name << value;
    }
  }
}

TEST(MigrationRuleTest, BooleansAreYaml11sAsInJava) {
  EXPECT_EQ(Parsed("force: yes").fields.force, true);
  EXPECT_EQ(Parsed("force: Off").fields.force, false);
  EXPECT_EQ(Parsed("applications: [{serviceKey: 'on', force: On}]").applications.at("on").force,
            true);
}

TEST(MigrationRuleTest, WhatIsNoRuleIsRefused) {
  const std::vector<std::pair<std::string, std::string>> kFaults = {
      {"applications: [{serviceKey: on, force: true}]",
       "applications[0]: serviceKey: true or false, as YAML reads it without quotes; not a text"},
      {"step", "not a YAML mapping"},
      {"- step: FORCE_INTERFACE\n", "not a YAML mapping"},
      {"42", "not a YAML mapping"},
      {"step: FORCE_INTERFACE\n---\nstep: FORCE_INTERFACE\n", "more than one YAML document"},
      {"step: [FORCE_INTERFACE]", "step: a list or a mapping, not a value"},
      {"proportion: {percent: 50}", "proportion: a list or a mapping, not a value"},
      {"interfaces: 5", "interfaces: not a list"},
      {"interfaces: {serviceKey: a.B}", "interfaces: not a list"},
      {"applications: shop", "applications: not a list"},
      {"interfaces: [a.B]", "interfaces[0]: not a mapping"},
      {"interfaces: [{serviceKey: a.B}, ~]", "interfaces[1]: not a mapping"},
      {"applications: [[shop]]", "applications[0]: not a mapping"},
      {"interfaces: [{step: FORCE_INTERFACE}]", "interfaces[0]: no serviceKey"},
      {"interfaces: [{serviceKey: }]", "interfaces[0]: no serviceKey"},
      {"interfaces: [{serviceKey: ' '}]", "interfaces[0]: no serviceKey"},
      {"interfaces: [{serviceKey: [a.B]}]", "interfaces[0]: no serviceKey"},
      {"applications: [{serviceKey: shop, force: [true]}]",
       "applications[0] (shop): force: a list or a mapping, not a value"},
      {"step: FORCE_INTERFACE\nstep: FORCE_APPLICATION\n", "duplicate key"},
      {"interfaces: [{serviceKey: a.B, delay: 1, delay: 2}]", "duplicate key"},
      {"base: &b {delay: 1}\n<<: *b\n", "merge keys"},
      {"step: !java/lang.String FORCE_INTERFACE\n", "custom tag"},
      {"step: *nowhere\n", "YAML"},
      {"step: 'FORCE_INTERFACE\n", "step"},
      {"interfaces: [\n", "YAML"},
      {"}", "YAML"},
      {std::string("step: FORCE_INTERFACE\0\n", 23), "UTF-8"},
      {"key: \xff\xfe\nstep: FORCE_INTERFACE\n", "UTF-8"}};
  for (const auto& [text, fault] : kFaults) {
    EXPECT_THAT(Refusal(text), HasSubstr(fault)) << text;
  }
}

TEST(MigrationRuleTest, FaultsStayShortAndOnOneLine) {
  const std::string longer = Repeat("x", 10000);
  for (const std::string& text :
       {absl::StrCat("step: ", longer), absl::StrCat("proportion: '", longer, "'"),
        absl::StrCat("interfaces: [{serviceKey: ", longer, ", delay: -1}]"),
        std::string("step: \"FORCE\\nINTERFACE\\r\\e[31m\""),
        absl::StrCat("threshold: \"", Repeat("\\n", 5000), "\""),
        absl::StrCat("force: ", Repeat("\xc3\xa9", 5000)),
        std::string("applications: [{serviceKey: \"a\\nb\\u0007\", step: \"\\0\"}]")}) {
    const std::string fault = Refusal(text);
    EXPECT_LT(fault.size(), 1000u);
    for (const char c : fault) EXPECT_TRUE(c >= ' ' && c < 127) << fault;
  }
}

TEST(MigrationRuleTest, ManyEntriesAreRead) {
  constexpr int kEntries = 5000;
  std::string text = "step: FORCE_INTERFACE\ninterfaces:\n";
  for (int i = 0; i < kEntries; ++i) {
    absl::StrAppend(&text, "- serviceKey: org.example.S", i, "\n  proportion: ", i % 101, "\n");
  }
  const MigrationRule rule = Parsed(text);
  ASSERT_EQ(rule.interfaces.size(), static_cast<size_t>(kEntries));
  for (const int i : {0, 1, 100, 101, kEntries - 1}) {
    const MigrationSettings settings = SettingsOf(rule, absl::StrCat("org.example.S", i));
    EXPECT_EQ(settings.proportion, i % 101) << i;
    EXPECT_EQ(settings.step, MigrationStep::kForceInterface) << i;
  }
}

TEST(MigrationRuleTest, SizesAreBounded) {
  constexpr size_t kMost = 1 << 20;
  const std::string rule = "step: FORCE_INTERFACE\n";
  const auto padded = [&rule](size_t size) { return rule + Repeat("#", size - rule.size()); };
  EXPECT_EQ(Parsed(padded(kMost)), Parsed(rule));
  EXPECT_THAT(Refusal(padded(kMost + 1)), HasSubstr("over the limit"));
  EXPECT_THAT(Refusal(absl::StrCat("interfaces: [", Repeat("1,", 100001), "]")),
              HasSubstr("nodes"));
  EXPECT_THAT(Refusal(absl::StrCat("more: ", Repeat("[", 70), Repeat("]", 70))),
              HasSubstr("nested deeper"));
  Refusal(absl::StrCat("more: ", Repeat("[", 100000)));
  Refusal(Repeat("{interfaces: ", 10000));
  Refusal(Repeat("---\n", 1000));
}

TEST(MigrationRuleTest, AliasesAreReadWithinTheirBounds) {
  const MigrationRule rule = Parsed(
      "all: &all {serviceKey: a.B, step: FORCE_INTERFACE}\n"
      "interfaces: [*all, {serviceKey: a.C, step: FORCE_APPLICATION}]\n");
  EXPECT_EQ(rule.interfaces.at("a.B").step, MigrationStep::kForceInterface);
  EXPECT_EQ(rule.interfaces.size(), 2u);

  std::string bomb = "n0: &n0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 20; ++i) {
    absl::StrAppend(&bomb, "n", i, ": &n", i, " [", Repeat(absl::StrCat("*n", i - 1, ", "), 10),
                    "]\n");
  }
  Refusal(bomb);
}

TEST(MigrationRuleTest, HostileTextIsReadOrRefused) {
  int read = 0;
  ForEachHostileText(kFull, 2000, [&read](const std::string& text) {
    const auto rule = MigrationRule::Parse(text);
    if (!rule.ok()) {
      EXPECT_TRUE(absl::IsInvalidArgument(rule.status()));
      return;
    }
    ++read;
    const MigrationSettings settings =
        SettingsOf(*rule, "org.example.Greeter:1.0.0", {"demo-provider"});
    EXPECT_GE(settings.proportion, 0);
    EXPECT_LE(settings.proportion, 100);
    EXPECT_GE(settings.threshold, 0);
    EXPECT_GE(settings.delay, absl::ZeroDuration());
  });
  EXPECT_GT(read, 0);
}

TEST(MigrationRuleTest, DefaultsAreDubbos) {
  const MigrationSettings settings = SettingsOf(MigrationRule());
  EXPECT_EQ(settings.step, MigrationStep::kApplicationFirst);
  EXPECT_EQ(settings.threshold, 0);
  EXPECT_EQ(settings.proportion, 100);
  EXPECT_EQ(settings.delay, absl::ZeroDuration());
  EXPECT_FALSE(settings.force);
}

// The places in their order: entry of the interface, of the first application, of the second one,
// top level, URL. Each set of them, for each field.
TEST(MigrationRuleTest, EachFieldComesFromTheFirstPlaceThatHasIt) {
  constexpr int kPlaces = 5;
  const auto step_of = [](int place) {
    return place % 2 == 0 ? MigrationStep::kForceInterface : MigrationStep::kForceApplication;
  };
  for (int field = 0; field < 5; ++field) {
    for (int present = 0; present < 1 << kPlaces; ++present) {
      SCOPED_TRACE(absl::StrCat("field ", field, " places ", present));
      std::array<MigrationFields, kPlaces> places;
      int first = kPlaces;
      for (int place = kPlaces - 1; place >= 0; --place) {
        if ((present >> place & 1) == 0) continue;
        first = place;
        MigrationFields& at = places[place];
        if (field == 0) at.step = step_of(place);
        if (field == 1) at.threshold = place + 1;
        if (field == 2) at.proportion = place + 1;
        if (field == 3) at.delay = absl::Seconds(place + 1);
        if (field == 4) at.force = place % 2 == 0;
      }
      MigrationRule rule;
      rule.interfaces["a.B:1"] = places[0];
      rule.applications["first"] = places[1];
      rule.applications["second"] = places[2];
      rule.fields = places[3];
      // Entries of others do not count.
      for (auto* entries : {&rule.interfaces, &rule.applications}) {
        MigrationFields& other = (*entries)["a.B"];
        other.step = MigrationStep::kApplicationFirst;
        other.proportion = 77;
      }
      MigrationOptions options;
      options.threshold = 50;
      options.proportion = 50;
      options.delay = absl::Seconds(50);

      MigrationSettings expected = options;
      if (first < kPlaces) {
        if (field == 0) expected.step = step_of(first);
        if (field == 1) expected.threshold = first + 1;
        if (field == 2) expected.proportion = first + 1;
        if (field == 3) expected.delay = absl::Seconds(first + 1);
        if (field == 4) expected.force = first % 2 == 0;
      }
      EXPECT_EQ(
          rule.SettingsFor(Service("a.B:1"), {"unnamed", "first", "second"}, places[4], options),
          expected);
    }
  }
}

TEST(MigrationRuleTest, ServicesAreNamedWithVersionAndWithoutGroup) {
  const MigrationRule rule = Parsed(
      "interfaces:\n- {serviceKey: 'a.B:1', proportion: 1}\n- {serviceKey: a.B, proportion: 2}\n"
      "- {serviceKey: 'g/a.C', proportion: 3}\n"
      "applications: [{serviceKey: shop, proportion: 4}, {serviceKey: old, proportion: 5}]\n");
  EXPECT_EQ(SettingsOf(rule, "a.B:1").proportion, 1);
  EXPECT_EQ(SettingsOf(rule, "g/a.B:1").proportion, 1);
  EXPECT_EQ(SettingsOf(rule, "a.B").proportion, 2);
  EXPECT_EQ(SettingsOf(rule, "a.B:2").proportion, 100);
  EXPECT_EQ(SettingsOf(rule, "g/a.C").proportion, 100);
  // Applications in the order of the mapping.
  EXPECT_EQ(SettingsOf(rule, "a.D", {"shop", "old"}).proportion, 4);
  EXPECT_EQ(SettingsOf(rule, "a.D", {"old", "shop"}).proportion, 5);
}

TEST(MigrationRuleTest, AThresholdThatIsNotSetIsTheProcesss) {
  MigrationOptions options;
  options.threshold = 0.7;
  const auto threshold = [&options](absl::string_view text,
                                    const std::string& parameters = "side=consumer") {
    const auto url = MigrationFields::OfUrl(Consumer(parameters));
    EXPECT_TRUE(url.ok()) << url.status();
    return Parsed(text).SettingsFor(Service("a.B"), {"shop"}, *url, options).threshold;
  };
  EXPECT_EQ(threshold(""), 0.7);
  EXPECT_EQ(threshold("threshold: -1"), 0.7);
  EXPECT_EQ(threshold("threshold: 0"), 0);
  EXPECT_EQ(threshold("", "migration.threshold=-1"), 0.7);
  // The first place decides, also by saying "not set".
  EXPECT_EQ(threshold("threshold: -1", "migration.threshold=0.2"), 0.7);
  EXPECT_EQ(threshold("threshold: 0.3\ninterfaces: [{serviceKey: a.B, threshold: -1}]"), 0.7);
  EXPECT_EQ(threshold("threshold: 0.3\napplications: [{serviceKey: shop, threshold: 0.4}]"), 0.4);
}

}  // namespace
}  // namespace signpost

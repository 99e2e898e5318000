// What one place says: of a consumer's URL, and of a program.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "signpost/registry/migration/migration_rule.h"

namespace signpost {
namespace {

Url Consumer(const std::string& parameters) {
  auto url = Url::Parse(absl::StrCat("consumer://192.0.2.200/org.example.Greeter?", parameters));
  EXPECT_TRUE(url.ok()) << url.status();
  return url.ok() ? *std::move(url) : Url();
}

TEST(MigrationFieldsTest, ReadsTheConsumersParameters) {
  const auto fields = MigrationFields::OfUrl(
      Consumer("migration.step=FORCE_INTERFACE&migration.threshold=0.5&migration.promotion=30"
               "&migration.delay=5&migration.force=true"));
  ASSERT_TRUE(fields.ok()) << fields.status();
  MigrationFields expected;
  expected.step = MigrationStep::kForceInterface;
  expected.threshold = 0.5;
  expected.proportion = 30;
  expected.delay = absl::Seconds(5);
  expected.force = true;
  EXPECT_EQ(*fields, expected);

  // Nothing said, empty values, and what Dubbo does not call so.
  for (const char* parameters :
       {"side=consumer", "migration.step=&migration.threshold=&migration.promotion=",
        "migration.proportion=30&step=FORCE_INTERFACE&promotion=3"}) {
    const auto none = MigrationFields::OfUrl(Consumer(parameters));
    ASSERT_TRUE(none.ok()) << none.status();
    EXPECT_EQ(*none, MigrationFields()) << parameters;
  }
}

TEST(MigrationFieldsTest, NamesTheParameterThatIsWrong) {
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"migration.step", "APPLICATION_FORCE"},
                                                        {"migration.threshold", "-3"},
                                                        {"migration.promotion", "101"},
                                                        {"migration.delay", "1s"},
                                                        {"migration.force", "maybe"}}) {
    const auto fields = MigrationFields::OfUrl(Consumer(absl::StrCat(key, "=", value)));
    EXPECT_TRUE(absl::IsInvalidArgument(fields.status())) << key;
    EXPECT_TRUE(absl::StartsWith(fields.status().message(), absl::StrCat(key, ": '", value, "'")))
        << fields.status();
  }
}

TEST(MigrationFieldsTest, WhatAProgramSetsIsChecked) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(MigrationFields().Check().ok());
  std::vector<std::pair<MigrationFields, std::string>> faults;
  const auto add = [&faults](auto MigrationFields::*field, auto value, const char* name) {
    MigrationFields fields;
    fields.*field = value;
    faults.emplace_back(fields, name);
  };
  for (const double threshold : {kNan, kInfinite, -kInfinite, -0.5, -2.0}) {
    add(&MigrationFields::threshold, threshold, "migration.threshold: ");
  }
  for (const int proportion : {-1, 101, 150}) {
    add(&MigrationFields::proportion, proportion, "migration.proportion: ");
  }
  for (const absl::Duration delay :
       {absl::Milliseconds(500), absl::Milliseconds(1500), absl::Seconds(-1), -absl::Nanoseconds(1),
        absl::InfiniteDuration(), -absl::InfiniteDuration(), absl::Seconds(int64_t{1} << 31)}) {
    add(&MigrationFields::delay, delay, "migration.delay: ");
  }
  add(&MigrationFields::step, static_cast<MigrationStep>(7), "migration.step: ");
  for (const auto& [fields, name] : faults) {
    const absl::Status status = fields.Check();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << name << status;
    EXPECT_TRUE(absl::StartsWith(status.message(), name)) << status;
  }

  MigrationFields most;
  most.step = MigrationStep::kForceInterface;
  most.threshold = -1;
  most.proportion = 100;
  most.delay = absl::Seconds((int64_t{1} << 31) - 1);
  most.force = true;
  EXPECT_TRUE(most.Check().ok()) << most.Check();
}

TEST(MigrationFieldsTest, WhatIsNotSetIsTheDefaults) {
  MigrationOptions defaults;
  defaults.step = MigrationStep::kForceInterface;
  defaults.threshold = 0.7;
  defaults.proportion = 70;
  defaults.delay = absl::Seconds(7);
  defaults.force = true;
  EXPECT_EQ(MigrationFields().Over(defaults), defaults);
  MigrationFields fields;
  fields.threshold = -1;
  EXPECT_EQ(fields.Over(defaults), defaults);
  fields.step = MigrationStep::kApplicationFirst;
  fields.threshold = 0;
  fields.proportion = 100;
  fields.delay = absl::ZeroDuration();
  fields.force = false;
  EXPECT_EQ(fields.Over(defaults), MigrationOptions());
}

}  // namespace
}  // namespace signpost

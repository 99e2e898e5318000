// Options of several registries, and of how services migrate.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "signpost/client/options.h"

namespace signpost {
namespace {

absl::StatusOr<ClientOptions> Load(std::map<std::string, std::string> environment,
                                   const ClientOptions& program = ClientOptions()) {
  OptionSources sources;
  sources.environment = std::move(environment);
  return LoadOptions(program, sources);
}

TEST(OptionsMigrationTest, StepAndThresholdAreRead) {
  const auto options = Load({{"DUBBO_APPLICATION_SERVICE_DISCOVERY_MIGRATION", "FORCE_INTERFACE"},
                             {"DUBBO_APPLICATION_MIGRATION_THRESHOLD", "0.5"}});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->migration.step, MigrationStep::kForceInterface);
  EXPECT_EQ(options->migration.threshold, 0.5);
  // The newer name goes first.
  EXPECT_EQ(Load({{"DUBBO_APPLICATION_SERVICE_DISCOVERY_MIGRATION", "FORCE_INTERFACE"},
                  {"DUBBO_APPLICATION_MIGRATION_STEP", "FORCE_APPLICATION"}})
                ->migration.step,
            MigrationStep::kForceApplication);
}

TEST(OptionsMigrationTest, WhatTheProgramSaysGoesFirstAlsoWhenItIsTheDefault) {
  const std::map<std::string, std::string> environment = {
      {"DUBBO_APPLICATION_MIGRATION_STEP", "FORCE_INTERFACE"},
      {"DUBBO_APPLICATION_MIGRATION_THRESHOLD", "0.5"}};
  ClientOptions program;
  program.migration.step = MigrationStep::kApplicationFirst;
  auto options = Load(environment, program);
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->migration.step, MigrationStep::kApplicationFirst);
  EXPECT_EQ(options->migration.threshold, 0.5);

  program = ClientOptions();
  program.migration.threshold = 0;
  program.migration.delay = absl::Seconds(7);
  options = Load(environment, program);
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->migration.step, MigrationStep::kForceInterface);
  EXPECT_EQ(options->migration.threshold, 0);
  EXPECT_EQ(options->migration.delay, absl::Seconds(7));

  // What nobody says stays unsaid; what is overridden is not checked.
  EXPECT_EQ(Load({})->migration, MigrationFields());
  program.migration.step = MigrationStep::kForceApplication;
  EXPECT_EQ(Load({{"DUBBO_APPLICATION_MIGRATION_STEP", "?"},
                  {"DUBBO_APPLICATION_MIGRATION_THRESHOLD", "?"}},
                 program)
                ->migration,
            program.migration);
}

TEST(OptionsMigrationTest, EachOfSeveralRegistriesIsCompleted) {
  const auto options = Load({{"DUBBO_REGISTRY_ADDRESS", "zookeeper://a:1|zookeeper://b:2"},
                             {"DUBBO_REGISTRY_GROUP", "g"}});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->registry, "zookeeper://a:1?group=g|zookeeper://b:2?group=g");
}

TEST(OptionsMigrationTest, AMigrationThatIsNoneIsRefused) {
  for (const auto& [variable, value] : std::vector<std::pair<std::string, std::string>>{
           {"DUBBO_APPLICATION_MIGRATION_STEP", "APPLICATION_FORCE"},
           {"DUBBO_APPLICATION_MIGRATION_THRESHOLD", "-2"},
           {"DUBBO_APPLICATION_MIGRATION_THRESHOLD", "nan"}}) {
    const absl::Status status = Load({{variable, value}}).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), variable)) << status;
  }
}

TEST(OptionsRegistriesTest, ARegistryThatIsNoneIsNamedWithItsPlace) {
  absl::Status status = Load({{"DUBBO_REGISTRY_ADDRESS", "zookeeper://h:1;"}}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(),
                                "environment DUBBO_REGISTRY_ADDRESS: registry 2: "
                                "empty registry"))
      << status;
  // Credentials would write it anew, and what is behind the comma would be a path.
  status = Load({{"DUBBO_REGISTRY_ADDRESS", "zookeeper://h:1,zookeeper://i:2"},
                 {"DUBBO_REGISTRY_USERNAME", "me"}})
               .status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "a server that has `://`")) << status;
}

}  // namespace
}  // namespace signpost

// Options of several registries, and of how services migrate.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "signpost/client/options.h"

namespace signpost {
namespace {

absl::StatusOr<ClientOptions> Load(std::map<std::string, std::string> environment) {
  OptionSources sources;
  sources.environment = std::move(environment);
  return LoadOptions(ClientOptions(), sources);
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

}  // namespace
}  // namespace signpost

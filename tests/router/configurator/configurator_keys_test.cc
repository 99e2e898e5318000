// What is said of keys that a rule of the config centre has and nobody knows.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "signpost/common/manual_executor.h"
#include "signpost/router/configurator/configurator_watch.h"
#include "tests/support/fake_config_source.h"
#include "tests/support/kept_log.h"

namespace signpost {
namespace {

const char kEchoKey[] = "demo.Echo::.configurators";

std::string Rule(const std::string& head, int timeout) {
  return absl::StrCat(head, "\nkey: demo.Echo\nconfigs:\n- {side: consumer, parameters: {timeout: ",
                      timeout, "}}\n");
}

class ConfiguratorKeysTest : public testing::Test {
 protected:
  void Write(const std::string& text) {
    source_.Write(kEchoKey, text);
    executor_.RunUntilIdle();
  }
  // Under the rules that were told last.
  std::string Timeout() const {
    ConfiguratorTarget target;
    target.application = "web";
    const Url provider = *Url::Parse("tri://192.0.2.1:20880/demo.Echo?timeout=1000");
    return told_ == nullptr ? "" : std::string(told_->Apply(provider, target).Get("timeout"));
  }

  SimulatedClock clock_;
  ManualExecutor executor_{clock_};
  FakeConfigSource source_{executor_};
  KeptLog log_;
  ConfiguratorWatch watch_{executor_, source_, "web"};
  std::shared_ptr<const ConfiguratorSet> told_;
  const std::unique_ptr<ServiceConfigurators> rules_ =
      watch_.Of(*ServiceKey::Parse("demo.Echo"),
                [this](const std::shared_ptr<const ConfiguratorSet>& set) { told_ = set; });
};

TEST_F(ConfiguratorKeysTest, AMisspeltKeyKeepsTheRuleBefore) {
  Write(Rule("enabled: true", 2));
  EXPECT_EQ(Timeout(), "2");
  EXPECT_EQ(log_.text(), "");
  Write(Rule("enable: false", 3));
  EXPECT_EQ(Timeout(), "2");
  ASSERT_EQ(log_.lines().size(), 1u) << log_.text();
  EXPECT_TRUE(absl::StrContains(log_.text(), kEchoKey)) << log_.text();
  EXPECT_TRUE(absl::StrContains(log_.text(), "unknown key 'enable', did you mean 'enabled'?"))
      << log_.text();
}

TEST_F(ConfiguratorKeysTest, AnUnknownKeyIsSaidOnceAndTheRuleHolds) {
  Write(Rule("runtime: true", 2));
  EXPECT_EQ(Timeout(), "2");
  ASSERT_EQ(log_.lines().size(), 1u) << log_.text();
  EXPECT_TRUE(absl::StrContains(log_.text(), kEchoKey)) << log_.text();
  EXPECT_TRUE(absl::StrContains(log_.text(), "unknown keys do nothing: 'runtime'"));
  Write(Rule("runtime: true", 3));
  EXPECT_EQ(Timeout(), "3");
  EXPECT_EQ(log_.lines().size(), 1u) << log_.text();
  // Without it, and with it again.
  Write(Rule("enabled: true", 4));
  Write(Rule("runtime: true", 4));
  EXPECT_EQ(log_.lines().size(), 2u) << log_.text();
}

}  // namespace
}  // namespace signpost

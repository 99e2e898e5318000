// What the tests of the state machine share: facts and settings in short, and decisions looked at.
//
// Threads: the test's.
#ifndef SIGNPOST_TESTS_REGISTRY_MIGRATION_MIGRATION_TEST_H_
#define SIGNPOST_TESTS_REGISTRY_MIGRATION_MIGRATION_TEST_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "signpost/registry/migration/migration_state.h"

namespace signpost {

constexpr MigrationStep kSteps[] = {MigrationStep::kForceInterface,
                                    MigrationStep::kApplicationFirst,
                                    MigrationStep::kForceApplication};
constexpr absl::Duration kDelay = absl::Seconds(60);

inline LevelFacts Known(size_t addresses) {
  LevelFacts facts;
  facts.known = true;
  facts.addresses = addresses;
  return facts;
}
inline LevelFacts Cached(size_t addresses) {
  LevelFacts facts;
  facts.addresses = addresses;
  return facts;
}
inline LevelFacts Kept(size_t addresses) {
  LevelFacts facts = Known(addresses);
  facts.kept = true;
  facts.state = absl::UnavailableError("no provider, the old ones are kept");
  return facts;
}

inline MigrationFacts Lists(LevelFacts by_application, LevelFacts by_interface) {
  MigrationFacts facts;
  facts.application_level = by_application;
  facts.interface_level = by_interface;
  return facts;
}
inline MigrationFacts Lists(size_t by_application, size_t by_interface) {
  return Lists(Known(by_application), Known(by_interface));
}

inline MigrationSettings Step(MigrationStep step, int proportion = 100, double threshold = 0,
                              absl::Duration delay = absl::ZeroDuration(), bool force = false) {
  MigrationSettings settings;
  settings.step = step;
  settings.proportion = proportion;
  settings.threshold = threshold;
  settings.delay = delay;
  settings.force = force;
  return settings;
}

inline MigrationStep ForceStep(DiscoveryLevel level) {
  return level == DiscoveryLevel::kApplication ? MigrationStep::kForceApplication
                                               : MigrationStep::kForceInterface;
}
inline DiscoveryLevel LevelOf(MigrationStep step) {
  return step == MigrationStep::kForceInterface ? DiscoveryLevel::kInterface
                                                : DiscoveryLevel::kApplication;
}
inline int AllFor(MigrationStep step) {
  return LevelOf(step) == DiscoveryLevel::kApplication ? 100 : 0;
}

// Drives a state, and looks whether what it decides is sound.
class MigrationTest : public testing::Test {
 protected:
  // Decides, twice: the second time changes nothing.
  MigrationDecision Decide(const MigrationSettings& wanted, const MigrationFacts& facts) {
    return Decide(state_, wanted, facts);
  }
  MigrationDecision Decide(MigrationState& state, const MigrationSettings& wanted,
                           const MigrationFacts& facts) const {
    const MigrationDecision decision = state.Decide(wanted, facts, now_);
    const MigrationDecision again = state.Decide(wanted, facts, now_);
    EXPECT_EQ(decision, again) << decision.why << " / " << again.why;
    EXPECT_EQ(decision.primary,
              decision.proportion > 0 ? DiscoveryLevel::kApplication : DiscoveryLevel::kInterface);
    EXPECT_THAT(decision.why, testing::HasSubstr(std::string(MigrationStepName(decision.step))));
    return decision;
  }

  void ExpectAlone(const MigrationDecision& decision, MigrationStep step) const {
    EXPECT_EQ(decision.step, step) << decision.why;
    EXPECT_FALSE(decision.switching) << decision.why;
    EXPECT_EQ(decision.subscribe_application, step == MigrationStep::kForceApplication);
    EXPECT_EQ(decision.subscribe_interface, step == MigrationStep::kForceInterface);
    EXPECT_FALSE(decision.fall_back);
    EXPECT_EQ(decision.proportion, AllFor(step));
    EXPECT_EQ(decision.next_look, std::nullopt);
    EXPECT_THAT(decision.why, testing::HasSubstr("only the "));
  }
  void ExpectBoth(const MigrationDecision& decision, MigrationStep step, int proportion) const {
    EXPECT_EQ(decision.step, step) << decision.why;
    EXPECT_TRUE(decision.subscribe_application);
    EXPECT_TRUE(decision.subscribe_interface);
    EXPECT_TRUE(decision.fall_back);
    EXPECT_EQ(decision.proportion, proportion) << decision.why;
  }
  void ExpectWaits(const MigrationDecision& decision, MigrationStep step, int proportion,
                   std::optional<absl::Duration> next_look = std::nullopt) const {
    ExpectBoth(decision, step, proportion);
    EXPECT_TRUE(decision.switching) << decision.why;
    EXPECT_EQ(decision.next_look, next_look);
    EXPECT_THAT(decision.why, testing::HasSubstr(" is wanted and "));
  }

  absl::Duration now_ = absl::Seconds(1000);
  MigrationState state_;
};

}  // namespace signpost

#endif  // SIGNPOST_TESTS_REGISTRY_MIGRATION_MIGRATION_TEST_H_

#include "signpost/registry/migration/migration_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tests/registry/migration/migration_test.h"

namespace signpost {
namespace {

using testing::HasSubstr;

using MigrationStateTest = MigrationTest;

// Of the text of a rule.
MigrationSettings RuleSettings(absl::string_view text,
                               const MigrationOptions& options = MigrationOptions()) {
  const auto rule = MigrationRule::Parse(text);
  EXPECT_TRUE(rule.ok()) << rule.status();
  if (!rule.ok()) return options;
  return rule->SettingsFor(*ServiceKey::Parse("demo.Greeter"), {}, MigrationFields(), options);
}

// TC-39: what its texts make of the calls.
TEST_F(MigrationStateTest, MovesTheCalls) {
  const MigrationFacts both = Lists(2, 2);
  ExpectBoth(Decide(RuleSettings("step: APPLICATION_FIRST\r\nproportion: 0"), both),
             MigrationStep::kApplicationFirst, 0);
  ExpectBoth(Decide(RuleSettings("step: APPLICATION_FIRST\r\nproportion: 100"), both),
             MigrationStep::kApplicationFirst, 100);
}

TEST_F(MigrationStateTest, AnEmptyRuleLeavesItToTheProcess) {
  MigrationOptions options;
  options.proportion = 30;
  Decide(RuleSettings("step: APPLICATION_FIRST\r\nproportion: 0", options), Lists(2, 2));
  ExpectBoth(Decide(RuleSettings("", options), Lists(2, 2)), MigrationStep::kApplicationFirst, 30);
  options.step = MigrationStep::kForceInterface;
  ExpectAlone(Decide(RuleSettings("", options), Lists(2, 2)), MigrationStep::kForceInterface);
}

TEST_F(MigrationStateTest, IsDubbosComparison) {
  EXPECT_FALSE(HasEnoughAddresses(0, 0, 0));
  EXPECT_FALSE(HasEnoughAddresses(0, 5, 0));
  EXPECT_TRUE(HasEnoughAddresses(1, 0, 0));
  EXPECT_TRUE(HasEnoughAddresses(1, 0, 1000));
  EXPECT_TRUE(HasEnoughAddresses(1, 1000, 0));
  EXPECT_TRUE(HasEnoughAddresses(5, 10, 0.5));
  EXPECT_FALSE(HasEnoughAddresses(4, 10, 0.5));
  EXPECT_TRUE(HasEnoughAddresses(10, 10, 1));
  EXPECT_FALSE(HasEnoughAddresses(9, 10, 1));
  EXPECT_TRUE(HasEnoughAddresses(15, 10, 1.5));
  EXPECT_FALSE(HasEnoughAddresses(14, 10, 1.5));
  EXPECT_TRUE(HasEnoughAddresses(1, 1000, -1));  // not set anywhere
}

TEST_F(MigrationStateTest, ApplicationFirstTable) {
  struct Row {
    size_t by_application, by_interface;
    double threshold;
    bool application, interface;  // what serves
    const char* why;
  };
  const std::vector<Row> kTable = {{0, 0, 0, true, true, "neither level has an address"},
                                   {0, 0, 1, true, true, "neither level has an address"},
                                   {0, 3, 0, false, true, "only the interface level serves"},
                                   {0, 3, 1, false, true, "only the interface level serves"},
                                   {3, 0, 0, true, false, "only the application level serves"},
                                   {3, 0, 1, true, false, "only the application level serves"},
                                   {3, 0, 9, true, false, "only the application level serves"},
                                   {1, 3, 0, true, true, "both levels serve"},
                                   {1, 3, 0.5, false, true, "below the threshold 0.5"},
                                   {2, 3, 0.5, true, true, "both levels serve"},
                                   {2, 4, 0.5, true, true, "both levels serve"},
                                   {3, 3, 1, true, true, "both levels serve"},
                                   {2, 3, 1, false, true, "below the threshold 1"},
                                   {3, 3, 1.5, false, true, "below the threshold 1.5"},
                                   {9, 3, 1.5, true, true, "both levels serve"}};
  for (const Row& row : kTable) {
    for (const int proportion : {0, 50, 100}) {
      for (const bool force : {false, true}) {
        for (const absl::Duration delay : {absl::ZeroDuration(), kDelay}) {
          SCOPED_TRACE(absl::StrCat(row.by_application, "/", row.by_interface, " threshold ",
                                    row.threshold, " proportion ", proportion, " force ", force,
                                    " delay ", absl::FormatDuration(delay)));
          MigrationState state;
          const MigrationDecision decision = Decide(
              state,
              Step(MigrationStep::kApplicationFirst, proportion, row.threshold, delay, force),
              Lists(row.by_application, row.by_interface));
          ExpectBoth(decision, MigrationStep::kApplicationFirst,
                     row.application && row.interface ? proportion
                     : row.application                ? 100
                                                      : 0);
          EXPECT_FALSE(decision.switching);
          EXPECT_EQ(decision.next_look, std::nullopt);
          EXPECT_THAT(decision.why, HasSubstr(row.why));
        }
      }
    }
  }
}

TEST_F(MigrationStateTest, AnUnknownListIsAnEmptyOne) {
  const MigrationSettings half = Step(MigrationStep::kApplicationFirst, 50);
  ExpectBoth(Decide(half, MigrationFacts()), MigrationStep::kApplicationFirst, 50);
  const MigrationDecision decision = Decide(half, Lists(LevelFacts(), Known(2)));
  ExpectBoth(decision, MigrationStep::kApplicationFirst, 0);
  EXPECT_THAT(decision.why, HasSubstr("application level (not known yet)"));
  EXPECT_THAT(decision.why, HasSubstr("interface level (2 addresses)"));
  ExpectBoth(Decide(half, Lists(Known(1), LevelFacts())), MigrationStep::kApplicationFirst, 100);
  ExpectBoth(Decide(half, Lists(1, 2)), MigrationStep::kApplicationFirst, 50);
}

TEST_F(MigrationStateTest, CachedAddressesServe) {
  const MigrationSettings half = Step(MigrationStep::kApplicationFirst, 50);
  ExpectBoth(Decide(half, Lists(Cached(2), LevelFacts())), MigrationStep::kApplicationFirst, 100);
  ExpectBoth(Decide(half, Lists(Cached(2), Cached(2))), MigrationStep::kApplicationFirst, 50);
  ExpectBoth(Decide(half, Lists(LevelFacts(), Cached(2))), MigrationStep::kApplicationFirst, 0);
  // But nobody leaves a level for them.
  const MigrationSettings force =
      Step(MigrationStep::kForceApplication, 100, 0, absl::ZeroDuration(), true);
  const MigrationDecision decision = Decide(force, Lists(Cached(2), Known(2)));
  ExpectWaits(decision, MigrationStep::kApplicationFirst, 50);
  ExpectAlone(Decide(force, Lists(2, 2)), MigrationStep::kForceApplication);
}

// TC-38: a provider of the interface level alone, then one that registers both ways.
TEST_F(MigrationStateTest, WithoutMetadataTheInterfaceLevelServesUntilItAppears) {
  const MigrationSettings first = Step(MigrationStep::kApplicationFirst);
  LevelFacts none = Known(0);
  none.state = absl::NotFoundError("no mapping for demo.Greeter");
  const MigrationDecision decision = Decide(first, Lists(none, Known(1)));
  ExpectBoth(decision, MigrationStep::kApplicationFirst, 0);
  EXPECT_EQ(decision.primary, DiscoveryLevel::kInterface);
  EXPECT_EQ(decision.why,
            "APPLICATION_FIRST: only the interface level serves: application level (no address: "
            "no mapping for demo.Greeter), interface level (1 address)");
  EXPECT_EQ(Decide(first, Lists(1, 1)).primary, DiscoveryLevel::kApplication);
  ExpectBoth(Decide(first, Lists(1, 1)), MigrationStep::kApplicationFirst, 100);
  // The application level becomes empty.
  ExpectBoth(Decide(first, Lists(0, 1)), MigrationStep::kApplicationFirst, 0);
}

TEST_F(MigrationStateTest, ApplicationFirstFollowsWhatIsThere) {
  const MigrationSettings settings = Step(MigrationStep::kApplicationFirst, 60, 0.5);
  // Nothing is remembered: each of these has the same answer after each other one.
  struct Row {
    size_t by_application, by_interface;
    int proportion;
  };
  const std::vector<Row> kRows = {{0, 0, 60}, {0, 4, 0},  {1, 4, 0},
                                  {2, 4, 60}, {4, 4, 60}, {4, 0, 100}};
  for (const Row& before : kRows) {
    for (const Row& row : kRows) {
      Decide(settings, Lists(before.by_application, before.by_interface));
      ExpectBoth(Decide(settings, Lists(row.by_application, row.by_interface)),
                 MigrationStep::kApplicationFirst, row.proportion);
    }
  }
}

TEST_F(MigrationStateTest, KeptAddressesYieldToTheOtherLevel) {
  const MigrationSettings half = Step(MigrationStep::kApplicationFirst, 50);
  const MigrationDecision decision = Decide(half, Lists(Kept(3), Known(1)));
  ExpectBoth(decision, MigrationStep::kApplicationFirst, 0);
  EXPECT_THAT(decision.why, HasSubstr("application level (3 old addresses: no provider"));
  ExpectBoth(Decide(half, Lists(Known(1), Kept(3))), MigrationStep::kApplicationFirst, 100);
  // Where there are no others they count.
  ExpectBoth(Decide(half, Lists(Kept(3), Known(0))), MigrationStep::kApplicationFirst, 100);
  ExpectBoth(Decide(half, Lists(Known(0), Kept(3))), MigrationStep::kApplicationFirst, 0);
  ExpectBoth(Decide(half, Lists(Kept(3), LevelFacts())), MigrationStep::kApplicationFirst, 100);
  ExpectBoth(Decide(half, Lists(Kept(3), Kept(1))), MigrationStep::kApplicationFirst, 50);
  // They are no reason to leave a level that has others, and those are one to leave them.
  ExpectWaits(Decide(Step(MigrationStep::kForceApplication), Lists(Kept(3), Known(1))),
              MigrationStep::kApplicationFirst, 0);
  ExpectAlone(Decide(Step(MigrationStep::kForceInterface, 100, 1), Lists(Kept(3), Known(1))),
              MigrationStep::kForceInterface);
}

TEST_F(MigrationStateTest, TheFirstStepHoldsAtOnce) {
  for (const MigrationStep step :
       {MigrationStep::kForceInterface, MigrationStep::kForceApplication}) {
    for (const MigrationFacts& facts : {MigrationFacts(), Lists(0, 0), Lists(0, 3), Lists(3, 0),
                                        Lists(3, 3), Lists(Kept(3), Known(3))}) {
      for (const int proportion : {0, 50, 100}) {
        for (const bool force : {false, true}) {
          MigrationState state;
          ExpectAlone(Decide(state, Step(step, proportion, 9, kDelay, force), facts), step);
        }
      }
    }
  }
}

TEST_F(MigrationStateTest, AProportionActsAtOnce) {
  for (const int proportion : {0, 1, 50, 99, 100, 0}) {
    // A delay is for FORCE steps alone.
    ExpectBoth(Decide(Step(MigrationStep::kApplicationFirst, proportion, 0, kDelay), Lists(3, 3)),
               MigrationStep::kApplicationFirst, proportion);
  }
}

TEST_F(MigrationStateTest, StatesOfListsAreInTheReason) {
  LevelFacts by_application = Known(0);
  by_application.state = absl::UnavailableError("shop: no metadata for revision r1");
  LevelFacts by_interface = Known(1);
  by_interface.state = absl::UnavailableError("one node is no URL");
  const MigrationFacts facts = Lists(by_application, by_interface);
  for (const MigrationStep step : kSteps) {
    MigrationState state;
    const MigrationDecision decision = Decide(state, Step(step), facts);
    if (step != MigrationStep::kForceInterface) {
      EXPECT_THAT(decision.why, HasSubstr("(no address: shop: no metadata for revision r1)"));
    }
    if (step != MigrationStep::kForceApplication) {
      EXPECT_THAT(decision.why, HasSubstr("(1 address: one node is no URL)"));
    }
  }
  EXPECT_EQ(Decide(Step(MigrationStep::kForceInterface), facts).why,
            "FORCE_INTERFACE: only the interface level (1 address: one node is no URL) counts");
}

}  // namespace
}  // namespace signpost

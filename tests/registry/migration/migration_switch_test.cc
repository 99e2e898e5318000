// How one step follows another: when it happens, what serves meanwhile, what stays undone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "absl/strings/str_cat.h"
#include "tests/registry/migration/migration_test.h"

namespace signpost {
namespace {

using testing::HasSubstr;

using MigrationSwitchTest = MigrationTest;

// Each step after each other one, at each share, with and without what holds it back.
TEST_F(MigrationSwitchTest, SwitchTable) {
  int switched = 0;
  int waited = 0;
  for (const MigrationStep from : kSteps) {
    for (const MigrationStep to : kSteps) {
      for (const size_t by_application : {0, 1, 2, 4}) {
        for (const size_t by_interface : {0, 1, 2, 4}) {
          for (const double threshold : {0.0, 0.5, 1.0}) {
            for (const int proportion : {0, 50, 100}) {
              for (const bool force : {false, true}) {
                for (const absl::Duration delay : {absl::ZeroDuration(), kDelay}) {
                  SCOPED_TRACE(absl::StrCat(MigrationStepName(from), " to ", MigrationStepName(to),
                                            " ", by_application, "/", by_interface, " threshold ",
                                            threshold, " proportion ", proportion, " force ", force,
                                            " delay ", absl::FormatDuration(delay)));
                  const MigrationFacts facts = Lists(by_application, by_interface);
                  MigrationState state;
                  Decide(state, Step(from, 30), facts);
                  const MigrationSettings wanted = Step(to, proportion, threshold, delay, force);
                  const bool forced = to != MigrationStep::kApplicationFirst && to != from;
                  const bool enough =
                      LevelOf(to) == DiscoveryLevel::kApplication
                          ? HasEnoughAddresses(by_application, by_interface, threshold)
                          : HasEnoughAddresses(by_interface, by_application, threshold);
                  // Until it happens the old step serves, or what there is.
                  int old = 30;
                  if (from != MigrationStep::kApplicationFirst) old = AllFor(from);
                  if (by_application == 0 && by_interface > 0) old = 0;
                  if (by_application > 0 && by_interface == 0) old = 100;

                  const absl::Duration start = now_;
                  MigrationDecision decision = Decide(state, wanted, facts);
                  if (forced && delay > absl::ZeroDuration()) {
                    ExpectWaits(decision, from, old, start + delay);
                    EXPECT_THAT(decision.why, HasSubstr("waits for its delay of 1m"));
                    now_ = start + delay - absl::Nanoseconds(1);
                    ExpectWaits(Decide(state, wanted, facts), from, old, start + delay);
                    now_ = start + delay;
                    decision = Decide(state, wanted, facts);
                  }
                  if (forced && !force && !enough) {
                    ++waited;
                    ExpectWaits(decision, from, old);
                    EXPECT_THAT(decision.why, HasSubstr("does not happen without `force`"));
                  } else if (to == MigrationStep::kApplicationFirst) {
                    // What a fresh one says.
                    MigrationState fresh;
                    EXPECT_EQ(decision, Decide(fresh, wanted, facts));
                    EXPECT_FALSE(decision.switching);
                  } else {
                    ++switched;
                    ExpectAlone(decision, to);
                  }
                }
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(switched, 100);
  EXPECT_GT(waited, 100);
}

TEST_F(MigrationSwitchTest, ATargetThatIsNotKnownIsWaitedFor) {
  for (const DiscoveryLevel target : {DiscoveryLevel::kApplication, DiscoveryLevel::kInterface}) {
    for (const bool force : {false, true}) {
      const bool to_application = target == DiscoveryLevel::kApplication;
      const MigrationStep from =
          to_application ? MigrationStep::kForceInterface : MigrationStep::kForceApplication;
      const auto lists = [&](LevelFacts there, LevelFacts here) {
        return to_application ? Lists(there, here) : Lists(here, there);
      };
      MigrationState state;
      Decide(state, Step(from), lists(LevelFacts(), Known(2)));
      const MigrationSettings wanted = Step(ForceStep(target), 100, 0, kDelay, force);
      const absl::Duration due = now_ + kDelay;
      ExpectWaits(Decide(state, wanted, lists(LevelFacts(), Known(2))), from, AllFor(from), due);
      now_ = due;
      // However long that takes; a list tells when to look.
      for (int i = 0; i < 3; ++i) {
        const MigrationDecision decision = Decide(state, wanted, lists(LevelFacts(), Known(2)));
        ExpectWaits(decision, from, AllFor(from));
        EXPECT_THAT(decision.why, HasSubstr("(not known yet)"));
        now_ += absl::Hours(1);
      }
      ExpectAlone(Decide(state, wanted, lists(Known(1), Known(2))), ForceStep(target));
    }
  }
}

TEST_F(MigrationSwitchTest, ItSaysWhatItWaitsFor) {
  const MigrationFacts unknown = Lists(LevelFacts(), Known(2));
  EXPECT_EQ(Decide(Step(MigrationStep::kForceInterface), unknown).waits_for,
            MigrationWait::kNothing);
  const MigrationSettings wanted = Step(MigrationStep::kForceApplication, 100, 1, kDelay);
  EXPECT_EQ(Decide(wanted, unknown).waits_for, MigrationWait::kDelay);
  EXPECT_EQ(Decide(wanted, Lists(1, 2)).waits_for, MigrationWait::kDelay);
  now_ += kDelay;
  EXPECT_EQ(Decide(wanted, unknown).waits_for, MigrationWait::kList);
  EXPECT_EQ(Decide(wanted, Lists(0, 2)).waits_for, MigrationWait::kAgreement);
  EXPECT_EQ(Decide(wanted, Lists(1, 2)).waits_for, MigrationWait::kAgreement);
  // Taken back, while the one to return to has nothing.
  EXPECT_EQ(Decide(Step(MigrationStep::kForceInterface), Lists(1, 0)).waits_for,
            MigrationWait::kAgreement);
  EXPECT_EQ(Decide(wanted, Lists(1, 0)).waits_for, MigrationWait::kNothing);
}

TEST_F(MigrationSwitchTest, ASwitchThatDidNotHappenDoesWhenTheListsAgree) {
  const MigrationSettings wanted = Step(MigrationStep::kForceApplication, 100, 1);
  Decide(Step(MigrationStep::kApplicationFirst, 50, 1), Lists(2, 3));
  // Below the old step's threshold too: the interface level serves.
  ExpectWaits(Decide(wanted, Lists(2, 3)), MigrationStep::kApplicationFirst, 0);
  now_ += absl::Hours(1);
  ExpectWaits(Decide(wanted, Lists(0, 3)), MigrationStep::kApplicationFirst, 0);
  ExpectWaits(Decide(wanted, Lists(0, 0)), MigrationStep::kApplicationFirst, 50);
  ExpectAlone(Decide(wanted, Lists(3, 3)), MigrationStep::kForceApplication);
  // Once there, nothing leads back by itself.
  ExpectAlone(Decide(wanted, Lists(0, 3)), MigrationStep::kForceApplication);
}

TEST_F(MigrationSwitchTest, ForceIsReadAtEachLook) {
  Decide(Step(MigrationStep::kApplicationFirst), Lists(0, 3));
  MigrationSettings wanted = Step(MigrationStep::kForceApplication);
  ExpectWaits(Decide(wanted, Lists(0, 3)), MigrationStep::kApplicationFirst, 0);
  wanted.force = true;
  ExpectAlone(Decide(wanted, Lists(0, 3)), MigrationStep::kForceApplication);
}

TEST_F(MigrationSwitchTest, ADelayCountsFromWhenTheStepWasWanted) {
  Decide(Step(MigrationStep::kApplicationFirst), Lists(3, 3));
  const absl::Duration start = now_;
  MigrationSettings wanted = Step(MigrationStep::kForceApplication, 100, 0, kDelay);
  const auto expect_due = [&](absl::Duration due) {
    ExpectWaits(Decide(wanted, Lists(3, 3)), MigrationStep::kApplicationFirst, 100, due);
  };
  expect_due(start + kDelay);
  now_ += absl::Seconds(30);
  expect_due(start + kDelay);
  // Another delay for the same step.
  wanted.delay = absl::Seconds(90);
  expect_due(start + absl::Seconds(90));
  // Another step: from the beginning.
  wanted.step = MigrationStep::kForceInterface;
  expect_due(now_ + absl::Seconds(90));
  // And so for one that was given up in between.
  now_ += absl::Seconds(30);
  Decide(Step(MigrationStep::kApplicationFirst), Lists(3, 3));
  expect_due(now_ + absl::Seconds(90));
  // A shorter one may be over already.
  now_ += absl::Seconds(30);
  wanted.delay = absl::Seconds(30);
  ExpectAlone(Decide(wanted, Lists(3, 3)), MigrationStep::kForceInterface);
}

TEST_F(MigrationSwitchTest, WhileASwitchWaitsItsProportionAndThresholdDoNotCount) {
  Decide(Step(MigrationStep::kApplicationFirst, 30), Lists(2, 3));
  const MigrationDecision decision =
      Decide(Step(MigrationStep::kForceApplication, 70, 1), Lists(2, 3));
  ExpectWaits(decision, MigrationStep::kApplicationFirst, 30);
  EXPECT_THAT(decision.why, HasSubstr("30% of the calls"));
  EXPECT_THAT(decision.why, HasSubstr("FORCE_APPLICATION is wanted and does not happen without "
                                      "`force`: application level (2 addresses) against interface "
                                      "level (3 addresses), threshold 1"));
}

TEST_F(MigrationSwitchTest, GivingUpASwitchLeavesTheStepAlone) {
  for (const MigrationStep step :
       {MigrationStep::kForceInterface, MigrationStep::kForceApplication}) {
    const MigrationStep other = step == MigrationStep::kForceInterface
                                    ? MigrationStep::kForceApplication
                                    : MigrationStep::kForceInterface;
    MigrationState state;
    ExpectAlone(Decide(state, Step(step), Lists(3, 3)), step);
    ExpectWaits(Decide(state, Step(other, 100, 0, kDelay), Lists(3, 3)), step, AllFor(step),
                now_ + kDelay);
    ExpectAlone(Decide(state, Step(step), Lists(3, 3)), step);
    now_ += absl::Hours(1);
    ExpectAlone(Decide(state, Step(step), Lists(3, 3)), step);
  }
}

TEST_F(MigrationSwitchTest, BackFromForceTheOldLevelServesUntilTheOtherHasAddresses) {
  const MigrationSettings first = Step(MigrationStep::kApplicationFirst, 50);
  Decide(Step(MigrationStep::kForceApplication), Lists(Known(3), LevelFacts()));
  ExpectBoth(Decide(first, Lists(Known(3), LevelFacts())), MigrationStep::kApplicationFirst, 100);
  ExpectBoth(Decide(first, Lists(3, 0)), MigrationStep::kApplicationFirst, 100);
  ExpectBoth(Decide(first, Lists(3, 3)), MigrationStep::kApplicationFirst, 50);

  MigrationState state;
  Decide(state, Step(MigrationStep::kForceInterface), Lists(LevelFacts(), Known(3)));
  ExpectBoth(Decide(state, first, Lists(LevelFacts(), Known(3))), MigrationStep::kApplicationFirst,
             0);
  ExpectBoth(Decide(state, first, Lists(3, 3)), MigrationStep::kApplicationFirst, 50);
}

TEST_F(MigrationSwitchTest, BackAndForth) {
  const MigrationFacts facts = Lists(3, 3);
  for (int round = 0; round < 3; ++round) {
    for (const MigrationStep from : kSteps) {
      for (const MigrationStep to : kSteps) {
        for (const MigrationStep step : {from, to}) {
          const MigrationDecision decision = Decide(Step(step), facts);
          if (step == MigrationStep::kApplicationFirst) {
            ExpectBoth(decision, step, 100);
          } else {
            ExpectAlone(decision, step);
          }
        }
      }
    }
  }
}

TEST_F(MigrationSwitchTest, ALevelThatEmptiesWhileItIsLeftHandsOver) {
  const MigrationSettings wanted = Step(MigrationStep::kForceApplication, 100, 0, kDelay);
  const absl::Duration due = now_ + kDelay;
  Decide(Step(MigrationStep::kForceInterface), Lists(LevelFacts(), Known(3)));
  const auto expect = [&](const MigrationFacts& facts, int proportion) {
    ExpectWaits(Decide(wanted, facts), MigrationStep::kForceInterface, proportion, due);
  };
  expect(Lists(LevelFacts(), Known(3)), 0);
  expect(Lists(3, 3), 0);
  expect(Lists(3, 0), 100);
  expect(Lists(Known(3), Kept(3)), 100);
  expect(Lists(3, 3), 0);
  expect(Lists(0, 0), 0);
  expect(Lists(Kept(3), Kept(3)), 0);
}

}  // namespace
}  // namespace signpost

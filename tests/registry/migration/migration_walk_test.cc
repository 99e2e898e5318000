// Random walks of the state machine: through settings, lists and time, looking at each step whether
// what migration_state.h says holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <random>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "signpost/registry/migration/level_draw.h"
#include "signpost/registry/migration/migration_state.h"
#include "tests/registry/migration/migration_test.h"

namespace signpost {
namespace {

class MigrationWalkTest : public testing::TestWithParam<int> {
 protected:
  // [0, bound)
  size_t Below(size_t bound) { return random_() % bound; }
  bool OneIn(size_t n) { return Below(n) == 0; }
  template <typename T>
  T OneOf(std::initializer_list<T> values) {
    return *(values.begin() + Below(values.size()));
  }

  MigrationSettings AnySettings() {
    return Step(kSteps[Below(std::size(kSteps))], OneOf({0, 1, 30, 50, 100}),
                OneOf({0.0, 0.5, 1.0, 1.5}), absl::Seconds(OneOf({0, 0, 1, 60})), OneIn(3));
  }
  LevelFacts AnyList() {
    LevelFacts facts;
    facts.known = !OneIn(4);
    facts.addresses = OneOf<size_t>({0, 0, 1, 2, 3, 4, 1000});
    facts.kept = facts.known && facts.addresses > 0 && OneIn(4);
    if (OneIn(4)) facts.state = absl::UnavailableError("some link is broken");
    return facts;
  }
  void Wait() { now_ += absl::Milliseconds(OneOf({0, 0, 1, 500, 1000, 30000, 60000})); }

  std::mt19937 random_{static_cast<std::mt19937::result_type>(GetParam())};
  absl::Duration now_ = absl::Seconds(7);
};

// Addresses that count: old ones yield to a level that has others.
size_t Counted(const LevelFacts& mine, const LevelFacts& other) {
  return mine.kept && !other.kept && other.addresses > 0 ? 0 : mine.addresses;
}

// What holds of each decision by itself.
void ExpectSound(const MigrationDecision& decision, const MigrationSettings& wanted,
                 const MigrationFacts& facts, absl::Duration now) {
  const bool forced = decision.step != MigrationStep::kApplicationFirst;
  const bool alone = forced && !decision.switching;
  const DiscoveryLevel level = LevelOf(decision.step);
  const size_t by_application = Counted(facts.application_level, facts.interface_level);
  const size_t by_interface = Counted(facts.interface_level, facts.application_level);

  ASSERT_GE(decision.proportion, 0);
  ASSERT_LE(decision.proportion, 100);
  EXPECT_EQ(decision.primary == DiscoveryLevel::kApplication, decision.proportion > 0);
  EXPECT_EQ(decision.subscribe_application, !alone || level == DiscoveryLevel::kApplication);
  EXPECT_EQ(decision.subscribe_interface, !alone || level == DiscoveryLevel::kInterface);
  EXPECT_EQ(decision.fall_back, !alone);
  // Whoever gets calls is subscribed to.
  EXPECT_TRUE(decision.subscribe_application || decision.proportion == 0);
  EXPECT_TRUE(decision.subscribe_interface || decision.proportion == 100);

  // A step is in force or waited for; APPLICATION_FIRST is never waited for. A FORCE step that is
  // in force is waited for only while its level has nothing and the other one serves.
  if (decision.step != wanted.step) {
    EXPECT_TRUE(decision.switching);
  } else if (decision.switching) {
    const bool by = wanted.step == MigrationStep::kForceApplication;
    EXPECT_EQ(by ? by_application : by_interface, 0u);
    EXPECT_GT(by ? by_interface : by_application, 0u);
  }
  EXPECT_TRUE(!decision.switching || wanted.step != MigrationStep::kApplicationFirst);
  if (decision.next_look.has_value()) {
    EXPECT_TRUE(decision.switching);
    EXPECT_GT(*decision.next_look, now);
    EXPECT_LE(*decision.next_look, now + wanted.delay);
  }
  EXPECT_FALSE(decision.why.empty());

  if (alone) {
    EXPECT_EQ(decision.proportion, AllFor(decision.step));
    return;
  }
  // While both are subscribed to, a level without addresses gets no calls if the other has some.
  if (by_application == 0 && by_interface > 0) {
    EXPECT_EQ(decision.proportion, 0);
  } else if (by_application > 0 && by_interface == 0) {
    EXPECT_EQ(decision.proportion, 100);
  } else if (forced) {
    EXPECT_EQ(decision.proportion, AllFor(decision.step));
  }
}

TEST_P(MigrationWalkTest, EveryDecisionIsSound) {
  MigrationState state;
  MigrationSettings wanted = AnySettings();
  MigrationFacts facts;
  std::optional<MigrationSettings> in_force;
  std::optional<MigrationStep> next;  // a FORCE step that is not in force
  absl::Duration since;
  int switched = 0;
  for (int i = 0; i < 2000; ++i) {
    SCOPED_TRACE(absl::StrCat("step ", i));
    Wait();
    if (OneIn(3)) wanted = AnySettings();
    if (OneIn(2)) facts.application_level = AnyList();
    if (OneIn(2)) facts.interface_level = AnyList();

    const MigrationDecision decision = state.Decide(wanted, facts, now_);
    EXPECT_EQ(decision, state.Decide(wanted, facts, now_)) << decision.why;
    ExpectSound(decision, wanted, facts, now_);

    const auto knows = [](const LevelFacts& level) { return level.known || level.addresses > 0; };
    if (!knows(facts.application_level) && !knows(facts.interface_level)) in_force.reset();
    if (in_force.has_value() && wanted.step == in_force->step && next.has_value() &&
        wanted.step != MigrationStep::kApplicationFirst && !wanted.force) {
      // A switch that is taken back.
      const bool to_application = wanted.step == MigrationStep::kForceApplication;
      const LevelFacts& target = to_application ? facts.application_level : facts.interface_level;
      const LevelFacts& other = to_application ? facts.interface_level : facts.application_level;
      EXPECT_EQ(decision.switching, Counted(target, other) == 0 && Counted(other, target) > 0)
          << decision.why;
    } else if (!in_force.has_value() || wanted.step == in_force->step ||
               wanted.step == MigrationStep::kApplicationFirst) {
      next.reset();
      EXPECT_FALSE(decision.switching) << decision.why;
    } else {
      if (next != wanted.step) since = now_;
      next = wanted.step;
      // What a switch needs.
      const bool to_application = wanted.step == MigrationStep::kForceApplication;
      const LevelFacts& target = to_application ? facts.application_level : facts.interface_level;
      const LevelFacts& other = to_application ? facts.interface_level : facts.application_level;
      const absl::Duration due = since + wanted.delay;
      const bool enough =
          wanted.force ||
          HasEnoughAddresses(Counted(target, other), Counted(other, target), wanted.threshold);
      EXPECT_EQ(decision.switching, now_ < due || !target.known || !enough) << decision.why;
      EXPECT_EQ(decision.next_look, now_ < due ? std::optional<absl::Duration>(due) : std::nullopt);
      if (!decision.switching) ++switched;
    }
    if (decision.switching) {
      // All is as it was, whatever the wanted settings say.
      EXPECT_EQ(decision.step, in_force->step);
      MigrationState before;
      if (in_force->step == MigrationStep::kApplicationFirst) {
        EXPECT_EQ(decision.proportion, before.Decide(*in_force, facts, now_).proportion);
      }
    } else {
      // As one that starts now: nothing of the way here is left.
      MigrationState fresh;
      EXPECT_EQ(decision, fresh.Decide(wanted, facts, now_));
      in_force = wanted;
      next.reset();
    }
    if (HasFailure()) break;  // one is enough to read
  }
  EXPECT_GT(switched, 10);
}

// A consumer, and two registries that always have addresses and tell them some time after they were
// subscribed to. Lists and rules change at random: once calls have found addresses, none ever
// fails.
TEST_P(MigrationWalkTest, NoCallFailsWhileRulesChange) {
  MigrationState state;
  MigrationSettings wanted = AnySettings();
  struct Level {
    size_t there = 1;  // in the registry
    bool subscribed = false;
    LevelFacts facts;  // what it has told
  };
  Level application;
  Level interface;
  MigrationDecision decision;
  int calls = 0;
  std::optional<absl::Duration> timer;

  const auto subscribe = [](Level& level, bool subscribed) {
    level.subscribed = subscribed;
    if (!subscribed) level.facts = LevelFacts();
  };
  const auto decide = [&] {
    decision = state.Decide(wanted, Lists(application.facts, interface.facts), now_);
    subscribe(application, decision.subscribe_application);
    subscribe(interface, decision.subscribe_interface);
    timer = decision.next_look;
  };
  const auto tell = [&](Level& level) {
    if (!level.subscribed) return;
    level.facts = Known(level.there);
    decide();
  };
  const auto finds = [&](DiscoveryLevel drawn) {
    const bool to_application = drawn == DiscoveryLevel::kApplication;
    const Level& chosen = to_application ? application : interface;
    const Level& other = to_application ? interface : application;
    return chosen.facts.addresses > 0 || (decision.fall_back && other.facts.addresses > 0);
  };

  decide();
  tell(application);
  tell(interface);
  for (int i = 0; i < 2000; ++i) {
    SCOPED_TRACE(absl::StrCat("step ", i));
    switch (Below(6)) {
      case 0:
        wanted = AnySettings();
        decide();
        break;
      case 1:
        application.there = 1 + Below(5);
        break;
      case 2:
        interface.there = 1 + Below(5);
        break;
      case 3:
        tell(application);
        break;
      case 4:
        tell(interface);
        break;
      default:
        Wait();
        if (timer.has_value() && now_ >= *timer) decide();
    }
    // Each number that a call may draw.
    for (uint64_t percent = 0; percent < 100; percent += 7) {
      const uint64_t random = ((percent << 32) / 100 + 1) << 32;
      ASSERT_TRUE(finds(LevelOfDraw(decision.proportion, random))) << decision.why;
      ++calls;
    }
  }
  EXPECT_GT(calls, 2000);

  // When rules and lists are at rest and all is told, what is wanted comes, if `force` says so.
  wanted.force = true;
  decide();
  now_ += wanted.delay;
  decide();
  tell(application);
  tell(interface);
  EXPECT_EQ(decision.step, wanted.step) << decision.why;
  EXPECT_FALSE(decision.switching);
  EXPECT_EQ(timer, std::nullopt);
}

// Only what is there now counts where no FORCE step is wanted: the order in which lists came does
// not.
TEST_P(MigrationWalkTest, TheOrderOfListsDoesNotMatter) {
  for (int round = 0; round < 200; ++round) {
    MigrationSettings wanted = AnySettings();
    wanted.step = MigrationStep::kApplicationFirst;
    const LevelFacts by_application = AnyList();
    const LevelFacts by_interface = AnyList();
    MigrationState one;
    MigrationState other;
    for (MigrationState* state : {&one, &other}) state->Decide(wanted, MigrationFacts(), now_);
    one.Decide(wanted, Lists(by_application, LevelFacts()), now_);
    other.Decide(wanted, Lists(LevelFacts(), by_interface), now_);
    const MigrationFacts facts = Lists(by_application, by_interface);
    EXPECT_EQ(one.Decide(wanted, facts, now_), other.Decide(wanted, facts, now_));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, MigrationWalkTest, testing::Range(1, 21));

}  // namespace
}  // namespace signpost

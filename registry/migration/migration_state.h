// By which level one service is found in dual mode, and when that changes.
//
// A pure machine: facts and time in, a decision out. Decide again whenever settings or facts
// change, and at `next_look`; deciding twice from the same facts changes nothing. The decision
// depends on the present settings and facts, on the settings in force, and on since when another
// FORCE step is wanted; not on the order in which lists came.
//
// APPLICATION_FIRST: both levels are subscribed to. The application level serves if it has an
//   address and no smaller share of the interface level's than the threshold; then `proportion`
//   percent of the calls go there. A level that has nothing leaves all calls to the other, at once
//   and for as long as it has nothing.
// FORCE_INTERFACE, FORCE_APPLICATION: only that level is subscribed to. The first step of a service
//   holds at once. Later the level that served goes on while the target is subscribed to as well,
//   until the target is known, the delay is over, and `force` is set or the target has the
//   threshold's share of the other's addresses. Until then step, threshold and proportion stay as
//   they were. No agreement: that is looked at again whenever a list changes. A switch that is
//   taken back leaves the other level just as carefully: without `force` it goes on serving while
//   the one to return to has nothing.
// As long as nothing is known of either level, and neither has an address, what is wanted holds at
// once: there is nothing to switch from.
//
// Source: MigrationRuleHandler, MigrationInvoker, DefaultMigrationAddressComparator of Dubbo 3.3;
//   docs/migration.md says what differs.
//
// Threads: one at a time.
#ifndef SIGNPOST_REGISTRY_MIGRATION_MIGRATION_STATE_H_
#define SIGNPOST_REGISTRY_MIGRATION_MIGRATION_STATE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <tuple>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "signpost/registry/migration/level_draw.h"
#include "signpost/registry/migration/migration_rule.h"

namespace signpost {

// What one level's list is. LevelFacts() for a level that is not subscribed to.
struct LevelFacts {
  // The registry has told the list, be it empty; not one from a cache, and not that it cannot be
  // had.
  bool known = false;
  size_t addresses = 0;  // that can be picked now, also from a cache
  // The registry names none any more, and empty protection keeps the old ones. They yield to a
  // level that has addresses in earnest, and count where there are no others.
  bool kept = false;
  absl::Status state;  // why there are none, or why they may be old; for `why`
};

struct MigrationFacts {
  LevelFacts interface_level;
  LevelFacts application_level;
};

// What a switch to another step waits for.
enum class MigrationWait {
  kNothing,    // there is no switch, or it is done
  kDelay,      // its time
  kList,       // the registry, which has not told the target's list
  kAgreement,  // without `force`: the target has too few addresses, or none
};

struct MigrationDecision {
  bool subscribe_interface = false;
  bool subscribe_application = false;
  MigrationStep step = MigrationStep::kApplicationFirst;  // in force
  bool switching = false;  // another step is wanted and not in force yet, or is still being left
  MigrationWait waits_for = MigrationWait::kNothing;  // kNothing unless `switching`
  // Whose list is the service's: the application level's unless `proportion` is 0.
  DiscoveryLevel primary = DiscoveryLevel::kApplication;
  // Percent of the calls that go to the application level now: 100 all, 0 none; between only while
  // both levels serve, or neither of them does.
  int proportion = 100;
  // A call whose level has no address goes to the other one. False: that level alone counts.
  bool fall_back = true;
  std::optional<absl::Duration> next_look;  // monotonic time; none: only when something changes
  std::string why;                          // for people

  friend bool operator==(const MigrationDecision& a, const MigrationDecision& b) {
    return std::tie(a.subscribe_interface, a.subscribe_application, a.step, a.switching,
                    a.waits_for, a.primary, a.proportion, a.fall_back, a.next_look, a.why) ==
           std::tie(b.subscribe_interface, b.subscribe_application, b.step, b.switching,
                    b.waits_for, b.primary, b.proportion, b.fall_back, b.next_look, b.why);
  }
  friend bool operator!=(const MigrationDecision& a, const MigrationDecision& b) {
    return !(a == b);
  }
};

// Has `candidate` enough addresses to take over from `current`? Not without any; always if
// `current` has none; else from `threshold` on.
bool HasEnoughAddresses(size_t candidate, size_t current, double threshold);

class MigrationState {
 public:
  // `wanted`: what rule, URL and options say now. `now`: monotonic time.
  MigrationDecision Decide(const MigrationSettings& wanted, const MigrationFacts& facts,
                           absl::Duration now);

 private:
  // What is in force; none before the first Decide.
  std::optional<MigrationSettings> in_force_;
  // The FORCE step that is wanted instead, and since when.
  std::optional<MigrationStep> next_step_;
  absl::Duration wanted_since_;
};

}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_MIGRATION_MIGRATION_STATE_H_

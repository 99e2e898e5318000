#include "signpost/registry/migration/migration_state.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace signpost {
namespace {

absl::string_view NameOf(DiscoveryLevel level) {
  return level == DiscoveryLevel::kApplication ? "application level" : "interface level";
}

DiscoveryLevel OtherThan(DiscoveryLevel level) {
  return level == DiscoveryLevel::kApplication ? DiscoveryLevel::kInterface
                                               : DiscoveryLevel::kApplication;
}

// REQUIRES: a FORCE step.
DiscoveryLevel TargetOf(MigrationStep step) {
  return step == MigrationStep::kForceInterface ? DiscoveryLevel::kInterface
                                                : DiscoveryLevel::kApplication;
}

// The facts, with kept addresses weighed.
class Levels {
 public:
  explicit Levels(const MigrationFacts& facts) : facts_(facts) {}

  const LevelFacts& at(DiscoveryLevel level) const {
    return level == DiscoveryLevel::kApplication ? facts_.application_level
                                                 : facts_.interface_level;
  }

  size_t count(DiscoveryLevel level) const {
    const LevelFacts& mine = at(level);
    const LevelFacts& other = at(OtherThan(level));
    const bool yields = mine.kept && !other.kept && other.addresses > 0;
    return yields ? 0 : mine.addresses;
  }

  bool HasEnough(DiscoveryLevel candidate, double threshold) const {
    return HasEnoughAddresses(count(candidate), count(OtherThan(candidate)), threshold);
  }

  // "application level (3 addresses)"
  std::string Describe(DiscoveryLevel level) const {
    const LevelFacts& facts = at(level);
    std::string text = absl::StrCat(NameOf(level), " (");
    if (facts.addresses > 0) {
      absl::StrAppend(&text, facts.addresses, facts.kept ? " old" : "",
                      facts.addresses == 1 ? " address" : " addresses");
    } else {
      absl::StrAppend(&text, facts.known ? "no address" : "not known yet");
    }
    if (!facts.state.ok()) absl::StrAppend(&text, ": ", facts.state.message());
    return absl::StrCat(text, ")");
  }

  bool AnythingKnown() const {
    const auto knows = [](const LevelFacts& facts) { return facts.known || facts.addresses > 0; };
    return knows(facts_.interface_level) || knows(facts_.application_level);
  }

  std::string DescribeBoth() const {
    return absl::StrCat(Describe(DiscoveryLevel::kApplication), ", ",
                        Describe(DiscoveryLevel::kInterface));
  }

 private:
  const MigrationFacts& facts_;
};

struct Split {
  int proportion = 0;
  std::string why;
};

// `level` for all calls.
Split All(DiscoveryLevel level, std::string why) {
  return {level == DiscoveryLevel::kApplication ? 100 : 0, std::move(why)};
}

Split SplitOfApplicationFirst(const MigrationSettings& settings, const Levels& levels) {
  const size_t by_application = levels.count(DiscoveryLevel::kApplication);
  const size_t by_interface = levels.count(DiscoveryLevel::kInterface);
  if (by_application == 0 && by_interface == 0) {
    return {settings.proportion,
            absl::StrCat("neither level has an address: ", levels.DescribeBoth())};
  }
  if (by_application == 0) {
    return All(DiscoveryLevel::kInterface,
               absl::StrCat("only the interface level serves: ", levels.DescribeBoth()));
  }
  if (by_interface == 0) {
    return All(DiscoveryLevel::kApplication,
               absl::StrCat("only the application level serves: ", levels.DescribeBoth()));
  }
  if (!levels.HasEnough(DiscoveryLevel::kApplication, settings.threshold)) {
    return All(DiscoveryLevel::kInterface,
               absl::StrCat("the application level is below the threshold ", settings.threshold,
                            ", the interface level serves: ", levels.DescribeBoth()));
  }
  return {settings.proportion,
          absl::StrCat("both levels serve, ", settings.proportion,
                       "% of the calls by the application level: ", levels.DescribeBoth())};
}

// Of a FORCE step that another one is about to follow: both levels are subscribed to.
Split SplitOfLeaving(DiscoveryLevel level, const Levels& levels) {
  if (levels.count(level) == 0 && levels.count(OtherThan(level)) > 0) level = OtherThan(level);
  return All(level, absl::StrCat("the ", levels.Describe(level), " serves"));
}

}  // namespace

bool HasEnoughAddresses(size_t candidate, size_t current, double threshold) {
  if (candidate == 0) return false;
  if (current == 0) return true;
  return static_cast<double>(candidate) / static_cast<double>(current) >= threshold;
}

MigrationDecision MigrationState::Decide(const MigrationSettings& wanted,
                                         const MigrationFacts& facts, absl::Duration now) {
  const Levels levels(facts);
  MigrationDecision decision;
  std::string waits;

  if (!levels.AnythingKnown()) in_force_.reset();
  const bool forced_step = wanted.step != MigrationStep::kApplicationFirst;
  if (in_force_.has_value() && forced_step && wanted.step == in_force_->step) {
    const DiscoveryLevel target = TargetOf(wanted.step);
    if (next_step_.has_value() && !wanted.force && levels.count(target) == 0 &&
        levels.count(OtherThan(target)) > 0) {
      decision.waits_for = MigrationWait::kAgreement;
      waits = absl::StrCat("waits for the ", levels.Describe(target));
    }
  } else if (in_force_.has_value() && forced_step) {
    if (next_step_ != wanted.step) {
      next_step_ = wanted.step;
      wanted_since_ = now;
    }
    const DiscoveryLevel target = TargetOf(wanted.step);
    if (now < wanted_since_ + wanted.delay) {
      decision.next_look = wanted_since_ + wanted.delay;
      decision.waits_for = MigrationWait::kDelay;
      waits = absl::StrCat("waits for its delay of ", absl::FormatDuration(wanted.delay));
    } else if (!levels.at(target).known) {
      decision.waits_for = MigrationWait::kList;
      waits = absl::StrCat("waits for the ", levels.Describe(target));
    } else if (!wanted.force && !levels.HasEnough(target, wanted.threshold)) {
      decision.waits_for = MigrationWait::kAgreement;
      waits =
          absl::StrCat("does not happen without `force`: ", levels.Describe(target), " against ",
                       levels.Describe(OtherThan(target)), ", threshold ", wanted.threshold);
    }
  }
  decision.switching = decision.waits_for != MigrationWait::kNothing;
  if (!decision.switching) {
    in_force_ = wanted;
    next_step_.reset();
  }

  decision.step = in_force_->step;
  const bool forced = decision.step != MigrationStep::kApplicationFirst;
  const bool alone = forced && !decision.switching;
  decision.subscribe_interface = decision.step != MigrationStep::kForceApplication || !alone;
  decision.subscribe_application = decision.step != MigrationStep::kForceInterface || !alone;
  decision.fall_back = !alone;

  Split split;
  if (!forced) {
    split = SplitOfApplicationFirst(*in_force_, levels);
  } else if (alone) {
    const DiscoveryLevel level = TargetOf(decision.step);
    split = All(level, absl::StrCat("only the ", levels.Describe(level), " counts"));
  } else {
    split = SplitOfLeaving(TargetOf(decision.step), levels);
  }
  decision.proportion = split.proportion;
  decision.primary =
      split.proportion > 0 ? DiscoveryLevel::kApplication : DiscoveryLevel::kInterface;
  decision.why = absl::StrCat(MigrationStepName(decision.step), ": ", split.why);
  if (decision.switching) {
    absl::StrAppend(&decision.why, "; ", MigrationStepName(wanted.step), " is wanted and ", waits);
  }
  return decision;
}

}  // namespace signpost

// Dubbo's migration rule: by which level the services of one consumer application are found.
//
//   key: demo-consumer            # informational
//   step: APPLICATION_FIRST       # FORCE_INTERFACE | APPLICATION_FIRST | FORCE_APPLICATION
//   threshold: 1.0                # application addresses / interface addresses; -1: not set
//   proportion: 60                # percent of calls for the application level
//   delay: 60                     # seconds
//   force: false
//   interfaces:
//     - serviceKey: org.example.Greeter:1.0.0   # interface[:version], no group
//       step: FORCE_APPLICATION                 # and the others of above
//   applications:
//     - serviceKey: demo-provider               # a provider application
//       proportion: 30
//
// Source: MigrationRule, SubMigrationRule of Dubbo 3.3. Unknown keys are ignored. Of two entries
// with one serviceKey the last one counts, and plain `yes`, `no`, `on`, `off` are booleans, as in
// Java. Stricter than Java: a value out of its range, also where no step uses it, and a known key
// misspelt (`stepp`) make the rule invalid.
//
// Threads: values.
// Errors: kInvalidArgument that names the place (`interfaces[0] (org.example.Greeter): delay`), the
//   fault and, for a step, the valid names.
#ifndef SIGNPOST_REGISTRY_MIGRATION_MIGRATION_RULE_H_
#define SIGNPOST_REGISTRY_MIGRATION_MIGRATION_RULE_H_

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "signpost/common/service_key.h"
#include "signpost/common/url.h"

namespace signpost {

enum class MigrationStep { kForceInterface, kApplicationFirst, kForceApplication };

// Dubbo's name.
absl::string_view MigrationStepName(MigrationStep step);
// Exactly one of the names, in capitals.
absl::StatusOr<MigrationStep> ParseMigrationStep(absl::string_view name);

struct MigrationSettings;

// What one place says; each field by itself may be left to others.
struct MigrationFields {
  std::optional<MigrationStep> step;
  std::optional<double> threshold;      // >= 0, or -1: as the process's options say
  std::optional<int> proportion;        // 0..100
  std::optional<absl::Duration> delay;  // whole seconds, >= 0
  std::optional<bool> force;

  // Parameters `migration.step`, `migration.threshold`, `migration.promotion` (so spelt; it is the
  // proportion), `migration.delay`, `migration.force` of a consumer's URL.
  static absl::StatusOr<MigrationFields> OfUrl(const Url& consumer);

  // Of fields that a program has set: kInvalidArgument names the first one that is out of its
  // range, as `migration.delay`. Of what was parsed: OK.
  absl::Status Check() const;
  // With `defaults` where nothing is said. REQUIRES: Check() is OK.
  MigrationSettings Over(const MigrationSettings& defaults) const;

  friend bool operator==(const MigrationFields& a, const MigrationFields& b) {
    return std::tie(a.step, a.threshold, a.proportion, a.delay, a.force) ==
           std::tie(b.step, b.threshold, b.proportion, b.delay, b.force);
  }
};

// What holds for one service.
struct MigrationSettings {
  MigrationStep step = MigrationStep::kApplicationFirst;  // Default: APPLICATION_FIRST
  // The application level is as good as the interface level from this share of addresses on.
  // Default: 0: from the first address on.
  double threshold = 0;
  int proportion = 100;                         // percent of calls. Default: 100
  absl::Duration delay = absl::ZeroDuration();  // before a FORCE step switches. Default: 0
  bool force = false;  // a FORCE step switches whatever the threshold says. Default: false

  friend bool operator==(const MigrationSettings& a, const MigrationSettings& b) {
    return std::tie(a.step, a.threshold, a.proportion, a.delay, a.force) ==
           std::tie(b.step, b.threshold, b.proportion, b.delay, b.force);
  }
};

// What a process has for all its services, when neither rule nor URL says anything.
using MigrationOptions = MigrationSettings;

struct MigrationRule {
  MigrationFields fields;
  std::map<std::string, MigrationFields> interfaces;    // by interface[:version]
  std::map<std::string, MigrationFields> applications;  // by provider application

  // Empty text, or nothing but comments, is a rule that says nothing. At most 1 MiB and one
  // document. Keys that are not known are added to `unknown`, if that is not null
  // (common/near_miss.h).
  static absl::StatusOr<MigrationRule> Parse(absl::string_view text,
                                             std::vector<std::string>* unknown = nullptr);

  // Each field from the first place that has it: the service's interface entry, the entries of
  // `provider_apps` (the mapping's applications, in their order), the rule's top level, `url`,
  // `options`.
  MigrationSettings SettingsFor(const ServiceKey& service,
                                const std::vector<std::string>& provider_apps,
                                const MigrationFields& url, const MigrationOptions& options) const;

  friend bool operator==(const MigrationRule& a, const MigrationRule& b) {
    return std::tie(a.fields, a.interfaces, a.applications) ==
           std::tie(b.fields, b.interfaces, b.applications);
  }
};

}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_MIGRATION_MIGRATION_RULE_H_

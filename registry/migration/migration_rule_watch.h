// The migration rule of one consumer application, watched for all its services.
//
// Item `<application>.migration` of group DUBBO_SERVICEDISCOVERY_MIGRATION; on a tree-like centre
// /dubbo/config/DUBBO_SERVICEDISCOVERY_MIGRATION/<application>.migration. No item, an empty one, no
// application name or no source: the rule that says nothing, so that URLs and options decide.
//
// A text that is no rule changes nothing: the last good rule stays, and one warning says where,
// what is wrong and what would be right. An item that cannot be read keeps the last good rule too;
// before there is any, it counts as none for now, so that a start does not wait for the centre.
//
// Threads: all methods from any thread; callbacks on the executor, no lock held.
// Ownership: executor and source must outlive this. Destroying it cancels all subscriptions and
//   waits for a running callback, unless called from it.
// Errors: none to handle; state() tells.
#ifndef SIGNPOST_REGISTRY_MIGRATION_MIGRATION_RULE_WATCH_H_
#define SIGNPOST_REGISTRY_MIGRATION_MIGRATION_RULE_WATCH_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "signpost/common/config_source.h"
#include "signpost/common/executor.h"
#include "signpost/common/mutex.h"
#include "signpost/common/subscription.h"
#include "signpost/common/watch_set.h"
#include "signpost/registry/migration/migration_rule.h"

namespace signpost {

class MigrationRuleWatch {
 public:
  using RulePtr = std::shared_ptr<const MigrationRule>;
  // Never null.
  using RuleCallback = std::function<void(const RulePtr&)>;

  // Where an application's rule lies.
  static ConfigKey KeyOf(absl::string_view app);

  // `source` may be null: the centre keeps no rules.
  MigrationRuleWatch(Executor& executor, ConfigSource* source, const std::string& app);
  ~MigrationRuleWatch();
  MigrationRuleWatch(const MigrationRuleWatch&) = delete;
  MigrationRuleWatch& operator=(const MigrationRuleWatch&) = delete;

  // Calls `fn` with the present rule as soon as the source has answered, and at each change.
  Subscription Subscribe(RuleCallback fn);

  // The present rule; null until the source has answered.
  RulePtr rule() const;
  // Why the present rule is not what lies in the centre: unreadable or no rule. Else OK.
  absl::Status state() const;

 private:
  void OnItem(const absl::StatusOr<ConfigItem>& item);
  void Use(MigrationRule rule) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::string where_;
  mutable Mutex mutex_;
  RulePtr rule_ ABSL_GUARDED_BY(mutex_);
  absl::Status state_ ABSL_GUARDED_BY(mutex_);
  // What was read last, good or bad; none after an item that could not be read.
  std::optional<std::string> text_ ABSL_GUARDED_BY(mutex_);
  // What the log last said of keys that are not known.
  std::string unknown_ ABSL_GUARDED_BY(mutex_);
  WatchSet<RulePtr> subscribers_;
  Subscription watch_;  // last: ends before what its callback uses
};

}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_MIGRATION_MIGRATION_RULE_WATCH_H_

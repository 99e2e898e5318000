#include "signpost/registry/migration/migration_rule_watch.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "signpost/common/log.h"
#include "signpost/common/near_miss.h"
#include "signpost/common/service_instance.h"
#include "signpost/common/status.h"

namespace signpost {

ConfigKey MigrationRuleWatch::KeyOf(absl::string_view app) {
  return {"DUBBO_SERVICEDISCOVERY_MIGRATION", absl::StrCat(app, ".migration")};
}

MigrationRuleWatch::MigrationRuleWatch(Executor& executor, ConfigSource* source,
                                       const std::string& app)
    : subscribers_(executor) {
  // What is no application name could lead to another item.
  if (source == nullptr || !ValidateAppName(app).ok()) {
    MutexLock lock(mutex_);
    Use(MigrationRule());
    return;
  }
  const ConfigKey key = KeyOf(app);
  where_ = absl::StrCat("migration rule ", source->PathOf(key));
  watch_ = source->Watch(key, [this](const absl::StatusOr<ConfigItem>& item) { OnItem(item); });
}

MigrationRuleWatch::~MigrationRuleWatch() { watch_.Cancel(); }

Subscription MigrationRuleWatch::Subscribe(RuleCallback fn) {
  // Under the lock, so that no rule falls between the present one and the changes.
  MutexLock lock(mutex_);
  if (rule_ == nullptr) return subscribers_.Add(std::move(fn));
  return subscribers_.AddWith(std::move(fn), rule_);
}

MigrationRuleWatch::RulePtr MigrationRuleWatch::rule() const {
  MutexLock lock(mutex_);
  return rule_;
}

absl::Status MigrationRuleWatch::state() const {
  MutexLock lock(mutex_);
  return state_;
}

void MigrationRuleWatch::Use(MigrationRule rule) {
  if (rule_ != nullptr && *rule_ == rule) return;
  rule_ = std::make_shared<const MigrationRule>(std::move(rule));
  subscribers_.Notify(rule_);
}

void MigrationRuleWatch::OnItem(const absl::StatusOr<ConfigItem>& item) {
  std::string warning;
  {
    MutexLock lock(mutex_);
    if (!item.ok() && !absl::IsNotFound(item.status())) {
      // Said once for each run of failures.
      if (state_.ok() || text_.has_value()) {
        warning = absl::StrCat(where_, ": ", item.status().ToString(), "; ",
                               rule_ == nullptr ? "none holds for now" : "the present one stays");
      }
      state_ = Annotate(item.status(), where_);
      text_.reset();
      if (rule_ == nullptr) Use(MigrationRule());
    } else {
      std::string text = item.ok() ? item->text : std::string();
      if (text_ == text) return;
      std::vector<std::string> unknown;
      absl::StatusOr<MigrationRule> rule = MigrationRule::Parse(text, &unknown);
      text_ = std::move(text);
      state_ = Annotate(rule.status(), where_);
      if (rule.ok()) {
        Use(*std::move(rule));
        // Not once more when the centre has been away.
        std::string said = DescribeUnknown(unknown);
        if (said != unknown_ && !said.empty()) warning = absl::StrCat(where_, ": ", said);
        unknown_ = std::move(said);
      } else {
        warning = absl::StrCat(state_.message(), rule_ == nullptr ? "; none holds for now"
                                                                  : "; the previous rule stays");
        if (rule_ == nullptr) Use(MigrationRule());
      }
    }
  }
  if (!warning.empty()) Log(LogLevel::kWarning, warning);
}

}  // namespace signpost

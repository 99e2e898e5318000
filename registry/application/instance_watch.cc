#include "signpost/registry/application/instance_watch.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "signpost/common/log.h"

namespace signpost::application_internal {
namespace {

// As Dubbo Java: three quick tries, then slow ones for as long as it takes.
constexpr int kQuickRetries = 3;
constexpr absl::Duration kQuickRetry = absl::Seconds(1);
constexpr absl::Duration kSlowRetry = absl::Seconds(10);
// A provider that does not answer may hold up the first list of those that do for so long, and then
// the word that there is none.
constexpr absl::Duration kPatience = absl::Milliseconds(500);
constexpr absl::Duration kMorePatience = absl::Milliseconds(1500);

bool OffersNothing(absl::string_view revision) {
  return revision.empty() || revision == kNoServicesRevision;
}

}  // namespace

InstanceWatch::InstanceWatch(Executor& executor, ServiceDiscovery& discovery,
                             MetadataResolver& resolver, CallbackGuard guard, std::string app)
    : executor_(executor),
      discovery_(discovery),
      resolver_(resolver),
      guard_(std::move(guard)),
      app_(std::move(app)) {}

InstanceWatch::~InstanceWatch() {
  subscription_.Cancel();
  for (const auto& [name, revision] : revisions_) CancelTimers(*revision);
}

void InstanceWatch::Start() {
  subscription_ = discovery_.Watch(
      app_, guard_.Wrap([weak = weak_from_this()](absl::StatusOr<InstanceUpdate> update) {
        if (auto self = weak.lock()) self->OnUpdate(std::move(update));
      }));
}

bool InstanceWatch::settled() const { return Settled(false); }

bool InstanceWatch::settled_but_late() const { return Settled(true); }

bool InstanceWatch::Settled(bool but_late) const {
  if (!heard()) return false;
  for (const auto& [name, revision] : revisions_) {
    // One that its last instance has just left is asked for by nobody.
    if (revision->members.empty() || revision->settled()) continue;
    if (!but_late || !revision->late) return false;
  }
  return true;
}

void InstanceWatch::CancelTimers(Revision& revision) {
  executor_.Cancel(std::exchange(revision.retry, 0));
  executor_.Cancel(std::exchange(revision.patience, 0));
}

InstancePtr InstanceWatch::Find(const std::string& id, const Revision** revision) const {
  *revision = nullptr;
  auto it = instances_.find(id);
  if (it == instances_.end()) return nullptr;
  auto found = revisions_.find(std::string(it->second->revision()));
  if (found != revisions_.end()) *revision = found->second.get();
  return it->second;
}

void InstanceWatch::OnUpdate(absl::StatusOr<InstanceUpdate> update) {
  if (!update.ok()) {
    error_ = update.status();
    Tell({});
    return;
  }
  known_ = true;
  error_ = absl::OkStatus();
  std::vector<std::string> ids;
  ids.reserve(update->delta.added.size() + update->delta.changed.size() +
              update->delta.removed.size());
  for (const InstancePtr& instance : update->delta.removed) {
    Drop(*instance);
    ids.push_back(instance->id());
  }
  // First all that come, then those that leave a revision: a revision in use is never forgotten in
  // between.
  for (const InstancePtr& instance : update->delta.added) {
    Take(instance);
    ids.push_back(instance->id());
  }
  for (const InstanceDelta::Change& change : update->delta.changed) {
    if (change.before->revision() != change.after->revision()) Drop(*change.before);
    Take(change.after);
    ids.push_back(change.after->id());
  }
  Tell(ids);
  // After Tell: what is known already is delivered before anything is asked.
  std::vector<std::shared_ptr<Revision>> to_ask;
  for (auto it = revisions_.begin(); it != revisions_.end();) {
    Revision& revision = *it->second;
    if (revision.members.empty()) {
      CancelTimers(revision);
      it = revisions_.erase(it);
      continue;
    }
    if (revision.offers == nullptr && !revision.asking && revision.retry == 0) {
      to_ask.push_back(it->second);
    }
    ++it;
  }
  for (const auto& revision : to_ask) Ask(revision);
}

void InstanceWatch::Take(const InstancePtr& instance) {
  const std::string id = instance->id();
  instances_[id] = instance;
  const std::string name(instance->revision());
  if (OffersNothing(name)) return;
  auto& revision = revisions_[name];
  if (revision == nullptr) {
    revision = std::make_shared<Revision>();
    revision->name = name;
  }
  const bool is_new = revision->members.insert_or_assign(id, instance).second;
  if (!is_new) return;
  // Somebody else to ask.
  if (revision->retry != 0) {
    executor_.Cancel(revision->retry);
    revision->retry = 0;
  } else if (revision->asking) {
    // Joins; the answer comes to the one that asked first.
    resolver_.Resolve(app_, name, {instance}, [](const absl::StatusOr<ResolvedMetadata>&) {});
  }
}

void InstanceWatch::Drop(const ServiceInstance& instance) {
  const std::string id = instance.id();
  instances_.erase(id);
  auto it = revisions_.find(std::string(instance.revision()));
  if (it != revisions_.end()) it->second->members.erase(id);
}

void InstanceWatch::Ask(const std::shared_ptr<Revision>& revision) {
  revision->asking = true;
  if (!revision->settled() && revision->patience == 0) WaitFor(revision, kPatience);
  std::vector<InstancePtr> members;
  members.reserve(revision->members.size());
  for (const auto& [id, instance] : revision->members) members.push_back(instance);
  resolver_.Resolve(
      app_, revision->name, std::move(members),
      guard_.Wrap([weak = weak_from_this(), weak_revision = std::weak_ptr<Revision>(revision)](
                      absl::StatusOr<ResolvedMetadata> answer) {
        auto self = weak.lock();
        auto asked = weak_revision.lock();
        if (self != nullptr && asked != nullptr) self->OnAnswer(asked, std::move(answer));
      }));
}

void InstanceWatch::WaitFor(const std::shared_ptr<Revision>& revision, absl::Duration patience) {
  revision->patience = executor_.PostAfter(
      patience,
      guard_.Wrap([weak = weak_from_this(), weak_revision = std::weak_ptr<Revision>(revision)] {
        auto self = weak.lock();
        auto asked = weak_revision.lock();
        if (self == nullptr || asked == nullptr) return;
        asked->patience = 0;
        asked->overdue = asked->late;
        asked->late = true;
        if (!asked->overdue) self->WaitFor(asked, kMorePatience);
        self->Tell({});
      }));
}

void InstanceWatch::OnAnswer(const std::shared_ptr<Revision>& revision,
                             absl::StatusOr<ResolvedMetadata> answer) {
  revision->asking = false;
  executor_.Cancel(std::exchange(revision->patience, 0));
  std::vector<std::string> ids;
  if (answer.ok()) {
    revision->offers = PrepareOffers(app_, revision->name, std::move(answer->info));
    revision->error = absl::OkStatus();
    revision->failures = 0;
    ids.reserve(revision->members.size());
    for (const auto& [id, instance] : revision->members) ids.push_back(id);
  } else {
    if (revision->error != answer.status()) {
      Log(LogLevel::kWarning, absl::StrCat("application ", app_, ", revision ", revision->name,
                                           ": no metadata: ", answer.status().message()));
    }
    revision->error = answer.status();
    const absl::Duration delay = revision->failures < kQuickRetries ? kQuickRetry : kSlowRetry;
    ++revision->failures;
    revision->retry = executor_.PostAfter(
        delay,
        guard_.Wrap([weak = weak_from_this(), weak_revision = std::weak_ptr<Revision>(revision)] {
          auto self = weak.lock();
          auto failed = weak_revision.lock();
          if (self == nullptr || failed == nullptr) return;
          failed->retry = 0;
          self->Ask(failed);
        }));
  }
  Tell(ids);
}

void InstanceWatch::Tell(const std::vector<std::string>& ids) {
  // Listeners come and go only in tasks of their own.
  for (Listener* listener : listeners_) {
    if (guard_.closed()) return;
    listener->OnInstances(*this, ids);
  }
}

}  // namespace signpost::application_internal

// The watching half of LocalCentre::State.
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "signpost/common/status.h"
#include "signpost/registry/store/local_state.h"

namespace signpost {
namespace {

constexpr absl::Duration kRetryDelay = absl::Seconds(5);

}  // namespace

LocalCentre::State::Watches* LocalCentre::State::FindWatches(const LocalWatch& watch, bool create) {
  if (watch.kind == LocalWatch::Kind::kSession) return &session_watches_;
  auto& by_key = watch.kind == LocalWatch::Kind::kKey ? key_watches_ : tree_watches_;
  if (create) return &by_key[watch.key];
  const auto it = by_key.find(watch.key);
  return it == by_key.end() ? nullptr : &it->second;
}

absl::Status LocalCentre::State::AddWatch(const std::shared_ptr<LocalWatch>& watch) {
  MutexLock lock(mutex_);
  if (watch->session->closed) {
    return absl::FailedPreconditionError(
        absl::StrCat(watch->key, ": ", options_.name, ": the store is closed"));
  }
  FindWatches(*watch, /*create=*/true)->insert(watch);
  if (watch->kind != LocalWatch::Kind::kSession) {
    Schedule(watch);
  } else if (!offline_) {
    Tell(watch, SessionEvent::kConnected);
  }
  return absl::OkStatus();
}

void LocalCentre::State::RemoveWatch(const std::shared_ptr<LocalWatch>& watch) {
  MutexLock lock(mutex_);
  CancelRetry(*watch);
  Watches* watches = FindWatches(*watch, /*create=*/false);
  if (watches == nullptr) return;
  watches->erase(watch);
  if (!watches->empty()) return;
  if (watch->kind == LocalWatch::Kind::kKey) key_watches_.erase(watch->key);
  if (watch->kind == LocalWatch::Kind::kTree) tree_watches_.erase(watch->key);
}

void LocalCentre::State::Notify(const std::string& key) {
  if (const auto it = key_watches_.find(key); it != key_watches_.end()) {
    for (const auto& watch : it->second) Schedule(watch);
  }
  // Each key above it may have got or lost a name.
  size_t end = key.size();
  while (end > 0) {
    const size_t slash = key.rfind('/', end - 1);
    if (slash == std::string::npos) break;
    const auto it = tree_watches_.find(slash == 0 ? "/" : key.substr(0, slash));
    if (it != tree_watches_.end()) {
      const std::string name = key.substr(slash + 1, end - slash - 1);
      for (const auto& watch : it->second) {
        watch->dirty.insert(name);
        Schedule(watch);
      }
    }
    end = slash;
  }
}

// The task does not own the centre's data alone: State goes with the last handle, and a task whose
// State is gone has nothing to tell.
void LocalCentre::State::Schedule(const std::shared_ptr<LocalWatch>& watch) {
  if (watch->scheduled) return;
  watch->scheduled = true;
  watch->session->executor->Post([weak = weak_from_this(), watch] {
    if (const auto state = weak.lock()) state->Deliver(watch);
  });
}

// A read that failed is tried again, for nothing else may ever happen to the key.
void LocalCentre::State::RetryLater(const std::shared_ptr<LocalWatch>& watch) {
  const Watches* watches = FindWatches(*watch, /*create=*/false);
  if (watches == nullptr || watches->count(watch) == 0) return;  // it is being cancelled
  watch->retry = watch->session->executor->PostAfter(
      kRetryDelay, [weak = weak_from_this(), weak_watch = std::weak_ptr<LocalWatch>(watch)] {
        const auto state = weak.lock();
        const auto watch = weak_watch.lock();
        if (state != nullptr && watch != nullptr) state->Deliver(watch);
      });
}

void LocalCentre::State::CancelRetry(LocalWatch& watch) {
  if (watch.retry != 0) watch.session->executor->Cancel(std::exchange(watch.retry, 0));
}

void LocalCentre::State::Tell(const std::shared_ptr<LocalWatch>& watch, SessionEvent event) {
  watch->session->executor->Post([watch, event] {
    if (const Gate::Pass pass = watch->gate.Enter()) watch->on_session(event);
  });
}

void LocalCentre::State::Deliver(const std::shared_ptr<LocalWatch>& watch) {
  const Gate::Pass pass = watch->gate.Enter();
  if (!pass) return;
  if (watch->kind == LocalWatch::Kind::kKey) {
    if (auto value = NextValue(watch)) watch->on_value(*std::move(value));
  } else {
    if (auto delta = NextDelta(watch)) watch->on_tree(*std::move(delta));
  }
}

std::optional<absl::StatusOr<StoreValue>> LocalCentre::State::NextValue(
    const std::shared_ptr<LocalWatch>& shared) {
  LocalWatch& watch = *shared;
  MutexLock lock(mutex_);
  CancelRetry(watch);
  watch.scheduled = false;
  const absl::Status callable = CheckCall(*watch.session);
  absl::StatusOr<std::optional<Record>> record(std::nullopt);
  if (callable.ok()) {
    record = data_->Get(watch.key);
  } else {
    record = callable;
  }
  if (!record.ok()) {
    if (callable.ok()) RetryLater(shared);
    if (std::exchange(watch.told_error, true)) return std::nullopt;
    watch.anew = true;
    return Annotate(record.status(), watch.key);
  }
  watch.told_error = false;
  const bool anew = std::exchange(watch.anew, false);
  if (!record->has_value()) {
    const bool was_there = watch.known.erase("") > 0;
    if (!anew && !was_there) return std::nullopt;
    return absl::NotFoundError(absl::StrCat(watch.key, ": no such key"));
  }
  const auto it = watch.known.find("");
  if (!anew && it != watch.known.end() && it->second.version == (*record)->version) {
    return std::nullopt;
  }
  watch.known[""] = {true, (*record)->version};
  return ToValue(*watch.session, **std::move(record));
}

std::optional<absl::StatusOr<TreeDelta>> LocalCentre::State::NextDelta(
    const std::shared_ptr<LocalWatch>& shared) {
  LocalWatch& watch = *shared;
  MutexLock lock(mutex_);
  CancelRetry(watch);
  watch.scheduled = false;
  TreeDelta delta;
  absl::Status status = CheckCall(*watch.session);
  const bool anew = watch.anew;
  const bool callable = status.ok();
  if (callable) status = FillDelta(watch, delta);
  if (!status.ok()) {
    if (callable) RetryLater(shared);
    watch.anew = true;
    if (std::exchange(watch.told_error, true)) return std::nullopt;
    return Annotate(status, watch.key);
  }
  watch.told_error = false;
  if (delta.empty() && !anew) return std::nullopt;
  return delta;
}

absl::Status LocalCentre::State::FillDelta(LocalWatch& watch, TreeDelta& delta) {
  // By name: what is there now; nullopt: gone.
  std::map<std::string, std::optional<StoreChild>> now;
  if (watch.anew) {
    absl::StatusOr<std::vector<StoreChild>> children = ListLocked(*watch.session, watch.key);
    if (!children.ok()) return children.status();
    for (const auto& [name, known] : watch.known) now[name];
    for (StoreChild& child : *children) {
      std::string name = child.name;
      now[std::move(name)] = std::move(child);
    }
  } else {
    for (const std::string& name : watch.dirty) {
      absl::StatusOr<std::optional<StoreChild>> child = Child(*watch.session, watch.key, name);
      if (!child.ok()) return child.status();
      now[name] = *std::move(child);
    }
  }
  watch.anew = false;
  watch.dirty.clear();
  for (auto& [name, child] : now) {
    const auto it = watch.known.find(name);
    if (!child.has_value()) {
      if (it == watch.known.end()) continue;
      watch.known.erase(it);
      delta.removed.push_back(name);
      continue;
    }
    if (watch.content == TreeContent::kNames) *child = {name, true, StoreValue()};
    const LocalWatch::Known present{child->exists, child->data.version};
    if (it == watch.known.end()) {
      watch.known[name] = present;
      delta.added.push_back(*std::move(child));
    } else if (it->second.exists != present.exists || it->second.version != present.version) {
      it->second = present;
      delta.changed.push_back(*std::move(child));
    }
  }
  return absl::OkStatus();
}

}  // namespace signpost

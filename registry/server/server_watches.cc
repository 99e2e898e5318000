#include "signpost/registry/server/server_watches.h"

#include <iterator>

#include "signpost/common/status.h"
#include "signpost/registry/store/store_key.h"

namespace signpost {
namespace server_internal {
namespace {

constexpr absl::Duration kRetryDelay = absl::Seconds(5);

// An empty server may give a version to another value.
bool Same(const StoreValue& a, const StoreValue& b) {
  return a.version == b.version && a.session_bound == b.session_bound && a.owned == b.owned &&
         a.value == b.value;
}

bool Same(const absl::StatusOr<StoreValue>& a, const absl::StatusOr<StoreValue>& b) {
  if (a.ok() != b.ok()) return false;
  return !a.ok() || Same(*a, *b);
}

bool Same(const StoreChild& a, const StoreChild& b) {
  return a.exists == b.exists && Same(a.data, b.data);
}

template <typename T>
void Append(std::vector<T>& to, std::vector<T>&& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

bool ServerWatches::Current(const Entry& entry) const {
  return connected_ && entry.known && !entry.anew && entry.error.ok();
}

ServerWatches::EntryPtr ServerWatches::FindOrAdd(Name name) {
  EntryPtr& entry = by_name_[name];
  if (entry != nullptr) return entry;
  entry = std::make_shared<Entry>();
  entry->name = std::move(name);
  entry->id = next_id_++;
  entry->value = absl::UnknownError("not read yet");
  by_id_[entry->id] = entry;
  if (session_ != 0) Ask(entry);
  return entry;
}

void ServerWatches::AddValue(const std::string& key, std::shared_ptr<ValueListener> listener) {
  if (absl::Status status = CheckStoreKey(key); !status.ok()) return Tell(listener, status);
  const EntryPtr entry = FindOrAdd({false, key});
  entry->values.push_back(listener);
  if (!entry->error.ok()) return Tell(listener, entry->error);
  if (!Current(*entry)) return ComplainLater();
  listener->told = true;
  Tell(listener, entry->value);
}

void ServerWatches::AddTree(const std::string& prefix, std::shared_ptr<TreeListener> listener) {
  if (absl::Status status = CheckStorePrefix(prefix); !status.ok()) return Tell(listener, status);
  const EntryPtr entry = FindOrAdd({true, prefix});
  entry->trees.push_back(listener);
  if (!entry->error.ok()) return Tell(listener, entry->error);
  if (!Current(*entry)) return ComplainLater();
  listener->told = true;
  Tell(listener, AllOf(*entry));
}

void ServerWatches::AddSession(std::shared_ptr<SessionListener> listener) {
  sessions_.push_back(listener);
  if (connected_) Tell(listener, SessionEvent::kConnected);
}

void ServerWatches::RemoveValue(const std::string& key, const ValueListener* listener) {
  const auto it = by_name_.find({false, key});
  if (it == by_name_.end()) return;
  const EntryPtr entry = it->second;
  EraseListener(entry->values, listener);
  RemoveIfUnused(entry);
}

void ServerWatches::RemoveTree(const std::string& prefix, const TreeListener* listener) {
  const auto it = by_name_.find({true, prefix});
  if (it == by_name_.end()) return;
  const EntryPtr entry = it->second;
  EraseListener(entry->trees, listener);
  RemoveIfUnused(entry);
}

void ServerWatches::RemoveSession(const SessionListener* listener) {
  EraseListener(sessions_, listener);
}

void ServerWatches::RemoveIfUnused(const EntryPtr& entry) {
  if (!entry->values.empty() || !entry->trees.empty()) return;
  by_name_.erase(entry->name);
  by_id_.erase(entry->id);
  if (session_ == 0 || link_->Withdraw(entry->request)) return;
  ServerLink::Request request;
  request.run = [id = entry->id, asked = session_](Connection& connection, int64_t session) {
    if (session != asked) return Outcome::kAnswered;
    return connection.Unwatch(session, id).outcome;
  };
  link_->Enqueue(std::move(request));
}

void ServerWatches::Ask(const EntryPtr& entry) {
  entry->refused = false;
  ServerLink::Request request;
  request.run = [weak = weak_from_this(), executor = executor_, id = entry->id, name = entry->name,
                 asked = session_](Connection& connection, int64_t session) {
    if (session != asked) return Outcome::kAnswered;
    const Answer<bool> answer = connection.Watch(session, id, name.first, name.second);
    if (answer.outcome == Outcome::kAnswered && !answer.value.ok()) {
      executor->Post([weak, id, session, status = answer.value.status()] {
        if (auto self = weak.lock()) self->OnRefused(id, session, status);
      });
    }
    return answer.outcome;
  };
  entry->request = link_->Enqueue(std::move(request));
}

void ServerWatches::OnRefused(int64_t id, int64_t session, const absl::Status& status) {
  const auto it = by_id_.find(id);
  if (it == by_id_.end() || session != session_) return;
  const EntryPtr entry = it->second;
  entry->refused = true;
  RetryLater();
  Fail(*entry, status);
}

void ServerWatches::RetryLater() {
  if (std::exchange(retrying_, true)) return;
  executor_->PostAfter(kRetryDelay, [weak = weak_from_this()] {
    auto self = weak.lock();
    if (self == nullptr) return;
    self->retrying_ = false;
    if (self->session_ == 0) return;  // all are asked for anew then
    for (const auto& [id, entry] : self->by_id_) {
      if (entry->refused) self->Ask(entry);
    }
  });
}

void ServerWatches::ComplainLater() {
  if (connected_ || complaining_ == outage_) return;
  complaining_ = outage_;
  executor_->PostAfter(patience_, [weak = weak_from_this(), outage = outage_] {
    auto self = weak.lock();
    if (self == nullptr) return;
    if (self->complaining_ == outage) self->complaining_ = 0;
    if (self->connected_ || self->outage_ != outage || self->link_->closed()) return;
    const absl::Status why = self->link_->WhyNotConnected();
    for (const auto& [id, entry] : std::map(self->by_id_)) {
      self->Fail(*entry, Annotate(why, entry->name.second));
    }
  });
}

void ServerWatches::OnSession(SessionEvent event, int64_t session) {
  const bool connected = event == SessionEvent::kConnected || event == SessionEvent::kNewSession;
  if (connected_ && !connected) ++outage_;
  connected_ = connected;
  if (connected && session != session_) {
    session_ = session;
    for (const auto& [id, entry] : by_id_) Ask(entry);
  } else if (event == SessionEvent::kExpired) {
    session_ = 0;
    for (const auto& [id, entry] : by_id_) {
      entry->anew = true;
      entry->pieces = TreeDelta();
    }
  }
  const auto listeners = sessions_;
  for (const auto& listener : listeners) Tell(listener, event);
  if (!connected) return ComplainLater();
  for (const auto& [id, entry] : std::map(by_id_)) Confirm(*entry);
}

void ServerWatches::OnEvents(int64_t session, std::vector<WatchEvent> events) {
  for (WatchEvent& event : events) {
    if (session != session_) return;
    const auto it = by_id_.find(event.watch);
    if (it == by_id_.end()) continue;
    const EntryPtr entry = it->second;
    const bool tree = entry->name.first;
    if (!event.error.ok() && (tree || !absl::IsNotFound(event.error))) {
      Fail(*entry, event.error);
    } else if (!event.error.ok()) {
      ShowValue(*entry, event.error);
    } else if (!tree) {
      ShowValue(*entry, std::move(event.value));
    } else {
      Append(entry->pieces.added, std::move(event.delta.added));
      Append(entry->pieces.changed, std::move(event.delta.changed));
      Append(entry->pieces.removed, std::move(event.delta.removed));
      if (event.more) continue;
      const bool first = !entry->known || !entry->error.ok();
      const TreeDelta delta = Take(*entry, std::exchange(entry->pieces, TreeDelta()));
      if (first || !delta.empty()) {
        ShowTree(*entry, delta);
      } else {
        Confirm(*entry);
      }
    }
  }
}

void ServerWatches::ShowValue(Entry& entry, absl::StatusOr<StoreValue> now) {
  const bool changed = !entry.known || !entry.error.ok() || !Same(entry.value, now);
  entry.known = true;
  entry.anew = false;
  entry.error = absl::OkStatus();
  entry.value = std::move(now);
  const auto listeners = entry.values;
  for (const auto& listener : listeners) {
    if (!changed && listener->told) continue;
    listener->told = true;
    Tell(listener, entry.value);
  }
}

TreeDelta ServerWatches::Take(Entry& entry, TreeDelta delta) {
  TreeDelta happened;
  if (std::exchange(entry.anew, false)) {
    std::map<std::string, StoreChild> before = std::exchange(entry.children, {});
    for (StoreChild& child : delta.added) {
      const auto it = before.find(child.name);
      if (it == before.end()) {
        happened.added.push_back(child);
      } else {
        if (!Same(it->second, child)) happened.changed.push_back(child);
        before.erase(it);
      }
      std::string name = child.name;
      entry.children[std::move(name)] = std::move(child);
    }
    for (const auto& [name, child] : before) happened.removed.push_back(name);
    return happened;
  }
  for (const std::string& name : delta.removed) {
    if (entry.children.erase(name) > 0) happened.removed.push_back(name);
  }
  for (auto* children : {&delta.added, &delta.changed}) {
    for (StoreChild& child : *children) {
      const bool there = entry.children.count(child.name) > 0;
      (there ? happened.changed : happened.added).push_back(child);
      std::string name = child.name;
      entry.children[std::move(name)] = std::move(child);
    }
  }
  return happened;
}

TreeDelta ServerWatches::AllOf(const Entry& entry) {
  TreeDelta all;
  for (const auto& [name, child] : entry.children) all.added.push_back(child);
  return all;
}

void ServerWatches::ShowTree(Entry& entry, const TreeDelta& delta) {
  entry.known = true;
  entry.error = absl::OkStatus();
  const auto listeners = entry.trees;
  for (const auto& listener : listeners) {
    if (std::exchange(listener->told, true)) {
      Tell(listener, delta);
    } else {
      Tell(listener, AllOf(entry));
    }
  }
}

void ServerWatches::Confirm(Entry& entry) {
  // A refused one is not watched; what it knew may be old.
  if (!connected_ || !entry.known || entry.anew || entry.refused) return;
  const bool all = !entry.error.ok();
  entry.error = absl::OkStatus();
  const auto values = entry.values;
  for (const auto& listener : values) {
    if (std::exchange(listener->told, true) && !all) continue;
    Tell(listener, entry.value);
  }
  const auto trees = entry.trees;
  for (const auto& listener : trees) {
    if (!std::exchange(listener->told, true)) {
      Tell(listener, AllOf(entry));
    } else if (all) {
      Tell(listener, TreeDelta());
    }
  }
}

void ServerWatches::Fail(Entry& entry, const absl::Status& status) {
  if (!entry.error.ok()) return;
  entry.error = status;
  const auto values = entry.values;
  for (const auto& listener : values) Tell(listener, status);
  const auto trees = entry.trees;
  for (const auto& listener : trees) Tell(listener, status);
}

void ServerWatches::Clear() {
  by_name_.clear();
  by_id_.clear();
  sessions_.clear();
}

}  // namespace server_internal
}  // namespace signpost

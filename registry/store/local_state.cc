#include "signpost/registry/store/local_state.h"

#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "signpost/common/status.h"

namespace signpost {
namespace {

std::string Below(const std::string& prefix) { return prefix == "/" ? "/" : prefix + "/"; }

absl::Status CheckVersion(const std::string& key, const std::optional<KeyValue::Record>& there,
                          int64_t expected) {
  if (!there.has_value()) return absl::NotFoundError(absl::StrCat(key, ": no such key"));
  if (expected == Store::kAnyVersion || there->version == expected) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat(key, ": version is ", there->version, ", not ", expected));
}

}  // namespace

LocalCentre::State::State(std::unique_ptr<KeyValue> data, Options options)
    : options_(std::move(options)), data_(std::move(data)) {}

absl::Status LocalCentre::State::CheckCall(const LocalSession& session) const {
  if (session.closed) {
    return absl::FailedPreconditionError(absl::StrCat(options_.name, ": the store is closed"));
  }
  if (offline_) return absl::UnavailableError(absl::StrCat(options_.name, ": not connected"));
  return absl::OkStatus();
}

absl::Status LocalCentre::State::CheckWrite(const LocalSession& session, const std::string& key,
                                            const std::string* value) const {
  if (absl::Status status = CheckCall(session); !status.ok()) return Annotate(status, key);
  if (!options_.frozen.ok()) return Annotate(options_.frozen, key);
  if (value != nullptr && value->size() > options_.max_value_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        key, ": a value of ", value->size(), " bytes; the limit is ", options_.max_value_bytes));
  }
  return absl::OkStatus();
}

StoreValue LocalCentre::State::ToValue(const LocalSession& session, Record record) const {
  StoreValue result;
  result.value = std::move(record.value);
  result.version = record.version;
  result.session_bound = record.session != 0;
  result.owned = record.session != 0 && record.session == session.id;
  return result;
}

absl::StatusOr<StoreValue> LocalCentre::State::Get(const LocalSession& session,
                                                   const std::string& key) {
  MutexLock lock(mutex_);
  if (absl::Status status = CheckCall(session); !status.ok()) return Annotate(status, key);
  absl::StatusOr<std::optional<Record>> record = data_->Get(key);
  if (!record.ok()) return record.status();
  if (!record->has_value()) return absl::NotFoundError(absl::StrCat(key, ": no such key"));
  return ToValue(session, **std::move(record));
}

absl::StatusOr<std::vector<StoreChild>> LocalCentre::State::List(const LocalSession& session,
                                                                 const std::string& prefix) {
  MutexLock lock(mutex_);
  if (absl::Status status = CheckCall(session); !status.ok()) return Annotate(status, prefix);
  return ListLocked(session, prefix);
}

absl::StatusOr<std::vector<StoreChild>> LocalCentre::State::ListLocked(
    const LocalSession& session, const std::string& prefix) const {
  const std::string below = Below(prefix);
  // By name, as "a", "a-b" and "a/x" lie in this order.
  std::map<std::string, StoreChild> found;
  absl::Status status =
      data_->Scan(below, [&](absl::string_view key, const Record& record, std::string* seek) {
        const absl::string_view rest = key.substr(below.size());
        const size_t slash = rest.find('/');
        std::string name(rest.substr(0, slash));
        const bool direct = slash == absl::string_view::npos;
        StoreChild& child = found[name];
        if (direct) {
          child.exists = true;
          child.data = ToValue(session, record);
        } else {
          if (child.name.empty()) child.exists = false;
          // Over the rest of the subtree: '0' follows '/'.
          *seek = absl::StrCat(below, name, "0");
        }
        child.name = std::move(name);
        return true;
      });
  if (!status.ok()) return status;
  std::vector<StoreChild> result;
  result.reserve(found.size());
  for (auto& [name, child] : found) result.push_back(std::move(child));
  return result;
}

absl::StatusOr<std::optional<StoreChild>> LocalCentre::State::Child(const LocalSession& session,
                                                                    const std::string& prefix,
                                                                    const std::string& name) const {
  const std::string key = Below(prefix) + name;
  absl::StatusOr<std::optional<Record>> record = data_->Get(key);
  if (!record.ok()) return record.status();
  StoreChild child;
  child.name = name;
  if (record->has_value()) {
    child.data = ToValue(session, **std::move(record));
    return child;
  }
  const absl::StatusOr<bool> has_children = HasChildren(key);
  if (!has_children.ok()) return has_children.status();
  if (!*has_children) return std::optional<StoreChild>();
  child.exists = false;
  return child;
}

absl::StatusOr<bool> LocalCentre::State::HasChildren(const std::string& key) const {
  bool any = false;
  absl::Status status =
      data_->Scan(Below(key), [&](absl::string_view, const Record&, std::string*) {
        any = true;
        return false;
      });
  if (!status.ok()) return status;
  return any;
}

absl::StatusOr<int64_t> LocalCentre::State::Write(LocalSession& session, const std::string& key,
                                                  std::string value, bool session_bound) {
  MutexLock lock(mutex_);
  if (absl::Status status = CheckWrite(session, key, &value); !status.ok()) return status;
  DropLeftOver();
  return PutRecord(key, std::move(value), session_bound ? session.id : 0);
}

absl::StatusOr<int64_t> LocalCentre::State::CompareAndSet(LocalSession& session,
                                                          const std::string& key, std::string value,
                                                          int64_t expected_version) {
  MutexLock lock(mutex_);
  if (absl::Status status = CheckWrite(session, key, &value); !status.ok()) return status;
  DropLeftOver();
  absl::StatusOr<std::optional<Record>> there = data_->Get(key);
  if (!there.ok()) return there.status();
  if (expected_version == Store::kAbsent) {
    if (there->has_value())
      return absl::AlreadyExistsError(absl::StrCat(key, ": is there already"));
    return PutRecord(key, std::move(value), 0);
  }
  if (absl::Status status = CheckVersion(key, *there, expected_version); !status.ok()) {
    return status;
  }
  return PutRecord(key, std::move(value), (*there)->session);
}

absl::Status LocalCentre::State::Delete(LocalSession& session, const std::string& key,
                                        int64_t expected_version) {
  MutexLock lock(mutex_);
  if (absl::Status status = CheckWrite(session, key, nullptr); !status.ok()) return status;
  DropLeftOver();
  absl::StatusOr<std::optional<Record>> there = data_->Get(key);
  if (!there.ok()) return there.status();
  if (absl::Status status = CheckVersion(key, *there, expected_version); !status.ok()) {
    return status;
  }
  if (absl::Status status = Apply({{key, std::nullopt}}); !status.ok()) return status;
  if (LocalSession* owner = FindSession((*there)->session)) owner->keys.erase(key);
  return absl::OkStatus();
}

absl::StatusOr<int64_t> LocalCentre::State::PutRecord(const std::string& key, std::string value,
                                                      uint64_t session) {
  absl::StatusOr<std::optional<Record>> before = data_->Get(key);
  if (!before.ok()) return before.status();
  Record record;
  record.value = std::move(value);
  record.version = data_->last_version() + 1;
  record.session = session;
  const int64_t version = record.version;
  if (absl::Status status = Apply({{key, std::move(record)}}); !status.ok()) return status;
  if (before->has_value()) {
    if (LocalSession* owner = FindSession((*before)->session)) owner->keys.erase(key);
  }
  if (LocalSession* owner = FindSession(session)) owner->keys.insert(key);
  return version;
}

absl::Status LocalCentre::State::Apply(const std::vector<KeyValue::Change>& changes) {
  if (changes.empty()) return absl::OkStatus();
  if (absl::Status status = data_->Write(changes, data_->last_version() + 1); !status.ok()) {
    return Annotate(status, changes.front().key);
  }
  for (const KeyValue::Change& change : changes) {
    // Who writes the key of an ended session takes it over, unless it stays bound to that session.
    const auto it = left_over_.find(change.key);
    if (it != left_over_.end() &&
        (!change.record.has_value() || change.record->session != it->second)) {
      left_over_.erase(it);
    }
    Notify(change.key);
  }
  return absl::OkStatus();
}

bool LocalCentre::State::available(const LocalSession& session) {
  MutexLock lock(mutex_);
  return !offline_ && !session.closed;
}

std::shared_ptr<store_internal::LocalSession> LocalCentre::State::OpenSession(
    const Store* handle, std::shared_ptr<Executor> executor) {
  auto session = std::make_shared<LocalSession>();
  session->handle = handle;
  session->executor = std::move(executor);
  MutexLock lock(mutex_);
  DropLeftOver();
  session->id = next_session_++;
  sessions_[session->id] = session;
  return session;
}

store_internal::LocalSession* LocalCentre::State::FindSession(uint64_t id) {
  const auto it = sessions_.find(id);
  return it == sessions_.end() ? nullptr : it->second.get();
}

std::shared_ptr<store_internal::LocalSession> LocalCentre::State::FindSession(const Store& handle) {
  for (const auto& [id, session] : sessions_) {
    if (session->handle == &handle) return session;
  }
  return nullptr;
}

absl::Status LocalCentre::State::AdoptLeftBehind(const Store& handle) {
  MutexLock lock(mutex_);
  const std::shared_ptr<LocalSession> session = FindSession(handle);
  if (session == nullptr) return absl::FailedPreconditionError("the store is closed");
  // Numbers of sessions begin anew with each process, so the number alone says nothing.
  std::vector<KeyValue::Change> changes;
  absl::Status status =
      data_->Scan("", [&](absl::string_view key, const Record& record, std::string*) {
        if (record.session == 0) return true;
        std::string name(key);
        const LocalSession* owner = FindSession(record.session);
        if (owner != nullptr && owner->keys.count(name) > 0) return true;
        Record adopted = record;
        adopted.session = session->id;
        changes.push_back({std::move(name), std::move(adopted)});
        return true;
      });
  // No version changes, so there is nothing to tell.
  if (status.ok() && !changes.empty()) status = data_->Write(changes, data_->last_version());
  if (!status.ok()) return status;
  for (const KeyValue::Change& change : changes) {
    session->keys.insert(change.key);
    left_over_.erase(change.key);
  }
  return absl::OkStatus();
}

void LocalCentre::State::LeaveBehind(const Store& handle) {
  MutexLock lock(mutex_);
  const std::shared_ptr<LocalSession> session = FindSession(handle);
  if (session == nullptr) return;
  session->keys.clear();
  session->left_behind = true;
}

void LocalCentre::State::DropEnded() {
  MutexLock lock(mutex_);
  DropLeftOver();
}

void LocalCentre::State::DropKeys(LocalSession& session) {
  if (!session.left_behind) {
    for (const std::string& key : session.keys) left_over_[key] = session.id;
  }
  session.keys.clear();
  DropLeftOver();
}

void LocalCentre::State::DropLeftOver() {
  std::vector<KeyValue::Change> changes;
  for (const auto& [key, session] : left_over_) changes.push_back({key, std::nullopt});
  // What a full disk keeps from going is tried again at the next write or DropEnded; at the latest
  // the next opening of the data drops it.
  Apply(changes).IgnoreError();
}

std::vector<std::shared_ptr<store_internal::LocalWatch>> LocalCentre::State::CloseSession(
    LocalSession& session) {
  std::vector<std::shared_ptr<LocalWatch>> ended;
  MutexLock lock(mutex_);
  if (session.closed) return ended;
  session.closed = true;
  const auto take = [&](Watches& watches) {
    for (auto it = watches.begin(); it != watches.end();) {
      if ((*it)->session.get() == &session) {
        CancelRetry(**it);
        ended.push_back(*it);
        it = watches.erase(it);
      } else {
        ++it;
      }
    }
    return watches.empty();
  };
  for (auto* by_key : {&key_watches_, &tree_watches_}) {
    for (auto it = by_key->begin(); it != by_key->end();) {
      it = take(it->second) ? by_key->erase(it) : std::next(it);
    }
  }
  take(session_watches_);
  DropKeys(session);
  sessions_.erase(session.id);
  return ended;
}

void LocalCentre::State::ExpireSession(const Store& handle) {
  MutexLock lock(mutex_);
  const std::shared_ptr<LocalSession> session = FindSession(handle);
  if (session == nullptr) return;
  DropKeys(*session);
  sessions_.erase(session->id);
  session->id = next_session_++;
  sessions_[session->id] = session;
  for (const auto& watch : session_watches_) {
    if (watch->session != session) continue;
    Tell(watch, SessionEvent::kExpired);
    Tell(watch, SessionEvent::kNewSession);
  }
}

void LocalCentre::State::SetOffline(bool offline) {
  MutexLock lock(mutex_);
  if (offline_ == offline) return;
  offline_ = offline;
  for (const auto& watch : session_watches_) {
    Tell(watch, offline ? SessionEvent::kDisconnected : SessionEvent::kConnected);
  }
  for (auto* watches : {&key_watches_, &tree_watches_}) {
    for (const auto& [key, at_key] : *watches) {
      for (const auto& watch : at_key) {
        watch->anew = true;
        watch->told_error = false;
        Schedule(watch);
      }
    }
  }
}

size_t LocalCentre::State::watch_count() {
  MutexLock lock(mutex_);
  size_t count = session_watches_.size();
  for (const auto* watches : {&key_watches_, &tree_watches_}) {
    for (const auto& [key, at_key] : *watches) count += at_key.size();
  }
  return count;
}

}  // namespace signpost

#include "signpost/registry/zookeeper/zookeeper_watches.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "signpost/common/log.h"
#include "signpost/common/status.h"
#include "signpost/registry/store/store_key.h"
#include "signpost/registry/zookeeper/zookeeper_calls.h"

namespace signpost {
namespace zookeeper_internal {
namespace {

using Kind = NodeRequest::Kind;

constexpr absl::Duration kRetryDelay = absl::Seconds(5);

bool Same(const absl::StatusOr<StoreValue>& a, const absl::StatusOr<StoreValue>& b) {
  if (a.ok() != b.ok()) return false;
  return !a.ok() || (a->version == b->version && a->owned == b->owned);
}

}  // namespace

absl::Status ZookeeperWatches::TooMany(const std::string& path) const {
  return absl::ResourceExhaustedError(absl::StrCat(
      "zookeeper ", path, ": its watches would bring the paths watched by this session above ",
      limit_, " bytes; the server (jute.maxbuffer) would refuse to renew them after a reconnect"));
}

void ZookeeperWatches::AddValue(const std::string& key, std::shared_ptr<ValueListener> listener) {
  if (absl::Status status = CheckStoreKey(key); !status.ok()) {
    return Tell(listener, Annotate(status, "zookeeper"));
  }
  auto& value = values_[key];
  if (value == nullptr) {
    value = std::make_shared<Value>();
    value->key = key;
    value->shown = absl::UnknownError("not read yet");
  }
  auto shared = value;
  shared->listeners.push_back(listener);
  if (!shared->error.ok()) {
    Tell(listener, shared->error);
  } else if (shared->known) {
    listener->told = true;
    Tell(listener, shared->shown);
  }
  if (!shared->busy && shared->marked) SyncValue(shared);
  if (!shared->known) ComplainLater();
}

void ZookeeperWatches::RemoveValue(const std::string& key, const ValueListener* listener) {
  const auto it = values_.find(key);
  if (it == values_.end()) return;
  const auto value = it->second;
  EraseListener(value->listeners, listener);
  if (!value->listeners.empty()) return;
  values_.erase(it);
  DropValue(value);
}

void ZookeeperWatches::DropValue(const std::shared_ptr<Value>& value) {
  value->dropped = true;
  bytes_ -= std::exchange(value->bytes, 0);
  // A reader that is under way would set the watch again; it ends here then.
  if (!value->busy) Unwatch(Kind::kUnwatchData, value->key);
}

Flow ZookeeperWatches::SyncValue(std::shared_ptr<Value> value) {
  auto self = shared_from_this();
  value->busy = true;
  while (value->marked && !value->dropped) {
    if (!co_await session_->WhenConnected()) co_return;
    if (value->dropped) break;
    if (value->bytes == 0) {
      const size_t bytes = WatchBytes(value->key);
      if (bytes_ + bytes > limit_) {
        FailValue(*value, TooMany(value->key));
        RetryLater();
        break;
      }
      bytes_ += bytes;
      value->bytes = bytes;
    }
    value->marked = false;
    Reply reply = co_await session_->Do(Watched(Kind::kGet, value->key));
    if (reply.missing()) {
      // A read of a missing node leaves no watch; asking whether it exists does.
      Reply exists = co_await session_->Do(Watched(Kind::kExists, value->key));
      if (exists.ok()) {
        value->marked = true;
        continue;
      }
      reply = std::move(exists);
    }
    if (reply.ok()) {
      ShowValue(*value, ToValue(std::move(reply), session_->session_id()));
    } else if (reply.missing()) {
      ShowValue(*value, reply.ToStatus(value->key));
    } else {
      value->marked = true;
      FailValue(*value, reply.ToStatus(value->key));
      if (reply.code == absl::StatusCode::kUnavailable) continue;
      RetryLater();
      break;
    }
  }
  value->busy = false;
  if (value->dropped) Unwatch(Kind::kUnwatchData, value->key);
}

void ZookeeperWatches::ShowValue(Value& value, absl::StatusOr<StoreValue> now) {
  const bool changed = !value.known || !value.error.ok() || !Same(value.shown, now);
  value.known = true;
  value.error = absl::OkStatus();
  value.shown = std::move(now);
  const auto listeners = value.listeners;
  for (const auto& listener : listeners) {
    if (changed || !listener->told) {
      listener->told = true;
      Tell(listener, value.shown);
    }
  }
}

void ZookeeperWatches::FailValue(Value& value, const absl::Status& status) {
  if (value.error.code() == status.code()) return;
  value.error = status;
  const auto listeners = value.listeners;
  for (const auto& listener : listeners) Tell(listener, status);
}

void ZookeeperWatches::OnNode(NodeEvent event, const std::string& path) {
  if (const auto it = values_.find(path); it != values_.end() && event != NodeEvent::kChildren) {
    const auto value = it->second;
    value->marked = true;
    if (!value->busy) SyncValue(value);
  }
  for (const TreeContent content : {TreeContent::kValues, TreeContent::kNames}) {
    const auto it = trees_.find({path, content});
    if (it == trees_.end() || event == NodeEvent::kChanged) continue;
    const auto tree = it->second;
    tree->list = true;
    if (!tree->busy) SyncTree(tree);
  }
  if (path == "/" || event == NodeEvent::kChildren) return;
  const auto it = trees_.find({ParentOf(path), TreeContent::kValues});
  if (it == trees_.end()) return;
  const auto tree = it->second;
  const std::string name = path.substr(path.rfind('/') + 1);
  const auto node = tree->nodes.find(name);
  if (node == tree->nodes.end()) return;
  if (event == NodeEvent::kChanged) {
    tree->marked.insert(name);
    if (!tree->busy) SyncTree(tree);
  } else if (event == NodeEvent::kDeleted) {
    // The watch on the names fires too and says whether it is there again; then it is read anew.
    bytes_ -= std::exchange(node->second.bytes, 0);
  }
}

void ZookeeperWatches::OnSession(SessionEvent event) {
  if (event == SessionEvent::kExpired) {
    const absl::Status lost = absl::UnavailableError("zookeeper: the session has expired");
    for (const auto& [key, value] : std::map(values_)) {
      value->marked = true;
      FailValue(*value, Annotate(lost, key));
    }
    for (const auto& [key, tree] : std::map(trees_)) {
      tree->list = true;
      for (const auto& [name, node] : tree->nodes) {
        if (node.present && tree->content == TreeContent::kValues) tree->marked.insert(name);
      }
      FailTree(*tree, Annotate(lost, tree->prefix));
    }
  }
  const auto listeners = sessions_;
  for (const auto& listener : listeners) Tell(listener, event);
  // A new session has no watch that was not asked for.
  if (event == SessionEvent::kNewSession) unwatch_.clear();
  if (event == SessionEvent::kConnected || event == SessionEvent::kNewSession) SyncMarked();
  if (event == SessionEvent::kConnected) {
    for (const auto& [kind, path] : std::exchange(unwatch_, {})) Unwatch(kind, path);
  }
}

void ZookeeperWatches::SyncMarked() {
  for (const auto& [key, value] : std::map(values_)) {
    if (!value->busy && value->marked) SyncValue(value);
  }
  for (const auto& [key, tree] : std::map(trees_)) {
    if (!tree->busy && (tree->list || !tree->marked.empty())) SyncTree(tree);
  }
}

void ZookeeperWatches::ComplainLater() {
  if (session_->refused()) return Complain();
  if (session_->connected() || std::exchange(complaining_, true)) return;
  executor_->PostAfter(patience_, [weak = weak_from_this()] {
    auto self = weak.lock();
    if (self == nullptr) return;
    self->complaining_ = false;
    self->Complain();
  });
}

void ZookeeperWatches::Complain() {
  if (session_->connected() || session_->closed()) return;
  const absl::Status why = session_->WhyNotConnected();
  for (const auto& [key, value] : std::map(values_)) {
    if (!value->known) FailValue(*value, Annotate(why, key));
  }
  for (const auto& [key, tree] : std::map(trees_)) {
    if (!tree->known) FailTree(*tree, Annotate(why, tree->prefix));
  }
}

void ZookeeperWatches::RetryLater() {
  if (std::exchange(retrying_, true)) return;
  executor_->PostAfter(kRetryDelay, [weak = weak_from_this()] {
    auto self = weak.lock();
    if (self == nullptr) return;
    self->retrying_ = false;
    for (const auto& [key, tree] : self->trees_) tree->marked.merge(tree->unread);
    if (self->session_->connected()) self->SyncMarked();
  });
}

void ZookeeperWatches::AddSession(std::shared_ptr<SessionListener> listener) {
  sessions_.push_back(listener);
  if (session_->connected()) Tell(listener, SessionEvent::kConnected);
}

void ZookeeperWatches::RemoveSession(const SessionListener* listener) {
  EraseListener(sessions_, listener);
}

void ZookeeperWatches::Clear() {
  // Readers that are under way end.
  for (const auto& [key, value] : values_) value->dropped = true;
  for (const auto& [key, tree] : trees_) tree->dropped = true;
  values_.clear();
  trees_.clear();
  sessions_.clear();
}

void ZookeeperWatches::Unwatch(Kind kind, const std::string& path) {
  if (!session_->connected()) {
    // The library renews it when it connects again: taken back then.
    if (!session_->closed()) unwatch_.emplace(kind, path);
    return;
  }
  const auto value = values_.find(path);
  if (HasTree(path)) return;
  if (kind != Kind::kUnwatchChildren) {
    if (value != values_.end()) return;
    const auto parent = trees_.find({ParentOf(path), TreeContent::kValues});
    if (path != "/" && parent != trees_.end() &&
        parent->second->nodes.count(path.substr(path.rfind('/') + 1)) > 0) {
      return;
    }
  }
  NodeRequest request;
  request.kind = kind;
  request.path = path;
  // "No such watch" is as good.
  session_->Start(std::move(request), [](Reply) {});
}

}  // namespace zookeeper_internal
}  // namespace signpost

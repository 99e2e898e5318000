#include "signpost/registry/zookeeper/zookeeper_watches.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "signpost/common/log.h"
#include "signpost/common/status.h"
#include "signpost/registry/zookeeper/zookeeper_calls.h"

namespace signpost {
namespace zookeeper_internal {
namespace {

using Kind = NodeRequest::Kind;

constexpr absl::Duration kRetryDelay = absl::Seconds(5);

NodeRequest Watched(Kind kind, const std::string& path) {
  NodeRequest request;
  request.kind = kind;
  request.path = path;
  request.watch = true;
  return request;
}

size_t WatchBytes(const std::string& path) { return path.size() + 4; }

template <typename L>
void Erase(std::vector<std::shared_ptr<L>>& listeners, const L* listener) {
  listeners.erase(std::remove_if(listeners.begin(), listeners.end(),
                                 [listener](const auto& l) { return l.get() == listener; }),
                  listeners.end());
}

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

// --- one key ---

void ZookeeperWatches::AddValue(const std::string& key, std::shared_ptr<ValueListener> listener) {
  if (absl::Status status = CheckKey(key); !status.ok()) return Tell(listener, std::move(status));
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
  Erase(value->listeners, listener);
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
  if (!value.error.ok()) return;
  value.error = status;
  const auto listeners = value.listeners;
  for (const auto& listener : listeners) Tell(listener, status);
}

// --- the children of a prefix ---

void ZookeeperWatches::AddTree(const std::string& prefix, std::shared_ptr<TreeListener> listener) {
  if (absl::Status status = CheckKey(prefix); !status.ok())
    return Tell(listener, std::move(status));
  auto& slot = trees_[prefix];
  if (slot == nullptr) {
    slot = std::make_shared<Tree>();
    slot->prefix = prefix;
  }
  const auto tree = slot;
  tree->listeners.push_back(listener);
  if (!tree->error.ok()) {
    Tell(listener, tree->error);
  } else if (tree->known) {
    listener->told = true;
    Tell(listener, AllOf(*tree));
  }
  if (!tree->busy && tree->list) SyncTree(tree);
  if (!tree->known) ComplainLater();
}

void ZookeeperWatches::RemoveTree(const std::string& prefix, const TreeListener* listener) {
  const auto it = trees_.find(prefix);
  if (it == trees_.end()) return;
  const auto tree = it->second;
  Erase(tree->listeners, listener);
  if (!tree->listeners.empty()) return;
  trees_.erase(it);
  DropTree(tree);
}

void ZookeeperWatches::DropTree(const std::shared_ptr<Tree>& tree) {
  tree->dropped = true;
  bytes_ -= std::exchange(tree->bytes, 0);
  for (auto& [name, node] : tree->nodes) bytes_ -= std::exchange(node.bytes, 0);
  if (tree->busy) return;  // its reader ends here again
  Unwatch(Kind::kUnwatchChildren, tree->prefix);
  Unwatch(Kind::kUnwatchData, tree->prefix);
  for (const auto& [name, node] : tree->nodes) {
    Unwatch(Kind::kUnwatchData, ChildOf(tree->prefix, name));
  }
}

Flow ZookeeperWatches::SyncTree(std::shared_ptr<Tree> tree) {
  auto self = shared_from_this();
  tree->busy = true;
  while (!tree->dropped && (tree->list || !tree->marked.empty() || !tree->touched.empty())) {
    if (!co_await session_->WhenConnected()) co_return;
    if (tree->dropped) break;
    if (tree->list) {
      tree->list = false;
      Reply names = co_await session_->Do(Watched(Kind::kChildren, tree->prefix));
      if (names.missing()) {
        Reply exists = co_await session_->Do(Watched(Kind::kExists, tree->prefix));
        if (exists.ok()) {
          tree->list = true;
          continue;
        }
        names = std::move(exists);
      }
      if (!names.ok() && !names.missing()) {
        tree->list = true;
        FailTree(*tree, names.ToStatus(tree->prefix));
        if (names.code == absl::StatusCode::kUnavailable) continue;
        RetryLater();
        break;
      }
      if (!TakeNames(*tree, std::move(names.names))) {
        tree->list = true;
        FailTree(*tree, TooMany(tree->prefix));
        RetryLater();
        break;
      }
    }
    const std::vector<std::string> names(tree->marked.begin(), tree->marked.end());
    tree->marked.clear();
    std::vector<std::string> paths;
    paths.reserve(names.size());
    for (const std::string& name : names) paths.push_back(ChildOf(tree->prefix, name));
    std::vector<Reply> replies = co_await session_->GetMany(std::move(paths), true);
    if (tree->dropped) break;
    TakeReplies(*tree, names, std::move(replies));
    // A name that came or a read that was lost: finish that first, so that nobody sees half of it.
    if (tree->list || !tree->marked.empty()) continue;
    ShowTree(*tree);
  }
  tree->busy = false;
  if (tree->dropped) DropTree(tree);
}

bool ZookeeperWatches::TakeNames(Tree& tree, std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  size_t bytes = tree.bytes == 0 ? WatchBytes(tree.prefix) : 0;
  for (const std::string& name : names) {
    const auto it = tree.nodes.find(name);
    if (it == tree.nodes.end() || it->second.bytes == 0) {
      bytes += WatchBytes(ChildOf(tree.prefix, name));
    }
  }
  if (bytes_ + bytes > limit_) return false;
  if (tree.bytes == 0) bytes_ += tree.bytes = WatchBytes(tree.prefix);
  for (const std::string& name : names) {
    Node& node = tree.nodes[name];
    if (node.bytes == 0) {
      // New, or it was away.
      bytes_ += node.bytes = WatchBytes(ChildOf(tree.prefix, name));
      tree.marked.insert(name);
    }
    node.present = true;
  }
  for (auto& [name, node] : tree.nodes) {
    if (!node.present || std::binary_search(names.begin(), names.end(), name)) continue;
    node.present = false;
    bytes_ -= std::exchange(node.bytes, 0);
    tree.marked.erase(name);
    tree.touched.insert(name);
  }
  return true;
}

void ZookeeperWatches::TakeReplies(Tree& tree, const std::vector<std::string>& names,
                                   std::vector<Reply> replies) {
  for (size_t i = 0; i < replies.size(); ++i) {
    const auto it = tree.nodes.find(names[i]);
    if (it == tree.nodes.end()) continue;
    Node& node = it->second;
    Reply& reply = replies[i];
    if (reply.code == absl::StatusCode::kUnavailable) {
      tree.marked.insert(names[i]);
      FailTree(tree, reply.ToStatus(ChildOf(tree.prefix, names[i])));
      continue;
    }
    tree.touched.insert(names[i]);
    if (reply.ok()) {
      node.fresh = ToValue(std::move(reply), session_->session_id());
      continue;
    }
    if (!reply.missing()) {
      Log(LogLevel::kWarning,
          absl::StrCat(reply.ToStatus(ChildOf(tree.prefix, names[i])).message(), "; left out"));
    }
    // Gone since the names were read; their watch tells if it comes back.
    node.present = false;
    bytes_ -= std::exchange(node.bytes, 0);
  }
}

TreeDelta ZookeeperWatches::AllOf(const Tree& tree) {
  TreeDelta all;
  for (const auto& [name, node] : tree.nodes) {
    if (node.shown.has_value()) all.added.push_back({name, true, *node.shown});
  }
  std::sort(all.added.begin(), all.added.end(),
            [](const StoreChild& a, const StoreChild& b) { return a.name < b.name; });
  return all;
}

void ZookeeperWatches::ShowTree(Tree& tree) {
  TreeDelta delta;
  for (const std::string& name : tree.touched) {
    const auto it = tree.nodes.find(name);
    if (it == tree.nodes.end()) continue;
    Node& node = it->second;
    if (!node.present) {
      if (node.shown.has_value()) delta.removed.push_back(name);
      tree.nodes.erase(it);
      continue;
    }
    if (!node.fresh.has_value()) continue;
    if (!node.shown.has_value()) {
      delta.added.push_back({name, true, *node.fresh});
    } else if (node.shown->version != node.fresh->version ||
               node.shown->owned != node.fresh->owned) {
      delta.changed.push_back({name, true, *node.fresh});
    }
    node.shown = std::move(node.fresh);
    node.fresh.reset();
  }
  tree.touched.clear();
  const bool tell = !tree.known || !tree.error.ok() || !delta.empty();
  tree.known = true;
  tree.error = absl::OkStatus();
  std::optional<TreeDelta> all;
  const auto listeners = tree.listeners;
  for (const auto& listener : listeners) {
    if (listener->told) {
      if (tell) Tell(listener, delta);
      continue;
    }
    if (!all.has_value()) all = AllOf(tree);
    listener->told = true;
    Tell(listener, *all);
  }
}

void ZookeeperWatches::FailTree(Tree& tree, const absl::Status& status) {
  if (!tree.error.ok()) return;
  tree.error = status;
  const auto listeners = tree.listeners;
  for (const auto& listener : listeners) Tell(listener, status);
}

// --- events ---

void ZookeeperWatches::OnNode(NodeEvent event, const std::string& path) {
  if (const auto it = values_.find(path); it != values_.end() && event != NodeEvent::kChildren) {
    const auto value = it->second;
    value->marked = true;
    if (!value->busy) SyncValue(value);
  }
  if (const auto it = trees_.find(path); it != trees_.end() && event != NodeEvent::kChanged) {
    const auto tree = it->second;
    tree->list = true;
    if (!tree->busy) SyncTree(tree);
  }
  if (path == "/" || event == NodeEvent::kChildren) return;
  const auto it = trees_.find(ParentOf(path));
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
    for (const auto& [prefix, tree] : std::map(trees_)) {
      tree->list = true;
      for (const auto& [name, node] : tree->nodes) {
        if (node.present) tree->marked.insert(name);
      }
      FailTree(*tree, Annotate(lost, prefix));
    }
  }
  const auto listeners = sessions_;
  for (const auto& listener : listeners) Tell(listener, event);
  if (event == SessionEvent::kConnected || event == SessionEvent::kNewSession) SyncMarked();
}

void ZookeeperWatches::SyncMarked() {
  for (const auto& [key, value] : std::map(values_)) {
    if (!value->busy && value->marked) SyncValue(value);
  }
  for (const auto& [prefix, tree] : std::map(trees_)) {
    if (!tree->busy && (tree->list || !tree->marked.empty())) SyncTree(tree);
  }
}

void ZookeeperWatches::ComplainLater() {
  if (session_->connected() || std::exchange(complaining_, true)) return;
  executor_->PostAfter(patience_, [weak = weak_from_this()] {
    auto self = weak.lock();
    if (self == nullptr) return;
    self->complaining_ = false;
    if (self->session_->connected() || self->session_->closed()) return;
    const absl::Status why = self->session_->WhyNotConnected();
    for (const auto& [key, value] : std::map(self->values_)) {
      if (!value->known) self->FailValue(*value, Annotate(why, key));
    }
    for (const auto& [prefix, tree] : std::map(self->trees_)) {
      if (!tree->known) self->FailTree(*tree, Annotate(why, prefix));
    }
  });
}

void ZookeeperWatches::RetryLater() {
  if (std::exchange(retrying_, true)) return;
  executor_->PostAfter(kRetryDelay, [weak = weak_from_this()] {
    auto self = weak.lock();
    if (self == nullptr) return;
    self->retrying_ = false;
    if (self->session_->connected()) self->SyncMarked();
  });
}

void ZookeeperWatches::AddSession(std::shared_ptr<SessionListener> listener) {
  sessions_.push_back(listener);
  if (session_->connected()) Tell(listener, SessionEvent::kConnected);
}

void ZookeeperWatches::RemoveSession(const SessionListener* listener) {
  Erase(sessions_, listener);
}

void ZookeeperWatches::Clear() {
  values_.clear();
  trees_.clear();
  sessions_.clear();
}

void ZookeeperWatches::Unwatch(Kind kind, const std::string& path) {
  if (!session_->connected()) return;
  const auto value = values_.find(path);
  const auto tree = trees_.find(path);
  if (kind == Kind::kUnwatchChildren) {
    if (tree != trees_.end()) return;
  } else {
    if (value != values_.end() || tree != trees_.end()) return;
    const auto parent = trees_.find(ParentOf(path));
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

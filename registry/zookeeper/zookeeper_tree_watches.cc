// ZookeeperWatches: the children of a prefix.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "signpost/common/log.h"
#include "signpost/common/status.h"
#include "signpost/registry/store/store_key.h"
#include "signpost/registry/zookeeper/zookeeper_calls.h"
#include "signpost/registry/zookeeper/zookeeper_watches.h"

namespace signpost {
namespace zookeeper_internal {

using Kind = NodeRequest::Kind;

void ZookeeperWatches::AddTree(const std::string& prefix, TreeContent content,
                               std::shared_ptr<TreeListener> listener) {
  if (absl::Status status = CheckStorePrefix(prefix); !status.ok()) {
    return Tell(listener, Annotate(status, "zookeeper"));
  }
  auto& slot = trees_[{prefix, content}];
  if (slot == nullptr) {
    slot = std::make_shared<Tree>();
    slot->prefix = prefix;
    slot->content = content;
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

void ZookeeperWatches::RemoveTree(const std::string& prefix, TreeContent content,
                                  const TreeListener* listener) {
  const auto it = trees_.find({prefix, content});
  if (it == trees_.end()) return;
  const auto tree = it->second;
  EraseListener(tree->listeners, listener);
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
  if (tree->content == TreeContent::kNames) return;
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
  const bool values = tree.content == TreeContent::kValues;
  size_t bytes = tree.bytes == 0 ? WatchBytes(tree.prefix) : 0;
  for (const std::string& name : names) {
    if (!values) break;  // no watch of its own
    const auto it = tree.nodes.find(name);
    if (it == tree.nodes.end() || it->second.bytes == 0) {
      bytes += WatchBytes(ChildOf(tree.prefix, name));
    }
  }
  if (bytes_ + bytes > limit_) return false;
  if (tree.bytes == 0) bytes_ += tree.bytes = WatchBytes(tree.prefix);
  for (const std::string& name : names) {
    Node& node = tree.nodes[name];
    if (!values && !node.shown.has_value()) {
      node.fresh = StoreValue();
      tree.touched.insert(name);
    } else if (values && node.bytes == 0) {
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
    tree.unread.erase(name);
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
    tree.unread.erase(names[i]);
    if (reply.ok()) {
      node.error = absl::StatusCode::kOk;
      node.fresh = ToValue(std::move(reply), session_->session_id());
      continue;
    }
    if (!reply.missing()) {
      // What was known of it stays. Its names' watch does not tell when it can be read: asked
      // again.
      tree.unread_why = reply.ToStatus(ChildOf(tree.prefix, names[i]));
      if (node.error != reply.code) {
        node.error = reply.code;
        Log(LogLevel::kWarning, absl::StrCat(tree.unread_why.message(), "; left out"));
      }
      tree.unread.insert(names[i]);
      RetryLater();
      continue;
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
  const auto shown = [](const auto& entry) { return entry.second.shown.has_value(); };
  if (!tree.unread.empty() && delta.empty() &&
      std::none_of(tree.nodes.begin(), tree.nodes.end(), shown)) {
    // No children, and none that may be read, are not the same.
    return FailTree(tree, tree.unread_why);
  }
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
  if (tree.error.code() == status.code()) return;
  tree.error = status;
  const auto listeners = tree.listeners;
  for (const auto& listener : listeners) Tell(listener, status);
}

}  // namespace zookeeper_internal
}  // namespace signpost

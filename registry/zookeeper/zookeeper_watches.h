// The Store's watches on a ZookeeperSession.
//
// ZooKeeper's watches fire once. What is watched is kept here by path; an event marks the path, and
// one reader per watch renews (reading and watching is one request) until nothing is marked.
// Subscribers of one path share it. A child is read only when it is new or its own watch fired; of
// those who want names alone, never.
//
// Threads: everything on the executor, except Cancel of a Subscription.
// Errors: kResourceExhausted when the paths would not fit into the one request by which the library
//   renews them all after a reconnect.
#ifndef SIGNPOST_REGISTRY_ZOOKEEPER_ZOOKEEPER_WATCHES_H_
#define SIGNPOST_REGISTRY_ZOOKEEPER_ZOOKEEPER_WATCHES_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "signpost/common/executor.h"
#include "signpost/common/gate.h"
#include "signpost/common/subscription.h"
#include "signpost/registry/store/store.h"
#include "signpost/registry/store/store_listener.h"
#include "signpost/registry/zookeeper/zookeeper_session.h"

namespace signpost {
namespace zookeeper_internal {

// The server takes 1,048,575 bytes (jute.maxbuffer); each watch costs its path and 4 bytes.
inline constexpr size_t kWatchLimit = 900000;

inline NodeRequest Watched(NodeRequest::Kind kind, const std::string& path) {
  NodeRequest request;
  request.kind = kind;
  request.path = path;
  request.watch = true;
  return request;
}

inline size_t WatchBytes(const std::string& path) { return path.size() + 4; }

class ZookeeperWatches : public std::enable_shared_from_this<ZookeeperWatches> {
 public:
  // `patience`: without a connection for so long, a new watch is told that nothing is known.
  ZookeeperWatches(std::shared_ptr<ZookeeperSession> session, std::shared_ptr<Executor> executor,
                   absl::Duration patience = absl::Seconds(5), size_t limit = kWatchLimit)
      : session_(std::move(session)),
        executor_(std::move(executor)),
        patience_(patience),
        limit_(limit) {}

  void AddValue(const std::string& key, std::shared_ptr<ValueListener> listener);
  void AddTree(const std::string& prefix, TreeContent content,
               std::shared_ptr<TreeListener> listener);
  void AddSession(std::shared_ptr<SessionListener> listener);
  void RemoveValue(const std::string& key, const ValueListener* listener);
  void RemoveTree(const std::string& prefix, TreeContent content, const TreeListener* listener);
  void RemoveSession(const SessionListener* listener);

  void OnNode(NodeEvent event, const std::string& path);
  void OnSession(SessionEvent event);
  // Tells the watches that know nothing yet why there is no connection.
  void Complain();

  // No callback runs afterwards. From any thread.
  void StopCallbacks() { gate_.Close(); }
  void Clear();

 private:
  struct Value {
    std::string key;
    std::vector<std::shared_ptr<ValueListener>> listeners;
    bool busy = false;
    bool marked = true;
    bool known = false;  // `shown` is what the listeners were told
    absl::StatusOr<StoreValue> shown;
    absl::Status error;  // they were told that it is not known
    size_t bytes = 0;
    bool dropped = false;
  };
  struct Node {
    bool present = true;
    std::optional<StoreValue> shown;
    std::optional<StoreValue> fresh;
    size_t bytes = 0;
    absl::StatusCode error = absl::StatusCode::kOk;  // of the last read, as it was logged
  };
  struct Tree {
    std::string prefix;
    TreeContent content = TreeContent::kValues;
    std::vector<std::shared_ptr<TreeListener>> listeners;
    std::unordered_map<std::string, Node> nodes;
    std::set<std::string> marked;   // children to read
    std::set<std::string> unread;   // children that could not be read; marked again a little later
    absl::Status unread_why;        // of one of them
    std::set<std::string> touched;  // children that may differ from what was shown
    bool list = true;               // the names have to be read
    bool busy = false;
    bool known = false;
    absl::Status error;
    size_t bytes = 0;
    bool dropped = false;
  };

  using TreeName = std::pair<std::string, TreeContent>;

  Flow SyncValue(std::shared_ptr<Value> value);
  Flow SyncTree(std::shared_ptr<Tree> tree);
  // Takes in the names; false if the watches would be too many.
  bool TakeNames(Tree& tree, std::vector<std::string> names);
  void TakeReplies(Tree& tree, const std::vector<std::string>& names, std::vector<Reply> replies);
  static TreeDelta AllOf(const Tree& tree);
  void ShowTree(Tree& tree);
  void ShowValue(Value& value, absl::StatusOr<StoreValue> now);
  void FailValue(Value& value, const absl::Status& status);
  void FailTree(Tree& tree, const absl::Status& status);
  absl::Status TooMany(const std::string& path) const;
  // Tells the new watches when there is still no connection after a while.
  void ComplainLater();
  // Tries what failed again, although nothing happened.
  void RetryLater();
  void SyncMarked();
  void DropValue(const std::shared_ptr<Value>& value);
  void DropTree(const std::shared_ptr<Tree>& tree);
  bool HasTree(const std::string& prefix) const {
    return trees_.count({prefix, TreeContent::kValues}) +
           trees_.count({prefix, TreeContent::kNames});
  }
  void Unwatch(NodeRequest::Kind kind, const std::string& path);

  template <typename L, typename... Args>
  void Tell(const std::shared_ptr<L>& listener, Args&&... args) {
    if (const Gate::Pass all = gate_.Enter()) {
      if (const Gate::Pass one = listener->gate.Enter()) {
        listener->callback(std::forward<Args>(args)...);
      }
    }
  }

  const std::shared_ptr<ZookeeperSession> session_;
  const std::shared_ptr<Executor> executor_;
  const absl::Duration patience_;
  const size_t limit_;
  Gate gate_;
  size_t bytes_ = 0;
  bool retrying_ = false;
  bool complaining_ = false;
  // Watches to take back at the next connection.
  std::set<std::pair<NodeRequest::Kind, std::string>> unwatch_;
  std::map<std::string, std::shared_ptr<Value>> values_;
  std::map<TreeName, std::shared_ptr<Tree>> trees_;
  std::vector<std::shared_ptr<SessionListener>> sessions_;
};

}  // namespace zookeeper_internal
}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_ZOOKEEPER_ZOOKEEPER_WATCHES_H_

// The watches of a client of the registry server. Private to this folder.
//
// Subscribers of one key share a watch. What they were told is kept, so that after a lost session
// (also with a server that is empty and counts its versions anew) they are told what differs from
// it, and nothing if nothing does.
//
// Threads: everything on the executor, but StopCallbacks and the Subscriptions' gates.
// Errors: kUnavailable once for each time without a connection, after `patience`; what the server
//   refuses is told, and asked for again a little later.
#ifndef SIGNPOST_REGISTRY_SERVER_SERVER_WATCHES_H_
#define SIGNPOST_REGISTRY_SERVER_SERVER_WATCHES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "signpost/common/executor.h"
#include "signpost/common/gate.h"
#include "signpost/registry/server/server_link.h"
#include "signpost/registry/server/watch_event.h"
#include "signpost/registry/store/store.h"
#include "signpost/registry/store/store_listener.h"

namespace signpost {
namespace server_internal {

class ServerWatches : public std::enable_shared_from_this<ServerWatches> {
 public:
  ServerWatches(std::shared_ptr<ServerLink> link, std::shared_ptr<Executor> executor,
                absl::Duration patience)
      : link_(std::move(link)), executor_(std::move(executor)), patience_(patience) {}

  // Keys and prefixes that are none are told so.
  void AddValue(const std::string& key, std::shared_ptr<ValueListener> listener);
  void AddTree(const std::string& prefix, std::shared_ptr<TreeListener> listener);
  void AddSession(std::shared_ptr<SessionListener> listener);
  void RemoveValue(const std::string& key, const ValueListener* listener);
  void RemoveTree(const std::string& prefix, const TreeListener* listener);
  void RemoveSession(const SessionListener* listener);

  // As ServerLink::Listener.
  void OnSession(SessionEvent event, int64_t session);
  void OnEvents(int64_t session, std::vector<WatchEvent> events);

  // No callback runs afterwards. From any thread.
  void StopCallbacks() { gate_.Close(); }
  void Clear();

 private:
  using Name = std::pair<bool, std::string>;  // tree or not, key

  struct Entry {
    Name name;
    int64_t id = 0;  // the server's number for it
    std::vector<std::shared_ptr<ValueListener>> values;
    std::vector<std::shared_ptr<TreeListener>> trees;
    // What the listeners were told.
    bool known = false;
    absl::StatusOr<StoreValue> value;
    std::map<std::string, StoreChild> children;
    absl::Status error;  // they were told that it is not known
    // What comes next is the whole state, not what follows from the above.
    bool anew = true;
    TreeDelta pieces;  // of a delta that is not complete yet
    uint64_t request = 0;
    bool refused = false;
  };
  using EntryPtr = std::shared_ptr<Entry>;

  EntryPtr FindOrAdd(Name name);
  void RemoveIfUnused(const EntryPtr& entry);
  // Asks the server for it.
  void Ask(const EntryPtr& entry);
  void OnRefused(int64_t id, int64_t session, const absl::Status& status);
  void RetryLater();
  void ComplainLater();
  // What the listeners were told holds now.
  bool Current(const Entry& entry) const;
  // Tells those that do not know it, and all if they were told an error.
  void Confirm(Entry& entry);
  void ShowValue(Entry& entry, absl::StatusOr<StoreValue> now);
  void ShowTree(Entry& entry, const TreeDelta& delta);
  void Fail(Entry& entry, const absl::Status& status);
  // The delta that really happened, and makes it what is known.
  static TreeDelta Take(Entry& entry, TreeDelta delta);
  static TreeDelta AllOf(const Entry& entry);

  template <typename L, typename... Args>
  void Tell(const std::shared_ptr<L>& listener, Args&&... args) {
    if (const Gate::Pass all = gate_.Enter()) {
      if (const Gate::Pass one = listener->gate.Enter()) {
        listener->callback(std::forward<Args>(args)...);
      }
    }
  }

  const std::shared_ptr<ServerLink> link_;
  const std::shared_ptr<Executor> executor_;
  const absl::Duration patience_;
  Gate gate_;
  bool connected_ = false;
  int64_t session_ = 0;  // what the watches are set in; 0: none
  int64_t next_id_ = 1;
  uint64_t outage_ = 1;       // counts the times without a connection
  uint64_t complaining_ = 0;  // the one whose complaint is on its way
  bool retrying_ = false;
  std::map<Name, EntryPtr> by_name_;
  std::map<int64_t, EntryPtr> by_id_;
  std::vector<std::shared_ptr<SessionListener>> sessions_;
};

}  // namespace server_internal
}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_SERVER_SERVER_WATCHES_H_

// The parts of LocalCentre, for its .cc files only.
//
// Lock order: State::mutex is taken alone; user callbacks and gates run outside it.
#ifndef SIGNPOST_REGISTRY_STORE_LOCAL_STATE_H_
#define SIGNPOST_REGISTRY_STORE_LOCAL_STATE_H_

#include <cstdint>
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
#include "signpost/common/mutex.h"
#include "signpost/registry/store/key_value.h"
#include "signpost/registry/store/local_centre.h"
#include "signpost/registry/store/store.h"

namespace signpost {
namespace store_internal {

struct LocalSession {
  std::shared_ptr<Executor> executor;
  const Store* handle = nullptr;
  // Guarded by State::mutex.
  uint64_t id = 0;
  bool closed = false;
  bool left_behind = false;  // its keys outlive it
  std::set<std::string> keys;
};

struct LocalWatch {
  enum class Kind { kKey, kTree, kSession };

  LocalWatch(Kind kind, std::shared_ptr<LocalSession> session, std::string key)
      : kind(kind), session(std::move(session)), key(std::move(key)) {}

  // What the watcher was told about a child.
  struct Known {
    bool exists = false;
    int64_t version = 0;
  };

  const Kind kind;
  const std::shared_ptr<LocalSession> session;
  const std::string key;
  Store::WatchCallback on_value;
  Store::TreeCallback on_tree;
  TreeContent content = TreeContent::kValues;
  Store::SessionCallback on_session;
  Gate gate;

  // Guarded by State::mutex.
  bool scheduled = false;  // a delivery is queued
  bool anew = true;        // tell the whole state, even if it is what was told last
  bool first = true;       // nothing was told yet
  bool told_error = false;
  Executor::TimerId retry = 0;         // after a read that failed
  std::set<std::string> dirty;         // kTree: names of children to look at
  std::map<std::string, Known> known;  // kTree: by name. kKey: by "", absent if none
};

}  // namespace store_internal

struct LocalCentre::State : std::enable_shared_from_this<LocalCentre::State> {
  using LocalSession = store_internal::LocalSession;
  using LocalWatch = store_internal::LocalWatch;
  using Record = KeyValue::Record;
  using Watches = std::set<std::shared_ptr<LocalWatch>>;

  State(std::unique_ptr<KeyValue> data, Options options);

  // Calls; each takes the lock.
  absl::StatusOr<StoreValue> Get(const LocalSession& session, const std::string& key);
  absl::StatusOr<std::vector<StoreChild>> List(const LocalSession& session,
                                               const std::string& prefix);
  absl::StatusOr<int64_t> Write(LocalSession& session, const std::string& key, std::string value,
                                bool session_bound);
  absl::StatusOr<int64_t> CompareAndSet(LocalSession& session, const std::string& key,
                                        std::string value, int64_t expected_version);
  absl::Status Delete(LocalSession& session, const std::string& key, int64_t expected_version);
  bool live() const { return options_.frozen.ok(); }
  bool available(const LocalSession& session);

  std::shared_ptr<LocalSession> OpenSession(const Store* handle,
                                            std::shared_ptr<Executor> executor);
  // Its keys and watches go. Gives the watches, whose gates the caller closes without the lock.
  std::vector<std::shared_ptr<LocalWatch>> CloseSession(LocalSession& session);
  absl::Status AdoptLeftBehind(const Store& handle);
  void LeaveBehind(const Store& handle);
  void DropEnded();
  void ExpireSession(const Store& handle);
  void SetOffline(bool offline);
  size_t watch_count();

  // kFailedPrecondition if the session is closed.
  absl::Status AddWatch(const std::shared_ptr<LocalWatch>& watch);
  void RemoveWatch(const std::shared_ptr<LocalWatch>& watch);
  // On the watch's executor.
  void Deliver(const std::shared_ptr<LocalWatch>& watch);

 private:
  absl::Status CheckCall(const LocalSession& session) const;
  absl::Status CheckWrite(const LocalSession& session, const std::string& key,
                          const std::string* value) const;
  absl::Status Apply(const std::vector<KeyValue::Change>& changes);
  absl::StatusOr<int64_t> PutRecord(const std::string& key, std::string value, uint64_t session);
  LocalSession* FindSession(uint64_t id);
  std::shared_ptr<LocalSession> FindSession(const Store& handle);
  // Its keys go now, or as soon as a write works again; or stay, if they are left behind.
  void DropKeys(LocalSession& session);
  void DropLeftOver();
  void Notify(const std::string& key);
  void Schedule(const std::shared_ptr<LocalWatch>& watch);
  void RetryLater(const std::shared_ptr<LocalWatch>& watch);
  void CancelRetry(LocalWatch& watch);
  void Tell(const std::shared_ptr<LocalWatch>& watch, SessionEvent event);
  Watches* FindWatches(const LocalWatch& watch, bool create);
  StoreValue ToValue(const LocalSession& session, Record record) const;
  absl::StatusOr<std::vector<StoreChild>> ListLocked(const LocalSession& session,
                                                     const std::string& prefix) const;
  // nullopt: no such name.
  absl::StatusOr<bool> HasChildren(const std::string& key) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<std::optional<StoreChild>> Child(const LocalSession& session,
                                                  const std::string& prefix,
                                                  const std::string& name) const;
  // nullopt: nothing to tell.
  std::optional<absl::StatusOr<StoreValue>> NextValue(const std::shared_ptr<LocalWatch>& watch);
  std::optional<absl::StatusOr<TreeDelta>> NextDelta(const std::shared_ptr<LocalWatch>& watch);
  absl::Status FillDelta(LocalWatch& watch, TreeDelta& delta);

  const Options options_;
  Mutex mutex_;
  const std::unique_ptr<KeyValue> data_;
  bool offline_ = false;
  uint64_t next_session_ = 1;
  std::map<uint64_t, std::shared_ptr<LocalSession>> sessions_;
  // Keys of ended sessions whose delete failed, and the session: they are still bound to it.
  std::map<std::string, uint64_t> left_over_;
  std::unordered_map<std::string, Watches> key_watches_;
  std::unordered_map<std::string, Watches> tree_watches_;
  Watches session_watches_;
};

}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_STORE_LOCAL_STATE_H_

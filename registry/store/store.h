// Port: what a registry centre with keys can do. Everything above it (discovery, metadata, mapping,
// configuration) is built on this and names no backend.
//
// Keys are paths: "/services/shop/192.0.2.1:20880", of at most 64 KiB and 128 parts. A key may have
// both a value and children. Versions are opaque and grow with each write of the key.
//
// Threads: all methods from any thread. Callbacks run on the Executor that the store was given,
//   one at a time, no lock held; they must not block.
// Ownership: a call's callback runs exactly once, also after Close (kCancelled); a watch's callback
//   as subscription.h says.
// Errors (messages name the key): kNotFound: no key. kAlreadyExists, kAborted: another version.
//   kPermissionDenied, kInvalidArgument, kResourceExhausted (too large, names the limit): final.
//   kUnavailable, kDeadlineExceeded: see status.h. kFailedPrecondition: closed, or has children.
#ifndef SIGNPOST_REGISTRY_STORE_STORE_H_
#define SIGNPOST_REGISTRY_STORE_STORE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "signpost/common/call_options.h"
#include "signpost/common/subscription.h"

namespace signpost {

struct StoreValue {
  std::string value;
  int64_t version = 0;
  // Goes with the session that created it. `owned`: that session is ours.
  bool session_bound = false;
  bool owned = false;
};

// A direct child of a listed prefix. A name that only has children of its own has `exists` false.
struct StoreChild {
  std::string name;  // last part of the key
  bool exists = true;
  StoreValue data;
};

// What changed below a prefix. The first one after the watch (or after a lost session) leads from
// what the watcher had to what is there now.
struct TreeDelta {
  std::vector<StoreChild> added;
  std::vector<StoreChild> changed;
  std::vector<std::string> removed;
  bool empty() const { return added.empty() && changed.empty() && removed.empty(); }
};

// What a watch of children reads of them. kNames: the names alone, one request per change whatever
// their number; `data` is empty, `exists` true, and what is written anew is not told.
enum class TreeContent { kValues, kNames };

// What the folders become that a session-bound key still lacks. kContainer, the direct one only: it
// goes by itself when it stays empty (Dubbo's instances). kPersistent: for those who watch a folder
// once and for all (Dubbo Java at interface level). Centres without folders have no difference.
enum class ParentKind { kContainer, kPersistent };

enum class SessionEvent {
  kConnected,     // also after a gap in the same session
  kDisconnected,  // calls fail or wait; nothing is lost yet
  kExpired,       // the session and what was bound to it are gone; a new one is being made
  kNewSession,    // connected by a new session: what was session-bound must be written again
};

struct StoreCapabilities {
  bool ordered = false;     // watchers see writes in their order
  bool tree_watch = false;  // List and WatchTree cost one request, not one per child
  bool session = false;     // session_bound keys go by themselves
  bool transaction = false;
  bool live = true;  // false: a copy; watches tell what is there, and nothing more
};

class Store {
 public:
  using ValueCallback = absl::AnyInvocable<void(absl::StatusOr<StoreValue>) &&>;
  using VersionCallback = absl::AnyInvocable<void(absl::StatusOr<int64_t>) &&>;
  using ListCallback = absl::AnyInvocable<void(absl::StatusOr<std::vector<StoreChild>>) &&>;
  using BoolCallback = absl::AnyInvocable<void(absl::StatusOr<bool>) &&>;
  using WatchCallback = absl::AnyInvocable<void(absl::StatusOr<StoreValue>)>;
  using TreeCallback = absl::AnyInvocable<void(absl::StatusOr<TreeDelta>)>;
  using SessionCallback = absl::AnyInvocable<void(SessionEvent)>;

  // CompareAndSet: the key must not exist. Delete: any version.
  static constexpr int64_t kAbsent = -1, kAnyVersion = -2;

  virtual ~Store() = default;

  virtual void Get(const std::string& key, const CallOptions& options, ValueCallback done) = 0;

  // Writes a persistent key whatever was there; makes missing parents. Answers the new version.
  virtual void Put(const std::string& key, std::string value, const CallOptions& options,
                   VersionCallback done) = 0;

  // Writes a key bound to this store's session. If the key exists, it is replaced and bound anew
  // (deleted and created: watchers see it as changed or as removed and added). Centres without
  // sessions keep it alive for `ttl` from the owner's last sign of life.
  virtual void CreateSessionBound(const std::string& key, std::string value, absl::Duration ttl,
                                  const CallOptions& options, VersionCallback done,
                                  ParentKind parents = ParentKind::kContainer) = 0;

  // Writes only if the version holds; kAbsent creates a persistent key (kAlreadyExists if there).
  // Keeps a session-bound key session-bound.
  virtual void CompareAndSet(const std::string& key, std::string value, int64_t expected_version,
                             const CallOptions& options, VersionCallback done) = 0;

  // kNotFound if there is none. Its children stay; where they cannot: kFailedPrecondition.
  virtual void Delete(const std::string& key, int64_t expected_version, const CallOptions& options,
                      DoneCallback done) = 0;

  virtual void Exists(const std::string& key, const CallOptions& options, BoolCallback done) = 0;

  // The direct children with values and versions, by name. None if the prefix does not exist.
  virtual void List(const std::string& prefix, const CallOptions& options, ListCallback done) = 0;

  // The present state first (kNotFound if absent), then one call at each change (newest state). A
  // retryable error says that the state is not known for now; the watch goes on.
  virtual Subscription Watch(const std::string& key, WatchCallback on_change) = 0;

  // The direct children: first a delta from nothing (also when there are none), then deltas. The
  // prefix may come and go. Errors as in Watch.
  virtual Subscription WatchTree(const std::string& prefix, TreeCallback on_change,
                                 TreeContent content = TreeContent::kValues) = 0;

  // The first call tells kConnected if a session is there already.
  virtual Subscription WatchSession(SessionCallback on_event) = 0;

  virtual bool IsAvailable() const = 0;
  virtual StoreCapabilities capabilities() const = 0;

  // Ends the session (its keys go at once) and all watches. Waits at most 5 s. Idempotent. Not from
  // a callback of this store.
  virtual void Close() = 0;
};

}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_STORE_STORE_H_

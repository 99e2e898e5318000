// Provider side of the interface level: URLs that must be there -> nodes. Private to this folder.
//
// When the centre is back it returns at the pace of registry/return_pace.h.
//
// Threads: all on the control executor, except paths() (any thread) and Close once the guard is
// closed. Ownership: what the constructor takes must outlive this.
#ifndef SIGNPOST_REGISTRY_INTERFACE_INTERFACE_REGISTRAR_H_
#define SIGNPOST_REGISTRY_INTERFACE_INTERFACE_REGISTRAR_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "signpost/common/backoff.h"
#include "signpost/common/call_options.h"
#include "signpost/common/executor.h"
#include "signpost/common/mutex.h"
#include "signpost/common/subscription.h"
#include "signpost/common/url.h"
#include "signpost/registry/callback_guard.h"
#include "signpost/registry/interface/interface_registry.h"
#include "signpost/registry/interface/pending_calls.h"
#include "signpost/registry/interface/registered_url.h"
#include "signpost/registry/registry_factory.h"
#include "signpost/registry/store/store.h"

namespace signpost::interface_internal {

using registry_internal::CallbackGuard;

class InterfaceRegistrar {
 public:
  InterfaceRegistrar(Executor& executor, RegistryCentre& centre, CallbackGuard guard,
                     std::string root, InterfaceRegistryOptions options);
  ~InterfaceRegistrar();

  void Register(const Url& url, const CallOptions& options, DoneCallback done);
  void Unregister(const Url& url, const CallOptions& options, DoneCallback done);
  void UnregisterAll(const CallOptions& options, DoneCallback done);
  // Ends what waits, with kFailedPrecondition, by tasks of their own.
  void Close();

  // Nodes that are written as far as is known, sorted; one each, even if they differ in secrets
  // alone.
  std::vector<std::string> paths() const;

 private:
  struct Node {
    // kMaybe: to be looked at before it is written, for it may be there as it should.
    enum class Written { kNo, kMaybe, kYes };

    RegisteredNode form;
    // The URLs that are written as this node. None: it must not be there.
    std::set<std::string> exports;
    Written written = Written::kNo;
    bool busy = false;              // a call is under way
    bool queued = false;            // waits until a call of another node ends
    absl::Status error;             // of the last attempt
    std::vector<uint64_t> waiters;  // for it to be there, or gone: as is wanted now
    bool wanted() const { return !exports.empty(); }
    bool settled() const { return wanted() && written == Written::kYes; }
  };

  void WatchSession();
  void OnSession(SessionEvent event);
  void Await(Node& node, const CallOptions& options, DoneCallback done);
  void SetWritten(Node& node, Node::Written written);
  // Does what `path` needs next, unless something is under way.
  void Step(const std::string& path);
  // What is to be deleted there and waited for others to be written.
  void DeleteWaiting(const std::string& folder);
  void StepAll();
  // False: too many are under way; the node's turn comes.
  bool BeginCall(Node& node);
  void EndCall(Node& node);
  void StepQueued();
  void LookAt(const std::string& path);
  void OnLooked(const std::string& path, uint64_t session, const absl::StatusOr<StoreValue>& there);
  void Write(const std::string& path);
  void OnWritten(const std::string& path, uint64_t session, const absl::Status& status);
  void Delete(const std::string& path);
  void OnDeleted(const std::string& path, const absl::Status& status);
  bool MustBeWrittenFirst(const std::string& folder) const;
  void Settle(const std::string& path);
  void Fail(const std::string& path, const absl::Status& status);
  // Calls of UnregisterAll: those that `path` keeps from their end, which wait no more; and those
  // that waited for nothing but it.
  std::vector<uint64_t> TakeAllOf(const std::string& path);
  std::vector<uint64_t> TakeAllDone(const std::string& path);
  void EndAll(std::vector<uint64_t> waiters, const absl::Status& status);
  CallOptions StepOptions() const;

  Executor& executor_;
  RegistryCentre& centre_;
  const CallbackGuard guard_;
  const std::string root_;
  const InterfaceRegistryOptions options_;
  const absl::Duration ttl_;
  // What our nodes hold, so that one of an ended session of ours is known from another process'.
  const std::string mark_;
  Backoff backoff_;
  Backoff look_delay_;
  PendingCalls<absl::Status> pending_;
  Subscription session_watch_;
  bool session_heard_ = false;
  uint64_t session_ = 1;  // counts them

  std::map<std::string, Node> nodes_;  // by path
  // Of UnregisterAll: the paths that are not gone yet.
  std::map<uint64_t, std::set<std::string>> all_;
  Executor::TimerId timer_ = 0;
  Executor::TimerId look_timer_ = 0;
  size_t under_way_ = 0;
  std::deque<std::string> queue_;
  bool stepping_queue_ = false;

  mutable Mutex mutex_;
  // By path: as it is shown.
  std::map<std::string, std::string> written_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace signpost::interface_internal

#endif  // SIGNPOST_REGISTRY_INTERFACE_INTERFACE_REGISTRAR_H_

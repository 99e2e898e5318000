// Provider side of the interface level: URLs that must be there -> nodes. Private to this folder.
//
// Threads: all on the control executor, except paths() (any thread) and Close once the guard is
// closed. Ownership: what the constructor takes must outlive this.
#ifndef SIGNPOST_REGISTRY_INTERFACE_INTERFACE_REGISTRAR_H_
#define SIGNPOST_REGISTRY_INTERFACE_INTERFACE_REGISTRAR_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
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

  std::vector<std::string> paths() const;

 private:
  struct Node {
    // kMaybe: to be looked at before it is written, for it may be there as it should.
    enum class Written { kNo, kMaybe, kYes };

    RegisteredNode form;
    // The URLs that are written as this node. None: it must not be there.
    std::set<std::string> exports;
    Written written = Written::kNo;
    bool busy = false;   // a call is under way
    absl::Status error;  // of the last attempt
    std::vector<uint64_t> waiters;
    bool wanted() const { return !exports.empty(); }
    bool settled() const { return wanted() && written == Written::kYes; }
  };

  void Await(Node& node, const CallOptions& options, DoneCallback done);
  void OnSession(SessionEvent event);
  // Does what `path` needs next, unless something is under way.
  void Step(const std::string& path);
  // What is to be deleted there and waited for others to be written.
  void DeleteWaiting(const std::string& folder);
  void StepAll();
  void LookAt(const std::string& path);
  void Write(const std::string& path);
  void OnWritten(const std::string& path, uint64_t session, const absl::Status& status);
  void Delete(const std::string& path);
  void OnDeleted(const std::string& path, const absl::Status& status);
  bool MustBeWrittenFirst(const std::string& folder) const;
  void Settle(const std::string& path);
  void Fail(const std::string& path, const absl::Status& status);
  // Of UnregisterAll, when nothing is left to delete.
  void EndIfAllGone();
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
  PendingCalls<absl::Status> pending_;
  Subscription session_watch_;
  bool session_heard_ = false;
  uint64_t session_ = 1;  // counts them

  std::map<std::string, Node> nodes_;  // by path
  std::vector<uint64_t> all_waiters_;  // of UnregisterAll
  Executor::TimerId timer_ = 0;

  mutable Mutex mutex_;
  std::set<std::string> paths_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace signpost::interface_internal

#endif  // SIGNPOST_REGISTRY_INTERFACE_INTERFACE_REGISTRAR_H_

// The instances of one application, watched once for all subscriptions, and what their revisions
// offer. Private to this folder.
//
// A revision is resolved once, when its first instance appears; one that fails is asked for again
// after 1 s, 1 s, 1 s and then every 10 s, or when another instance shows it.
//
// Threads: all on the control executor.
// Ownership: executor, discovery and resolver must outlive this; make_shared it and call Start.
#ifndef SIGNPOST_REGISTRY_APPLICATION_INSTANCE_WATCH_H_
#define SIGNPOST_REGISTRY_APPLICATION_INSTANCE_WATCH_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "signpost/common/executor.h"
#include "signpost/common/subscription.h"
#include "signpost/metadata/metadata_resolver.h"
#include "signpost/registry/application/offered_services.h"
#include "signpost/registry/callback_guard.h"
#include "signpost/registry/service_discovery.h"

namespace signpost::application_internal {

using registry_internal::CallbackGuard;

class InstanceWatch : public std::enable_shared_from_this<InstanceWatch> {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    // What can be said about these instances (by id) may have changed; `ids` may be empty when only
    // the state did.
    virtual void OnInstances(InstanceWatch& watch, const std::vector<std::string>& ids) = 0;
  };

  struct Revision {
    std::string name;
    std::map<std::string, InstancePtr> members;     // by id
    std::shared_ptr<const OfferedServices> offers;  // null until resolved
    absl::Status error;                             // of the last attempt
    bool asking = false;
    int failures = 0;
    Executor::TimerId retry = 0;
    // It has been asked for so long that nobody should wait for it who can do without; overdue:
    // that all should hear who does not answer.
    bool late = false;
    bool overdue = false;
    Executor::TimerId patience = 0;
    // The first attempt has ended, or should have.
    bool settled() const { return offers != nullptr || !error.ok() || overdue; }
  };

  InstanceWatch(Executor& executor, ServiceDiscovery& discovery, MetadataResolver& resolver,
                CallbackGuard guard, std::string app);
  ~InstanceWatch();

  void Start();

  void AddListener(Listener* listener) { listeners_.insert(listener); }
  void RemoveListener(Listener* listener) { listeners_.erase(listener); }
  bool has_listeners() const { return !listeners_.empty(); }

  const std::string& app() const { return app_; }
  // The first answer, or an error, is there.
  bool heard() const { return known_ || !error_.ok(); }
  // Heard, and every revision has been asked for at least once.
  bool settled() const;
  // The same, but for revisions that are late.
  bool settled_but_late() const;
  // Why the instances are not known for now.
  const absl::Status& error() const { return error_; }
  const std::map<std::string, InstancePtr>& instances() const { return instances_; }
  const std::map<std::string, std::shared_ptr<Revision>>& revisions() const { return revisions_; }
  // Null: gone. `revision` is null for an instance that offers nothing (revision empty or 0).
  InstancePtr Find(const std::string& id, const Revision** revision) const;

 private:
  void OnUpdate(absl::StatusOr<InstanceUpdate> update);
  bool Settled(bool but_late) const;
  void CancelTimers(Revision& revision);
  void Take(const InstancePtr& instance);
  void Drop(const ServiceInstance& instance);
  void Ask(const std::shared_ptr<Revision>& revision);
  void WaitFor(const std::shared_ptr<Revision>& revision, absl::Duration patience);
  void OnAnswer(const std::shared_ptr<Revision>& revision, absl::StatusOr<ResolvedMetadata> answer);
  void Tell(const std::vector<std::string>& ids);

  Executor& executor_;
  ServiceDiscovery& discovery_;
  MetadataResolver& resolver_;
  const CallbackGuard guard_;
  const std::string app_;
  Subscription subscription_;
  std::set<Listener*> listeners_;
  std::map<std::string, InstancePtr> instances_;  // by id
  std::map<std::string, std::shared_ptr<Revision>> revisions_;
  bool known_ = false;
  absl::Status error_;
};

}  // namespace signpost::application_internal

#endif  // SIGNPOST_REGISTRY_APPLICATION_INSTANCE_WATCH_H_

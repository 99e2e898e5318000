// ServiceDiscovery on a Store: `<root>/<app>/<host:port>`, session-bound, Curator's JSON as value.
//
// A watch parses only children whose bytes changed. A child that is no instance is skipped and
// warned about once. Of two children with one host:port the one that registered later counts; when
// either goes, the other is there in the same update.
//
// Threads, ownership, errors: as ServiceDiscovery.
#ifndef SIGNPOST_REGISTRY_STORE_STORE_SERVICE_DISCOVERY_H_
#define SIGNPOST_REGISTRY_STORE_STORE_SERVICE_DISCOVERY_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "signpost/common/clock.h"
#include "signpost/registry/service_discovery.h"
#include "signpost/registry/store/store.h"
#include "signpost/registry/store/store_centre.h"

namespace signpost {

class StoreServiceDiscovery final : public ServiceDiscovery {
 public:
  // `clock` must outlive this. `session_ttl`: how long an instance outlives its process on centres
  // without sessions.
  StoreServiceDiscovery(std::shared_ptr<Store> store, StoreLayout layout,
                        absl::Duration session_ttl, const Clock& clock)
      : store_(std::move(store)),
        layout_(std::move(layout)),
        session_ttl_(session_ttl),
        clock_(clock) {}

  void Register(const ServiceInstance& instance, const CallOptions& options,
                DoneCallback done) override;
  void Unregister(const ServiceInstance& instance, const CallOptions& options,
                  DoneCallback done) override;
  void ListApplications(const CallOptions& options, ListCallback done) override;
  void ListInstances(const std::string& app, const CallOptions& options,
                     InstancesCallback done) override;
  Subscription Watch(const std::string& app, WatchCallback on_change) override;
  std::string PathOf(const ServiceInstance& instance) const override;

 private:
  std::string FolderOf(const std::string& app) const;

  const std::shared_ptr<Store> store_;
  const StoreLayout layout_;
  const absl::Duration session_ttl_;
  const Clock& clock_;
};

}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_STORE_STORE_SERVICE_DISCOVERY_H_

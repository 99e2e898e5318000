// Consumer side of the application level: subscriptions, each fed by a mapping and by the instance
// watches of its applications. Private to this folder.
//
// Threads: all on the control executor, except Clear once the guard is closed.
// Ownership: what the constructor takes must outlive this.
#ifndef SIGNPOST_REGISTRY_APPLICATION_APPLICATION_SUBSCRIBER_H_
#define SIGNPOST_REGISTRY_APPLICATION_APPLICATION_SUBSCRIBER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "signpost/common/address_list.h"
#include "signpost/common/executor.h"
#include "signpost/common/url.h"
#include "signpost/mapping/service_name_mapping.h"
#include "signpost/metadata/metadata_resolver.h"
#include "signpost/registry/application/instance_watch.h"
#include "signpost/registry/callback_guard.h"
#include "signpost/registry/notify_listener.h"
#include "signpost/registry/registry_factory.h"

namespace signpost::application_internal {

using registry_internal::CallbackGuard;

class ServiceSubscription;

class ApplicationSubscriber {
 public:
  using NotifyFunction = std::function<void(const ServiceAddresses&)>;

  ApplicationSubscriber(Executor& executor, RegistryCentre& centre, EndpointTable& table,
                        MetadataResolver& resolver, ServiceNameMapping& mapping,
                        CallbackGuard guard);
  ~ApplicationSubscriber();

  // `notify` runs first when everything about the service is known or known to be broken, then at
  // each change. `id` is the caller's and new.
  void Add(uint64_t id, const Url& consumer, NotifyFunction notify);
  void Remove(uint64_t id);
  void Clear();

 private:
  friend class ServiceSubscription;
  std::shared_ptr<InstanceWatch> WatchOf(const std::string& app);
  // Ends the watch if nobody listens any more.
  void Release(const std::string& app);

  Executor& executor_;
  RegistryCentre& centre_;
  EndpointTable& table_;
  MetadataResolver& resolver_;
  ServiceNameMapping& mapping_;
  const CallbackGuard guard_;
  std::map<std::string, std::shared_ptr<InstanceWatch>> watches_;  // by application
  std::map<uint64_t, std::shared_ptr<ServiceSubscription>> subscriptions_;
};

}  // namespace signpost::application_internal

#endif  // SIGNPOST_REGISTRY_APPLICATION_APPLICATION_SUBSCRIBER_H_

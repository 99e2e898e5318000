// Consumer side of the interface level: subscriptions, fed by the category watches that they share.
// Private to this folder.
//
// Threads: all on the control executor, except Clear once the guard is closed.
// Ownership: what the constructor takes must outlive this.
#ifndef SIGNPOST_REGISTRY_INTERFACE_INTERFACE_SUBSCRIBER_H_
#define SIGNPOST_REGISTRY_INTERFACE_INTERFACE_SUBSCRIBER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "signpost/common/address_list.h"
#include "signpost/common/url.h"
#include "signpost/registry/callback_guard.h"
#include "signpost/registry/interface/category_watch.h"
#include "signpost/registry/interface/interface_registry.h"
#include "signpost/registry/interface/provider_address.h"
#include "signpost/registry/notify_listener.h"
#include "signpost/registry/store/store.h"

namespace signpost::interface_internal {

class InterfaceSubscription {
 public:
  virtual ~InterfaceSubscription() = default;
  virtual void Start() = 0;
  // Lets go of its watches; nothing is told any more.
  virtual void Stop() = 0;
};

class InterfaceSubscriber {
 public:
  using NotifyFunction = std::function<void(const ServiceAddresses&)>;

  InterfaceSubscriber(Store& store, EndpointTable& table, CallbackGuard guard, std::string root,
                      bool empty_protection);
  ~InterfaceSubscriber();

  // `notify` runs first when the providers are known, or known not to be; then at each change. `id`
  // is the caller's and new.
  void AddList(uint64_t id, const Url& consumer, NotifyFunction notify);
  void AddUrls(uint64_t id, const Url& consumer, InterfaceRegistry::UrlsCallback on_urls);
  void Remove(uint64_t id);
  void Clear();

  // For subscriptions.
  std::shared_ptr<CategoryWatch> WatchOf(const std::string& interface_name,
                                         const std::string& category);
  std::shared_ptr<CategoryWatch> WatchAt(const std::string& path);
  // Ends the watch if nobody listens any more.
  void Release(const std::string& path);
  Store& store() { return store_; }
  EndpointTable& table() { return table_; }
  ServicePool& services() { return services_; }
  const CallbackGuard& guard() const { return guard_; }
  const std::string& root() const { return root_; }
  bool empty_protection() const { return empty_protection_; }

 private:
  void Add(uint64_t id, std::shared_ptr<InterfaceSubscription> subscription);

  Store& store_;
  EndpointTable& table_;
  const CallbackGuard guard_;
  const std::string root_;
  const bool empty_protection_;
  ServicePool services_;
  std::map<std::string, std::shared_ptr<CategoryWatch>> watches_;  // by path
  std::map<uint64_t, std::shared_ptr<InterfaceSubscription>> subscriptions_;
};

}  // namespace signpost::interface_internal

#endif  // SIGNPOST_REGISTRY_INTERFACE_INTERFACE_SUBSCRIBER_H_

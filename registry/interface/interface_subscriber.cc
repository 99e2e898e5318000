#include "signpost/registry/interface/interface_subscriber.h"

#include <utility>

#include "signpost/registry/interface/provider_list.h"
#include "signpost/registry/interface/registered_url.h"
#include "signpost/registry/interface/url_watch.h"

namespace signpost::interface_internal {

InterfaceSubscriber::InterfaceSubscriber(Store& store, EndpointTable& table, CallbackGuard guard,
                                         std::string root, bool empty_protection)
    : store_(store),
      table_(table),
      guard_(std::move(guard)),
      root_(std::move(root)),
      empty_protection_(empty_protection) {}

InterfaceSubscriber::~InterfaceSubscriber() { Clear(); }

void InterfaceSubscriber::AddList(uint64_t id, const Url& consumer, NotifyFunction notify) {
  Add(id, std::make_shared<ProviderList>(*this, consumer, std::move(notify)));
}

void InterfaceSubscriber::AddUrls(uint64_t id, const Url& consumer,
                                  InterfaceRegistry::UrlsCallback on_urls) {
  Add(id, std::make_shared<UrlWatch>(*this, consumer, std::move(on_urls)));
}

void InterfaceSubscriber::Add(uint64_t id, std::shared_ptr<InterfaceSubscription> subscription) {
  subscriptions_[id] = subscription;
  subscription->Start();
}

void InterfaceSubscriber::Remove(uint64_t id) {
  auto it = subscriptions_.find(id);
  if (it == subscriptions_.end()) return;
  it->second->Stop();
  subscriptions_.erase(it);
}

void InterfaceSubscriber::Clear() {
  auto subscriptions = std::move(subscriptions_);
  subscriptions_.clear();
  for (auto& [id, subscription] : subscriptions) subscription->Stop();
}

std::shared_ptr<CategoryWatch> InterfaceSubscriber::WatchOf(const std::string& interface_name,
                                                            const std::string& category) {
  return WatchAt(CategoryPath(root_, interface_name, category));
}

std::shared_ptr<CategoryWatch> InterfaceSubscriber::WatchAt(const std::string& path) {
  auto& watch = watches_[path];
  if (watch == nullptr) {
    watch = std::make_shared<CategoryWatch>(store_, guard_, path);
    watch->Start();
  }
  return watch;
}

void InterfaceSubscriber::Release(const std::string& path) {
  auto it = watches_.find(path);
  if (it != watches_.end() && !it->second->has_listeners()) watches_.erase(it);
}

}  // namespace signpost::interface_internal

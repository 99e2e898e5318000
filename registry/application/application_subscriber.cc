#include "signpost/registry/application/application_subscriber.h"

#include <utility>

#include "signpost/registry/application/service_subscription.h"

namespace signpost::application_internal {

ApplicationSubscriber::ApplicationSubscriber(Executor& executor, RegistryCentre& centre,
                                             EndpointTable& table, MetadataResolver& resolver,
                                             ServiceNameMapping& mapping, CallbackGuard guard)
    : executor_(executor),
      centre_(centre),
      table_(table),
      resolver_(resolver),
      mapping_(mapping),
      guard_(std::move(guard)) {}

ApplicationSubscriber::~ApplicationSubscriber() { Clear(); }

void ApplicationSubscriber::Add(uint64_t id, const Url& consumer, NotifyFunction notify) {
  auto subscription = std::make_shared<ServiceSubscription>(*this, consumer, std::move(notify));
  subscriptions_[id] = subscription;
  subscription->Start();
}

void ApplicationSubscriber::Remove(uint64_t id) {
  auto it = subscriptions_.find(id);
  if (it == subscriptions_.end()) return;
  it->second->Stop();
  subscriptions_.erase(it);
}

void ApplicationSubscriber::Clear() {
  auto subscriptions = std::move(subscriptions_);
  subscriptions_.clear();
  for (auto& [id, subscription] : subscriptions) subscription->Stop();
}

std::shared_ptr<InstanceWatch> ApplicationSubscriber::WatchOf(const std::string& app) {
  auto& watch = watches_[app];
  if (watch == nullptr) {
    watch = std::make_shared<InstanceWatch>(executor_, centre_.discovery(), resolver_, guard_, app);
    watch->Start();
  }
  return watch;
}

void ApplicationSubscriber::Release(const std::string& app) {
  auto it = watches_.find(app);
  if (it != watches_.end() && !it->second->has_listeners()) watches_.erase(it);
}

}  // namespace signpost::application_internal

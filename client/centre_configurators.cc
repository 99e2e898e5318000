#include "signpost/client/centre_configurators.h"

#include <utility>
#include <vector>

#include "signpost/common/mutex.h"
#include "signpost/common/service_key.h"

namespace signpost::client_internal {
namespace {

// One service's rules, as long as its Subscription lives.
class Followed : public std::enable_shared_from_this<Followed> {
 public:
  Followed(std::shared_ptr<Executor> executor, ConfiguratorsCallback on_change, bool has_folder)
      : executor_(std::move(executor)),
        on_change_(std::move(on_change)),
        folder_heard_(!has_folder) {}

  void Start(ConfiguratorWatch& watch, InterfaceRegistry* registry, const Url& url) {
    auto rules = watch.Of(ServiceKey::Of(url),
                          [weak = weak_from_this()](std::shared_ptr<const ConfiguratorSet> set) {
                            if (auto self = weak.lock()) self->OnRules(std::move(set));
                          });
    Subscription folder;
    {
      MutexLock lock(mutex_);
      rules_ = std::move(rules);
    }
    if (registry == nullptr) return;
    folder = registry->WatchUrls(url.With("category", "configurators"),
                                 [weak = weak_from_this()](absl::StatusOr<std::vector<Url>> urls) {
                                   if (auto self = weak.lock()) self->OnFolder(std::move(urls));
                                 });
    MutexLock lock(mutex_);
    folder_ = std::move(folder);
  }

  void Stop() {
    Subscription folder;
    std::shared_ptr<ServiceConfigurators> rules;
    {
      MutexLock lock(mutex_);
      folder = std::move(folder_);
      rules = std::move(rules_);
    }
    // Here, and not under the lock: both wait for a running callback.
    folder.Cancel();
    rules.reset();
  }

 private:
  void OnRules(std::shared_ptr<const ConfiguratorSet> set) {
    set_ = std::move(set);
    if (folder_heard_) on_change_(set_);
  }

  void OnFolder(absl::StatusOr<std::vector<Url>> urls) {
    std::shared_ptr<ServiceConfigurators> rules;
    {
      MutexLock lock(mutex_);
      rules = rules_;
    }
    // What cannot be read leaves what was.
    if (urls.ok() && rules != nullptr) rules->SetRegistryUrls(*std::move(urls));
    if (folder_heard_) return;
    // After the change that the URLs may have made.
    executor_->Post([weak = weak_from_this()] {
      auto self = weak.lock();
      if (self == nullptr || std::exchange(self->folder_heard_, true)) return;
      if (self->set_ != nullptr && !self->stopped()) self->on_change_(self->set_);
    });
  }

  bool stopped() {
    MutexLock lock(mutex_);
    return rules_ == nullptr;
  }

  const std::shared_ptr<Executor> executor_;
  const ConfiguratorsCallback on_change_;
  // Of the executor.
  bool folder_heard_;
  std::shared_ptr<const ConfiguratorSet> set_;  // null: not known yet

  Mutex mutex_;
  std::shared_ptr<ServiceConfigurators> rules_;
  Subscription folder_;
};

}  // namespace

WatchConfigurators ConfiguratorsOfCentre(std::shared_ptr<Executor> executor,
                                         std::shared_ptr<ConfiguratorWatch> watch,
                                         std::shared_ptr<InterfaceRegistry> registry) {
  return [executor = std::move(executor), watch = std::move(watch), registry = std::move(registry)](
             const Url& url, ConfiguratorsCallback on_change) {
    auto followed = std::make_shared<Followed>(executor, std::move(on_change), registry != nullptr);
    followed->Start(*watch, registry.get(), url);
    return Subscription([followed] { followed->Stop(); });
  };
}

}  // namespace signpost::client_internal

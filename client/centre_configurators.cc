#include "signpost/client/centre_configurators.h"

#include <utility>
#include <vector>

#include "signpost/common/mutex.h"
#include "signpost/common/service_key.h"
#include "signpost/common/watch_set.h"

namespace signpost::client_internal {
namespace {

using SetPtr = std::shared_ptr<const ConfiguratorSet>;

// One service's rules, as long as its Subscription lives.
class Followed : public std::enable_shared_from_this<Followed> {
 public:
  Followed(std::shared_ptr<Executor> executor, ConfiguratorsCallback on_change, bool has_folder)
      : executor_(std::move(executor)),
        told_([on_change = std::move(on_change)](const SetPtr& set) { on_change(set); }),
        folder_heard_(!has_folder) {}

  void Start(ConfiguratorWatch& watch, InterfaceRegistry* registry, const Url& url) {
    auto rules = watch.Of(ServiceKey::Of(url), [weak = weak_from_this()](const SetPtr& set) {
      if (auto self = weak.lock()) self->OnRules(set);
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
    // Here, and not under the lock: all wait for a running callback.
    told_.Cancel();
    folder.Cancel();
    rules.reset();
  }

 private:
  void OnRules(const SetPtr& set) {
    set_ = set;
    if (folder_heard_) told_.Run(set);
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
    // After the change that the URLs may have made: they are taken in one task and told in another.
    executor_->Post([executor = executor_, weak = weak_from_this()] {
      executor->Post([weak] {
        if (auto self = weak.lock()) self->OnFolderTaken();
      });
    });
  }

  void OnFolderTaken() {
    if (std::exchange(folder_heard_, true) || set_ == nullptr) return;
    told_.Run(SetPtr(set_));
  }

  const std::shared_ptr<Executor> executor_;
  Watcher<SetPtr> told_;
  // Of the executor.
  bool folder_heard_;
  SetPtr set_;  // null: not known yet

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

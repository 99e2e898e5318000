#include "signpost/router/configurator/configurator_watch.h"

#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "signpost/common/gate.h"
#include "signpost/common/log.h"
#include "signpost/common/near_miss.h"
#include "signpost/common/status.h"
#include "signpost/common/subscription.h"
#include "signpost/common/watch_set.h"
#include "signpost/router/configurator/configurator_item.h"
#include "signpost/router/configurator/configurator_list.h"

namespace signpost {
namespace {

using configurator_internal::ConfiguratorList;
using SetPtr = std::shared_ptr<const ConfiguratorSet>;
// Another pointer means other rules: equal ones leave the one that was.
using ListPtr = std::shared_ptr<const ConfiguratorList>;
// URLs of registries that cannot be read, and how many services have each.
using Unreadable = std::map<std::string, size_t>;

// Whether it is another list than `place`, which it then takes.
bool Change(ListPtr& place, std::vector<Configurator> configurators) {
  auto list = std::make_shared<const ConfiguratorList>(std::move(configurators));
  if (*list == *place) return false;
  place = std::move(list);
  return true;
}

struct Service;

// One key of the config centre and what it said last.
struct WatchedKey {
  Subscription subscription;
  bool heard = false;
  ListPtr list = ConfiguratorList::None();
  std::string fault;    // warned of; the same one is not news
  std::string unknown;  // the same of keys
  std::set<Service*> services;
};

// One call of Of.
struct Service {
  explicit Service(ConfiguratorWatch::Callback callback) : watcher(std::move(callback)) {}

  std::string application_key;  // empty: none
  std::string service_key;
  std::vector<Url> urls;
  ListPtr registry = ConfiguratorList::None();
  std::vector<Unreadable::iterator> unreadable;  // of `urls`
  ConfiguratorSet::Sources told;                 // null until the first time
  Watcher<SetPtr> watcher;
};

}  // namespace

// All of it belongs to the executor; the gate lets nothing run after destruction.
class ConfiguratorWatch::State : public std::enable_shared_from_this<State> {
 public:
  State(Executor& executor, ConfigSource& source, std::string application)
      : executor_(executor), source_(source), application_(std::move(application)) {}

  void Close() {
    gate_.Close();
    for (const auto& [service, owned] : services_) service->watcher.Cancel();
    keys_.clear();
    services_.clear();
  }

  // Runs `fn(State&)` on the executor, unless this is gone by then.
  template <typename Fn>
  static void Post(const std::weak_ptr<State>& weak, Fn fn) {
    const std::shared_ptr<State> self = weak.lock();
    if (self == nullptr) return;
    const Gate::Pass open = self->gate_.Enter();
    if (!open) return;
    self->executor_.Post([weak, fn = std::move(fn)]() mutable {
      const std::shared_ptr<State> state = weak.lock();
      if (state == nullptr) return;
      if (const Gate::Pass pass = state->gate_.Enter()) fn(*state);
    });
  }

  void Add(const std::shared_ptr<Service>& service, const ServiceKey& key) {
    services_[service.get()] = service;
    if (!application_.empty()) service->application_key = KeyOf(application_);
    service->service_key = KeyOf(key);
    if (!application_.empty()) Join(service->application_key, *service);
    Join(service->service_key, *service);
    Tell(*service);
  }

  void Remove(const std::shared_ptr<Service>& service) {
    if (services_.erase(service.get()) == 0) return;
    KeepUnreadable(*service, {});
    Leave(service->application_key, *service);
    Leave(service->service_key, *service);
  }

  void SetUrls(const std::shared_ptr<Service>& service, std::vector<Url> urls) {
    if (services_.count(service.get()) == 0 || service->urls == urls) return;
    service->urls = std::move(urls);
    std::vector<std::string> unreadable;
    const bool changed = Change(service->registry, ConfiguratorsOf(service->urls, &unreadable));
    KeepUnreadable(*service, unreadable);
    if (changed) Tell(*service);
  }

 private:
  void Join(const std::string& key, Service& service) {
    std::shared_ptr<WatchedKey>& watched = keys_[key];
    const bool first = watched == nullptr;
    if (first) watched = std::make_shared<WatchedKey>();
    watched->services.insert(&service);
    if (!first) return;
    ConfigKey where;
    where.key = key;
    watched->subscription = source_.Watch(
        where, [weak = weak_from_this(), key,
                mine = std::weak_ptr<WatchedKey>(watched)](absl::StatusOr<ConfigItem> item) {
          Post(weak, [key, mine, item = std::move(item)](State& state) {
            if (const auto watched = mine.lock()) state.OnItem(key, *watched, item);
          });
        });
  }

  void Leave(const std::string& key, Service& service) {
    const auto it = keys_.find(key);
    if (it == keys_.end()) return;
    it->second->services.erase(&service);
    if (it->second->services.empty()) keys_.erase(it);
  }

  void OnItem(const std::string& key, WatchedKey& watched, const absl::StatusOr<ConfigItem>& item) {
    const bool first = !std::exchange(watched.heard, true);
    bool changed = false;
    if (absl::IsNotFound(item.status())) {
      changed = Change(watched.list, {});
      watched.fault.clear();
      watched.unknown.clear();
    } else if (!item.ok()) {
      // A centre that is away says so itself.
      if (!IsRetryable(item.status())) Warn(key, watched, item.status());
    } else {
      std::vector<std::string> unknown;
      absl::StatusOr<std::vector<Configurator>> rule = ParseConfiguratorRule(item->text, &unknown);
      if (!rule.ok()) {
        Warn(key, watched, rule.status());
      } else {
        changed = Change(watched.list, *std::move(rule));
        WarnOfValues(key, watched, DescribeUnknown(unknown));
      }
    }
    if (!first && !changed) return;
    for (Service* service : watched.services) Tell(*service);
  }

  void Warn(const std::string& key, WatchedKey& watched, const absl::Status& status) {
    if (watched.fault == status.message()) return;
    watched.fault = std::string(status.message());
    ConfigKey where;
    where.key = key;
    Log(LogLevel::kWarning, absl::StrCat(source_.PathOf(where), ": ", status.message(),
                                         "; the override rule before stays in force"));
  }

  // The rule holds; keys of it that nobody knows, and values that nobody can read, do nothing.
  void WarnOfValues(const std::string& key, WatchedKey& watched, std::string unknown) {
    std::set<std::string> useless;
    const Url::Parameters* last = nullptr;
    for (const Configurator& configurator : watched.list->configurators()) {
      // Those of one item share them.
      if (std::exchange(last, &configurator.parameters()) == &configurator.parameters()) continue;
      std::string values = configurator_internal::UnreadableValues(configurator.parameters());
      if (!values.empty()) useless.insert(std::move(values));
    }
    std::string values = absl::StrJoin(useless, ", ");
    if (!values.empty()) absl::StrAppend(&values, "; that does nothing");
    ConfigKey where;
    where.key = key;
    // Each the first time only: one text is heard again after each outage.
    const auto warn = [&](std::string said, std::string& last) {
      if (said == last) return;
      last = std::move(said);
      if (last.empty()) return;
      Log(LogLevel::kWarning, absl::StrCat(source_.PathOf(where), ": ", last));
    };
    warn(std::move(values), watched.fault);
    warn(std::move(unknown), watched.unknown);
  }

  // One line for all that no service had before, so that a folder full of them says it once, not
  // at each change and not for each reference.
  void KeepUnreadable(Service& service, const std::vector<std::string>& unreadable) {
    std::vector<Unreadable::iterator> kept;
    size_t first_seen = 0;
    const std::string* example = nullptr;
    for (const std::string& text : unreadable) {
      kept.push_back(unreadable_.try_emplace(text, 0).first);
      if (++kept.back()->second > 1) continue;
      if (first_seen++ == 0) example = &text;
    }
    service.unreadable.swap(kept);
    for (const Unreadable::iterator& before : kept) {
      if (--before->second == 0) unreadable_.erase(before);
    }
    if (example == nullptr) return;
    Log(LogLevel::kWarning, absl::StrCat("override rules that cannot be read do nothing: ",
                                         first_seen, ", for example ", example->substr(0, 1000)));
  }

  // The rule of a key, null when it has not been heard yet.
  ListPtr RuleOf(const std::string& key) const {
    if (key.empty()) return ConfiguratorList::None();
    const WatchedKey& watched = *keys_.at(key);
    return watched.heard ? watched.list : nullptr;
  }

  // In a task of its own, since the callback may destroy whatever it likes.
  void Tell(Service& service) {
    ConfiguratorSet::Sources sources = {service.registry, RuleOf(service.application_key),
                                        RuleOf(service.service_key)};
    if (sources[1] == nullptr || sources[2] == nullptr || service.told == sources) return;
    service.told = sources;
    executor_.Post([owned = services_.at(&service),
                    set = std::make_shared<const ConfiguratorSet>(std::move(sources))] {
      owned->watcher.Run(set);
    });
  }

  Executor& executor_;
  ConfigSource& source_;
  const std::string application_;
  Gate gate_;
  std::map<Service*, std::shared_ptr<Service>> services_;
  std::map<std::string, std::shared_ptr<WatchedKey>> keys_;
  Unreadable unreadable_;
};

ConfiguratorWatch::ConfiguratorWatch(Executor& executor, ConfigSource& source,
                                     std::string application)
    : state_(std::make_shared<State>(executor, source, std::move(application))) {}

ConfiguratorWatch::~ConfiguratorWatch() { state_->Close(); }

std::unique_ptr<ServiceConfigurators> ConfiguratorWatch::Of(const ServiceKey& service,
                                                            Callback on_change) {
  class Handle final : public ServiceConfigurators {
   public:
    Handle(std::weak_ptr<State> state, std::shared_ptr<Service> service)
        : state_(std::move(state)), service_(std::move(service)) {}
    ~Handle() override {
      service_->watcher.Cancel();
      State::Post(state_, [service = service_](State& state) { state.Remove(service); });
    }
    void SetRegistryUrls(std::vector<Url> urls) override {
      State::Post(state_, [service = service_, urls = std::move(urls)](State& state) mutable {
        state.SetUrls(service, std::move(urls));
      });
    }

   private:
    const std::weak_ptr<State> state_;
    const std::shared_ptr<Service> service_;
  };

  auto owned = std::make_shared<Service>(std::move(on_change));
  State::Post(state_, [owned, service](State& state) { state.Add(owned, service); });
  return std::make_unique<Handle>(state_, std::move(owned));
}

std::string ConfiguratorWatch::KeyOf(absl::string_view application) {
  return absl::StrCat(application, ".configurators");
}

std::string ConfiguratorWatch::KeyOf(const ServiceKey& service) {
  return absl::StrCat(service.ToColonString(), ".configurators");
}

}  // namespace signpost

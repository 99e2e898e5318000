// Follows the override rules of services: one per client.
//
//   ConfiguratorWatch watch(executor, config_source, "demo-consumer");
//   auto rules = watch.Of(service, [](const std::shared_ptr<const ConfiguratorSet>& set) { ... });
//   rules->SetRegistryUrls(overrides);   // from the registry, as often as they change
//
// Watches `<application>.configurators` and `<interface>:<version>:<group>.configurators` (group
// `dubbo`). A key is watched once, however many services and references want it, and no longer
// than they live.
//
// A rule that cannot be read leaves the one before in force, and one warning says key and fault. A
// key that goes takes its rule along. Any other error (the centre is away, may not be read) leaves
// what was. URLs of the registry that cannot be read are left out; those that no service had before
// get one line of the log, with their number and one example.
//
// Threads: Of and SetRegistryUrls from any thread; callbacks on the executor, no lock held, one at
//   a time for each service. After a ServiceConfigurators is destroyed its callback does not run,
//   except the call that it was destroyed from; the same for the whole watch.
// Ownership: executor and source must outlive the watch. A ServiceConfigurators may outlive it and
//   is silent then.
// Errors: none to callers.
#ifndef SIGNPOST_ROUTER_CONFIGURATOR_CONFIGURATOR_WATCH_H_
#define SIGNPOST_ROUTER_CONFIGURATOR_CONFIGURATOR_WATCH_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "signpost/common/config_source.h"
#include "signpost/common/executor.h"
#include "signpost/common/service_key.h"
#include "signpost/common/url.h"
#include "signpost/router/configurator/configurator_set.h"

namespace signpost {

// The rules of one service, as long as this lives.
class ServiceConfigurators {
 public:
  virtual ~ServiceConfigurators() = default;
  // All `override://` and `absent://` URLs that the registry has for the service now; `empty://`:
  // none. Default: none
  virtual void SetRegistryUrls(std::vector<Url> urls) = 0;
};

class ConfiguratorWatch {
 public:
  // Called first when every key has told its rule or an error, also when there is no rule; then
  // when the set has changed and only then. Never null.
  using Callback = std::function<void(const std::shared_ptr<const ConfiguratorSet>& set)>;

  // `application`: of this process, consumer or provider. Empty: no rule for applications.
  ConfiguratorWatch(Executor& executor, ConfigSource& source, std::string application);
  ~ConfiguratorWatch();

  std::unique_ptr<ServiceConfigurators> Of(const ServiceKey& service, Callback on_change);

  // The keys' names, without the group.
  static std::string KeyOf(absl::string_view application);
  static std::string KeyOf(const ServiceKey& service);

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace signpost

#endif  // SIGNPOST_ROUTER_CONFIGURATOR_CONFIGURATOR_WATCH_H_

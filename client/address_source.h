// What one registry centre knows of one service: its lists at one or both levels, with overrides
// applied and routed, and which of them calls are drawn from. Private to this folder.
//
// In dual mode the migration rule decides what is subscribed to and what serves
// (registry/migration/migration_state.h). Until override rules are known, or known to be out of
// reach, nothing is told, so that no call goes to an address that a rule takes off.
//
// Threads: Start and Stop from any thread; all else on the control executor.
// Ownership: the registries are kept as long as this is.
#ifndef SIGNPOST_CLIENT_ADDRESS_SOURCE_H_
#define SIGNPOST_CLIENT_ADDRESS_SOURCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "signpost/client/centre_registries.h"
#include "signpost/client/configured_addresses.h"
#include "signpost/client/directory.h"
#include "signpost/client/routed_addresses.h"
#include "signpost/common/executor.h"
#include "signpost/common/mutex.h"
#include "signpost/common/request.h"
#include "signpost/common/service_key.h"
#include "signpost/common/subscription.h"
#include "signpost/common/url.h"
#include "signpost/registry/migration/level_draw.h"
#include "signpost/registry/migration/migration_rule.h"
#include "signpost/registry/migration/migration_state.h"

namespace signpost::client_internal {

// Where calls go. Pick from any thread; takes no lock, and allocates only for an error.
struct LevelChoice {
  std::string service;
  std::shared_ptr<const RoutedAddresses> application;  // null: not subscribed to, or not known
  std::shared_ptr<const RoutedAddresses> interface;
  int proportion = 100;    // percent of calls that go to the application level
  bool fall_back = false;  // a level that has nothing for a call leaves it to the other one
  std::string why;         // for people; empty outside of dual mode

  absl::StatusOr<PickResult> Pick(const Request& request) const;
  // The lists that calls are drawn from; none before the first is known.
  std::vector<const RoutedAddresses*> Serving() const;
  // OK if some call would find an address.
  absl::Status Unready() const;
  // What each level that counts says of its list, the application level first.
  std::vector<absl::Status> States() const;
  // Whether all of these have told one.
  bool Complete() const;
};

class AddressSource final : public std::enable_shared_from_this<AddressSource> {
 public:
  // `routing` outlives this. `on_change` runs after each change of choice().
  AddressSource(CentreRegistries centre, std::shared_ptr<Executor> executor, Url consumer,
                const AddressRouting::Parts& routing, std::function<void()> on_change);

  void Start();
  // Afterwards nothing is told, but by a call that runs.
  void Stop();

  const LevelChoice& choice() const { return choice_; }

 private:
  class Listener;
  // One level's list, on its way from the registry to what calls read.
  struct Level {
    std::shared_ptr<Registry> registry;  // null: not asked at this level
    std::shared_ptr<NotifyListener> listener;
    bool subscribed = false;  // under mutex_
    bool heard = false;
    bool known = false;  // what was heard is the registry's list, be it empty
    std::unique_ptr<ConfiguredAddresses> configured;  // null: there are no overrides
    std::unique_ptr<AddressRouting> routing;
    std::shared_ptr<const RoutedAddresses> routed;  // null: not known

    LevelFacts Facts() const;
  };

  Level& At(DiscoveryLevel level);
  void Prepare(DiscoveryLevel level, std::shared_ptr<Registry> registry);
  // Subscribes or unsubscribes, if that changes anything.
  void Subscribe(DiscoveryLevel level, bool wanted);
  void OnAddresses(DiscoveryLevel level, const ServiceAddresses& addresses);
  void OnRule(const MigrationRuleWatch::RulePtr& rule);
  void OnConfigurators(std::shared_ptr<const ConfiguratorSet> configurators);
  // Asks the state machine, does what it says and tells the owner.
  void Decide();
  void DecideLevels();
  Url ConsumerNode() const;

  CentreRegistries centre_;  // empty once stopped
  const std::shared_ptr<Executor> executor_;
  const Url consumer_;
  const ServiceKey service_;
  const AddressRouting::Parts& routing_;
  const std::function<void()> on_change_;
  // ms since 1970. With the process id it tells this consumer's node from those of others on the
  // same host.
  const int64_t begun_;

  Mutex mutex_;
  bool stopped_ = false;
  std::vector<Subscription> watches_;
  Level application_;
  Level interface_;

  // Of the executor.
  MigrationRuleWatch::RulePtr rule_;  // null: not known yet
  MigrationFields url_fields_;
  // Applications of the mapping, as last told: settings of the rule may hang on them, and must not
  // depend on which level is subscribed to.
  std::vector<std::string> apps_;
  MigrationState migration_;
  // What the log last said of where calls go, and what a switch waits for.
  std::optional<std::tuple<MigrationStep, MigrationWait, DiscoveryLevel, int>> told_;
  Executor::TimerId timer_ = 0;
  bool configurators_known_;
  LevelChoice choice_;
};

}  // namespace signpost::client_internal

#endif  // SIGNPOST_CLIENT_ADDRESS_SOURCE_H_

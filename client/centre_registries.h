// One registry centre as this process' providers and consumers use it. Client makes them; private
// to this folder but for tests.
//
// Threads: values; what they point to as its own header says.
#ifndef SIGNPOST_CLIENT_CENTRE_REGISTRIES_H_
#define SIGNPOST_CLIENT_CENTRE_REGISTRIES_H_

#include <functional>
#include <memory>

#include "signpost/common/address_list.h"
#include "signpost/common/subscription.h"
#include "signpost/common/url.h"
#include "signpost/registry/migration/migration_rule.h"
#include "signpost/registry/migration/migration_rule_watch.h"
#include "signpost/registry/registry.h"
#include "signpost/router/configurator/configurator_set.h"

namespace signpost {

using ConfiguratorsCallback = std::function<void(std::shared_ptr<const ConfiguratorSet>)>;
// The override rules that concern the service of a consumer's or provider's URL: as soon as they
// are known, or known to be out of reach, and at each change. On the control executor.
using WatchConfigurators = std::function<Subscription(const Url& url, ConfiguratorsCallback)>;

struct CentreRegistries {
  // Either may be null: not asked at this level.
  std::shared_ptr<Registry> application;
  std::shared_ptr<Registry> interface;
  // Where overridden addresses are interned: that of the registries. May be null if `configurators`
  // is empty.
  std::shared_ptr<EndpointTable> table;
  WatchConfigurators configurators;  // empty: there are no overrides
  // Of dual mode. Required if both registries are there.
  std::shared_ptr<MigrationRuleWatch> migration;
  MigrationOptions migration_options;
  // Whether consumers are to be seen in the registry (interface level). Default: false
  bool register_consumers = false;
};

}  // namespace signpost

#endif  // SIGNPOST_CLIENT_CENTRE_REGISTRIES_H_

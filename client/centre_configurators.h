// Override rules of one registry centre: from its config centre, and, where the interface level is
// used, from the `configurators` folders of its services. Private to this folder.
//
// Threads: as ConfiguratorWatch. Ownership: both are kept.
#ifndef SIGNPOST_CLIENT_CENTRE_CONFIGURATORS_H_
#define SIGNPOST_CLIENT_CENTRE_CONFIGURATORS_H_

#include <memory>

#include "signpost/client/centre_registries.h"
#include "signpost/common/executor.h"
#include "signpost/registry/interface/interface_registry.h"
#include "signpost/router/configurator/configurator_watch.h"

namespace signpost::client_internal {

// `registry` may be null: no folders are looked at. Rules are told when both places have told
// theirs, or an error.
WatchConfigurators ConfiguratorsOfCentre(std::shared_ptr<Executor> executor,
                                         std::shared_ptr<ConfiguratorWatch> watch,
                                         std::shared_ptr<InterfaceRegistry> registry);

}  // namespace signpost::client_internal

#endif  // SIGNPOST_CLIENT_CENTRE_CONFIGURATORS_H_

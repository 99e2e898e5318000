// A registry centre that a client has open, and all that is built on it. Private to this folder.
//
// Threads: Open and Close not on the control executor. What it holds: as its own headers.
// Ownership: parts are made in the order of the members and go against it.
#ifndef SIGNPOST_CLIENT_OPEN_CENTRE_H_
#define SIGNPOST_CLIENT_OPEN_CENTRE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "signpost/client/client.h"
#include "signpost/client/registry_plan.h"
#include "signpost/common/address_list.h"
#include "signpost/common/executor.h"
#include "signpost/metadata/metadata_resolver.h"
#include "signpost/metadata/published_metadata.h"
#include "signpost/registry/application/application_registry.h"
#include "signpost/registry/interface/interface_registry.h"
#include "signpost/registry/migration/migration_rule_watch.h"
#include "signpost/registry/registry_factory.h"
#include "signpost/router/configurator/configurator_watch.h"

namespace signpost::client_internal {

// What all centres of a client share.
struct CentreParts {
  std::shared_ptr<Executor> executor;
  std::shared_ptr<EndpointTable> table;
  // Of storage type `local`, else null and empty.
  std::shared_ptr<PublishedMetadata> published;
  std::map<std::string, std::string> metadata_service;
};

class OpenCentre {
 public:
  // Errors name the registry.
  static absl::StatusOr<std::unique_ptr<OpenCentre>> Open(const RegistryPlan& plan,
                                                          const ClientOptions& options,
                                                          const RegistryFactories& registries,
                                                          const CentreParts& parts);

  // Nothing is told any more; ends the session. At most 5 s. Idempotent.
  void Close();

  RegistryCentre& centre() { return *centre_; }
  RegisteredState registered() const;

  // `self` is what the results keep alive, and this with it.
  CentreRegistries ForConsumers(const std::shared_ptr<OpenCentre>& self,
                                const ClientOptions& options) const;
  std::shared_ptr<Registrar> ForProviders(const std::shared_ptr<OpenCentre>& self) const;

 private:
  OpenCentre() = default;
  WatchConfigurators Configurators(const std::shared_ptr<OpenCentre>& self,
                                   bool with_folders) const;

  RegistryPlan plan_;
  CentreParts parts_;
  std::unique_ptr<RegistryCentre> centre_;
  std::unique_ptr<MetadataResolver> resolver_;
  // Null if neither providers nor consumers use the level.
  std::unique_ptr<ApplicationRegistry> application_;
  std::unique_ptr<InterfaceRegistry> interface_;
  std::unique_ptr<ConfiguratorWatch> configurators_;
  std::unique_ptr<MigrationRuleWatch> migration_;  // null without dual mode
};

}  // namespace signpost::client_internal

#endif  // SIGNPOST_CLIENT_OPEN_CENTRE_H_

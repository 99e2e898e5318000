#include "signpost/client/open_centre.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "signpost/client/centre_configurators.h"
#include "signpost/client/fan_out_registrar.h"
#include "signpost/client/overriding_registrar.h"
#include "signpost/common/status.h"
#include "signpost/registry/store/store_centre.h"

namespace signpost::client_internal {

absl::StatusOr<std::unique_ptr<OpenCentre>> OpenCentre::Open(const RegistryPlan& plan,
                                                             const ClientOptions& options,
                                                             const RegistryFactories& registries,
                                                             const CentreParts& parts) {
  const std::string name = absl::StrCat("registry ", plan.centre.ToString());
  absl::StatusOr<const RegistryFactory*> factory = registries.Find(plan.centre.protocol());
  if (!factory.ok()) return factory.status();
  absl::StatusOr<InterfaceRegistryOptions> interface_options =
      InterfaceRegistryOptions::FromUrl(plan.centre);
  if (!interface_options.ok()) return Annotate(interface_options.status(), name);
  if (absl::Status layout = StoreLayout::Check(plan.centre); !layout.ok()) {
    return Annotate(layout, name);
  }
  CentreOptions centre_options;
  centre_options.executor = parts.executor;
  centre_options.read_only = options.read_only;
  absl::StatusOr<std::unique_ptr<RegistryCentre>> centre = (**factory)(plan.centre, centre_options);
  if (!centre.ok()) return Annotate(centre.status(), name);

  std::unique_ptr<OpenCentre> open(new OpenCentre());
  open->plan_ = plan;
  open->parts_ = parts;
  open->centre_ = *std::move(centre);
  Executor& executor = *parts.executor;
  if (plan.provider.application || plan.consumer.application) {
    std::vector<std::unique_ptr<MetadataFetcher>> fetchers;
    for (const MetadataProtocol& protocol : options.metadata_protocols) {
      fetchers.push_back(protocol.fetcher(executor));
    }
    open->resolver_ =
        std::make_unique<MetadataResolver>(executor, &open->centre_->metadata_report(),
                                           std::move(fetchers), MetadataResolver::Options());
    ApplicationRegistryOptions registry_options;
    registry_options.app = options.app;
    registry_options.labels = options.labels;
    registry_options.debounce = options.debounce;
    registry_options.published = parts.published;
    registry_options.metadata_service = parts.metadata_service;
    open->application_ = std::make_unique<ApplicationRegistry>(
        executor, *open->centre_, *parts.table, *open->resolver_, std::move(registry_options));
  }
  if (plan.provider.interface || plan.consumer.interface) {
    open->interface_ = std::make_unique<InterfaceRegistry>(executor, *open->centre_, *parts.table,
                                                           *std::move(interface_options));
  }
  open->configurators_ =
      std::make_unique<ConfiguratorWatch>(executor, open->centre_->config_source(), options.app);
  if (plan.consumer.both()) {
    open->migration_ = std::make_unique<MigrationRuleWatch>(
        executor, &open->centre_->config_source(), options.app);
  }
  return open;
}

void OpenCentre::Close() {
  if (application_ != nullptr) application_->Close();
  if (interface_ != nullptr) interface_->Close();
  centre_->Close();
}

RegisteredState OpenCentre::registered() const {
  RegisteredState state;
  if (application_ != nullptr) state = application_->registered();
  if (interface_ != nullptr) {
    for (std::string& path : interface_->registered_paths()) {
      state.paths.push_back(std::move(path));
    }
  }
  return state;
}

CentreRegistries OpenCentre::ForConsumers(const std::shared_ptr<OpenCentre>& self,
                                          const ClientOptions& options) const {
  CentreRegistries registries;
  if (plan_.consumer.application) {
    registries.application = std::shared_ptr<Registry>(self, application_.get());
  }
  if (plan_.consumer.interface) {
    registries.interface = std::shared_ptr<Registry>(self, interface_.get());
  }
  registries.table = parts_.table;
  registries.configurators = Configurators(self, plan_.consumer.interface);
  if (migration_ != nullptr) {
    registries.migration = std::shared_ptr<MigrationRuleWatch>(self, migration_.get());
  }
  registries.migration_options = options.migration.Over(MigrationOptions());
  registries.register_consumers = !options.read_only;
  return registries;
}

std::shared_ptr<Registrar> OpenCentre::ForProviders(const std::shared_ptr<OpenCentre>& self) const {
  std::vector<std::shared_ptr<Registrar>> levels;
  if (plan_.provider.application) levels.emplace_back(self, application_.get());
  if (plan_.provider.interface) levels.emplace_back(self, interface_.get());
  return std::make_shared<OverridingRegistrar>(
      parts_.executor, std::make_shared<FanOutRegistrar>(std::move(levels)),
      Configurators(self, plan_.provider.interface),
      [name = absl::StrCat("registry ", plan_.centre.ToString()), self] {
        return absl::StrCat(
            name, ": ",
            self->centre_->store().IsAvailable() ? "no answer in time" : "not connected");
      });
}

WatchConfigurators OpenCentre::Configurators(const std::shared_ptr<OpenCentre>& self,
                                             bool with_folders) const {
  return ConfiguratorsOfCentre(
      parts_.executor, std::shared_ptr<ConfiguratorWatch>(self, configurators_.get()),
      std::shared_ptr<InterfaceRegistry>(self, with_folders ? interface_.get() : nullptr));
}

}  // namespace signpost::client_internal

#include "signpost/client/client.h"

#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "signpost/client/fan_out_registrar.h"
#include "signpost/client/open_centre.h"
#include "signpost/client/registry_plan.h"
#include "signpost/common/address_list.h"
#include "signpost/common/await.h"
#include "signpost/common/log.h"
#include "signpost/common/mutex.h"
#include "signpost/common/status.h"
#include "signpost/common/url.h"
#include "signpost/metadata/published_metadata.h"

namespace signpost {

using client_internal::CentreParts;
using client_internal::FanOutRegistrar;
using client_internal::OpenCentre;

namespace {

// Parts of Shutdown's 10 s; the centre has 5 s of its own.
constexpr absl::Duration kUnregisterTimeout = absl::Seconds(3);
constexpr absl::Duration kFlushTimeout = absl::Seconds(1);

// To which centre there is a route that tells this machine's address.
Url RouteTarget(const std::vector<RegistryPlan>& plans) {
  for (const RegistryPlan& plan : plans) {
    if (IsRemoteRegistry(plan.centre)) return plan.centre;
  }
  return Url();
}

// Waits until everything posted to `executor` before has run, at most `timeout`.
absl::Status Flush(Executor& executor, absl::Duration timeout) {
  Waiter<> flushed;
  executor.Post([done = flushed.Callback()] { done(absl::OkStatus()); });
  return flushed.Wait(timeout);
}

absl::Status CheckLabels(const ClientOptions& options) {
  for (const auto& [key, value] : options.labels) {
    if (key.empty() || absl::StartsWith(key, "dubbo.")) {
      return absl::InvalidArgumentError(
          absl::StrCat("label '", key, "': empty keys and `dubbo.` keys are not for labels"));
    }
  }
  return absl::OkStatus();
}

// Nothing stands behind the process's threshold.
absl::Status CheckMigration(const MigrationFields& migration) {
  if (migration.threshold && *migration.threshold < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("migration.threshold: ", *migration.threshold, " is not a number >= 0"));
  }
  return migration.Check();
}

struct ServedMetadata {
  std::shared_ptr<PublishedMetadata> published;
  std::vector<std::unique_ptr<MetadataServer>> servers;
};

// Those that are to answer, in order.
absl::StatusOr<std::vector<const MetadataProtocol*>> ServingProtocols(
    const ClientOptions& options) {
  const std::vector<std::string>& wanted = options.metadata_service.protocols;
  std::vector<const MetadataProtocol*> serving;
  std::vector<std::string> names;
  for (const MetadataProtocol& protocol : options.metadata_protocols) {
    if (protocol.server == nullptr) continue;
    names.push_back(protocol.name);
    if (wanted.empty()) return std::vector<const MetadataProtocol*>{&protocol};
  }
  for (const std::string& name : wanted) {
    const auto found = absl::c_find_if(options.metadata_protocols, [&name](const auto& protocol) {
      return protocol.server != nullptr && protocol.name == name;
    });
    if (found == options.metadata_protocols.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("metadata service by protocol '", name, "': this process has ",
                       names.empty() ? "none" : absl::StrJoin(names, ", ")));
    }
    if (absl::c_linear_search(serving, &*found)) {
      return absl::InvalidArgumentError(
          absl::StrCat("metadata service by protocol '", name, "': named twice"));
    }
    serving.push_back(&*found);
  }
  if (!serving.empty()) return serving;
  return absl::InvalidArgumentError(
      "metadata=local: none of metadata_protocols has a server (client/plugins/dubbo_metadata.h)");
}

absl::StatusOr<ServedMetadata> ServeMetadata(const ClientOptions& options, const Clock& clock) {
  auto serving = ServingProtocols(options);
  if (!serving.ok()) return serving.status();
  ServedMetadata served;
  served.published = std::make_shared<PublishedMetadata>(options.app, clock);
  for (const MetadataProtocol* protocol : *serving) {
    const bool first = served.servers.empty();
    auto server = protocol->server(served.published, options.metadata_service.host,
                                   first ? options.metadata_service.port : 0);
    const std::string where = absl::StrCat("metadata service by protocol '", protocol->name, "'");
    if (!server.ok()) return Annotate(server.status(), where);
    if (first && (*server)->InstanceMetadata().empty()) {
      return absl::FailedPreconditionError(absl::StrCat(where, ": it does not say where it is"));
    }
    served.servers.push_back(*std::move(server));
  }
  return served;
}

// Calls `close` for each of `all` at the same time, since each may take its whole time.
template <typename Closed, typename Close>
void AtOnce(const std::vector<Closed>& all, const Close& close) {
  std::vector<std::thread> others;
  for (size_t i = 1; i < all.size(); ++i) {
    try {
      others.emplace_back([&all, &close, i] { close(*all[i]); });
    } catch (const std::system_error&) {  // no thread to be had
      close(*all[i]);
    }
  }
  if (!all.empty()) close(*all.front());
  for (std::thread& other : others) other.join();
}

// What belongs together. Shared, so that a Directory that is just going on another thread keeps
// whole what it unsubscribes from.
struct Core {
  std::shared_ptr<Executor> executor;
  std::vector<std::unique_ptr<MetadataServer>> servers;  // of storage type `local`
  std::vector<std::shared_ptr<OpenCentre>> centres;

  RegisteredState registered() const {
    RegisteredState all;
    for (const auto& centre : centres) {
      RegisteredState one = centre->registered();
      if (all.revision.empty()) all.revision = std::move(one.revision);
      for (std::string& path : one.paths) all.paths.push_back(std::move(path));
    }
    return all;
  }
};

}  // namespace

class Client::State {
 public:
  State(std::shared_ptr<Core> core, Provider::Parts provider, Consumer::Parts consumer)
      : core(std::move(core)), provider(std::move(provider)), consumer(std::move(consumer)) {}

  const std::shared_ptr<Core> core;
  Provider provider;
  Consumer consumer;
  Mutex mutex;
  CondVar changed;
  bool closing ABSL_GUARDED_BY(mutex) = false;
  bool closed ABSL_GUARDED_BY(mutex) = false;
};

Client::Client(std::unique_ptr<State> state) : state_(std::move(state)) {}

absl::StatusOr<std::unique_ptr<Client>> Client::Create(ClientOptions options,
                                                       const RegistryFactories& registries) {
  absl::StatusOr<std::vector<RegistryPlan>> plans = PlanRegistries(options.registry);
  if (!plans.ok()) return plans.status();
  absl::Status labels = CheckLabels(options);
  if (!labels.ok()) return labels;
  if (!options.metadata.empty() && options.metadata != "remote" && options.metadata != "local") {
    return absl::InvalidArgumentError(
        absl::StrCat("metadata '", options.metadata, "': remote or local"));
  }
  absl::Status address = CheckAddressOptions(options.address);
  if (!address.ok()) return Annotate(address, "address options");
  absl::Status migration = CheckMigration(options.migration);
  if (!migration.ok()) return migration;
  if (options.balancers == nullptr) {
    auto balancers = std::make_shared<BalancerFactories>("balancer");
    absl::Status added = AddBuiltinBalancers(*balancers);
    if (!added.ok()) return added;
    options.balancers = std::move(balancers);
  }

  auto core = std::make_shared<Core>();
  core->executor = options.executor != nullptr ? options.executor : NewSerialExecutor("signpost");
  CentreParts parts;
  parts.executor = core->executor;
  parts.table = std::make_shared<EndpointTable>();
  if (options.metadata == "local" && !options.app.empty()) {
    auto served = ServeMetadata(options, core->executor->clock());
    if (!served.ok()) return served.status();
    core->servers = std::move(served->servers);
    parts.published = std::move(served->published);
    parts.metadata_service = core->servers.front()->InstanceMetadata();
  }
  for (const RegistryPlan& plan : *plans) {
    auto centre = OpenCentre::Open(plan, options, registries, parts);
    if (!centre.ok()) return centre.status();
    core->centres.push_back(*std::move(centre));
  }
  std::vector<std::shared_ptr<Registrar>> registrars;
  std::vector<CentreRegistries> centres;
  for (const auto& centre : core->centres) {
    registrars.push_back(centre->ForProviders(centre));
    centres.push_back(centre->ForConsumers(centre, options));
  }
  const auto selector =
      std::make_shared<AddressSelector>(options.address, RouteTarget(*plans), options.interfaces);

  Provider::Parts provider;
  provider.executor = core->executor;
  provider.registrar = registrars.size() == 1
                           ? registrars.front()
                           : std::make_shared<FanOutRegistrar>(std::move(registrars));
  provider.registered = [core] { return core->registered(); };
  provider.app = options.app;
  provider.read_only = options.read_only;
  provider.address = selector;

  Consumer::Parts consumer;
  consumer.executor = core->executor;
  consumer.centres = std::move(centres);
  consumer.address = selector;
  consumer.app = options.app;
  consumer.balancers = options.balancers;
  consumer.routers = std::move(options.routers);
  if (!options.balancer.empty()) consumer.balancer = options.balancer;
  return std::unique_ptr<Client>(new Client(
      std::make_unique<State>(std::move(core), std::move(provider), std::move(consumer))));
}

Client::~Client() { Shutdown(absl::ZeroDuration()); }

Provider& Client::provider() { return state_->provider; }

Consumer& Client::consumer() { return state_->consumer; }

absl::Status Client::Start(absl::Duration timeout) {
  return state_->provider.WaitPublished(timeout);
}

void Client::Shutdown(absl::Duration drain) {
  State& state = *state_;
  {
    MutexLock lock(state.mutex);
    if (state.closing) {
      while (!state.closed) state.changed.Wait(state.mutex);
      return;
    }
    state.closing = true;
  }
  const bool provided = state.provider.has_exports();
  absl::Status gone = state.provider.Close(kUnregisterTimeout);
  if (!gone.ok()) {
    // The session ends below, and what it wrote goes with it.
    Log(LogLevel::kWarning, absl::StrCat("shutdown: ", gone.ToString()));
  }
  if (provided && drain > absl::ZeroDuration()) {
    Waiter<> drained;
    state.core->executor->PostAfter(drain, [done = drained.Callback()] { done(absl::OkStatus()); });
    (void)drained.Wait(drain + kFlushTimeout);
  }
  state.consumer.Close();
  AtOnce(state.core->centres, [](OpenCentre& centre) { centre.Close(); });
  // Last: until the instance was gone consumers could ask.
  AtOnce(state.core->servers, [](MetadataServer& server) { server.Close(); });
  absl::Status flushed = Flush(*state.core->executor, kFlushTimeout);
  if (!flushed.ok()) {
    Log(LogLevel::kWarning,
        absl::StrCat("shutdown: a callback is still running: ", flushed.ToString()));
  }
  MutexLock lock(state.mutex);
  state.closed = true;
  state.changed.SignalAll();
}

RegistryCentre& Client::centre() { return state_->core->centres.front()->centre(); }

Executor& Client::executor() { return *state_->core->executor; }

}  // namespace signpost

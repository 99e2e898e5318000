#include "signpost/client/client.h"

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "signpost/common/address_list.h"
#include "signpost/common/await.h"
#include "signpost/common/log.h"
#include "signpost/common/mutex.h"
#include "signpost/common/status.h"
#include "signpost/common/url.h"
#include "signpost/metadata/metadata_resolver.h"
#include "signpost/metadata/published_metadata.h"
#include "signpost/registry/application/application_registry.h"

namespace signpost {
namespace {

// Parts of Shutdown's 10 s; the centre has 5 s of its own.
constexpr absl::Duration kUnregisterTimeout = absl::Seconds(3);
constexpr absl::Duration kFlushTimeout = absl::Seconds(1);
constexpr char kServiceDiscoveryScheme[] = "service-discovery-registry";

absl::Status NotYet(const Url& url, absl::string_view what) {
  return absl::UnimplementedError(
      absl::StrCat("registry ", url.ToString(), ": ", what, " asks for interface level: not yet"));
}

absl::Status BadMode(const Url& url, absl::string_view key, absl::string_view known) {
  return absl::InvalidArgumentError(absl::StrCat("registry ", url.ToString(), ": parameter ", key,
                                                 "=", url.Get(key), "; known: ", known));
}

// Sees to it that the application level is what `url` asks for; gives the URL of the centre. Where
// others register does not matter to who only looks.
absl::StatusOr<Url> ApplicationLevel(Url url, bool read_only) {
  bool asked = false;
  if (url.protocol() == kServiceDiscoveryScheme) {
    if (url.Get("registry").empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("registry ", url.ToString(), ": parameter registry=<scheme> is missing"));
    }
    Url::Parts parts = url.parts();
    parts.protocol = std::string(url.Get("registry"));
    if (!IsScheme(parts.protocol)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "registry ", url.Without("registry").ToString(),
          ": parameter registry is no scheme such as `zookeeper` (its value is not shown)"));
    }
    parts.parameters.erase("registry");
    url = Url(std::move(parts));
    asked = true;
  }
  const absl::string_view mode = url.Get("mode");
  if (mode == "interface") return NotYet(url, "mode=interface");
  if (!mode.empty() && mode != "application") return BadMode(url, "mode", "application, interface");
  const absl::string_view register_mode = url.Get("register-mode");
  if (!read_only && (register_mode == "interface" || register_mode == "all")) {
    return NotYet(url, absl::StrCat("register-mode=", register_mode));
  }
  if (!read_only && !register_mode.empty() && register_mode != "instance") {
    return BadMode(url, "register-mode", "all, instance, interface");
  }
  asked = asked || !mode.empty() || !register_mode.empty() || url.Get("registry-type") == "service";
  const bool local =
      url.protocol() == "embedded" || url.protocol() == "memory" || url.protocol() == "signpost";
  static std::atomic<bool> said{false};
  if (!asked && !local && !said.exchange(true)) {
    Log(LogLevel::kInfo, absl::StrCat("registry ", url.ToString(),
                                      ": registers at application level only; interface level, "
                                      "which Dubbo adds by default, is not there yet "
                                      "(register-mode=instance says that this is meant)"));
  }
  return url;
}

// Whether the host of `url` is one, to which there is a route, and no name or folder.
bool IsElsewhere(const Url& url) {
  return url.protocol() != "embedded" && url.protocol() != "memory" && url.protocol() != "file";
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

struct ServedMetadata {
  std::shared_ptr<PublishedMetadata> published;
  std::unique_ptr<MetadataServer> server;
};

absl::StatusOr<ServedMetadata> ServeMetadata(const ClientOptions& options, const Clock& clock) {
  for (const MetadataProtocol& protocol : options.metadata_protocols) {
    if (protocol.server == nullptr) continue;
    ServedMetadata served;
    served.published = std::make_shared<PublishedMetadata>(options.app, clock);
    auto server = protocol.server(served.published);
    if (!server.ok()) return server.status();
    served.server = *std::move(server);
    return served;
  }
  return absl::InvalidArgumentError(
      "metadata=local: none of metadata_protocols has a server (client/plugins/thrift_metadata.h)");
}

// What belongs together: made in this order, taken down against it. Shared, so that a Directory
// that is just going on another thread keeps whole what it unsubscribes from.
struct Core {
  std::shared_ptr<Executor> executor;
  std::shared_ptr<EndpointTable> table;
  std::unique_ptr<RegistryCentre> centre;
  std::unique_ptr<MetadataServer> server;  // of storage type `local`
  std::unique_ptr<MetadataResolver> resolver;
  std::unique_ptr<ApplicationRegistry> registry;
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
  absl::StatusOr<Url> asked = Url::Parse(options.registry);
  if (!asked.ok()) return Annotate(asked.status(), "registry URL");
  if (asked->protocol().empty()) {
    return absl::InvalidArgumentError(
        "registry URL: no `scheme://`, such as zookeeper://host:port (its value is not shown)");
  }
  // `zookeeper:/user:password@host`: shown as a path, it would show the password.
  if (asked->host().empty() && absl::StrContains(asked->path(), '@') && IsElsewhere(*asked)) {
    return absl::InvalidArgumentError(
        absl::StrCat("registry URL ", asked->protocol(),
                     ":...: `//` is missing before user and host (the rest is not shown)"));
  }
  absl::StatusOr<Url> url = ApplicationLevel(*std::move(asked), options.read_only);
  if (!url.ok()) return url.status();
  absl::Status labels = CheckLabels(options);
  if (!labels.ok()) return labels;
  if (!options.metadata.empty() && options.metadata != "remote" && options.metadata != "local") {
    return absl::InvalidArgumentError(
        absl::StrCat("metadata '", options.metadata, "': remote or local"));
  }
  absl::Status address = CheckAddressOptions(options.address);
  if (!address.ok()) return Annotate(address, "address options");
  absl::StatusOr<const RegistryFactory*> factory = registries.Find(url->protocol());
  if (!factory.ok()) return factory.status();
  if (options.balancers == nullptr) {
    auto balancers = std::make_shared<BalancerFactories>("balancer");
    absl::Status added = AddBuiltinBalancers(*balancers);
    if (!added.ok()) return added;
    options.balancers = std::move(balancers);
  }

  auto core = std::make_shared<Core>();
  core->executor = options.executor != nullptr ? options.executor : NewSerialExecutor("signpost");
  core->table = std::make_shared<EndpointTable>();
  CentreOptions centre_options;
  centre_options.executor = core->executor;
  centre_options.read_only = options.read_only;
  absl::StatusOr<std::unique_ptr<RegistryCentre>> centre = (**factory)(*url, centre_options);
  if (!centre.ok()) {
    return Annotate(centre.status(), absl::StrCat("registry ", url->ToString()));
  }
  core->centre = *std::move(centre);
  std::vector<std::unique_ptr<MetadataFetcher>> fetchers;
  for (const MetadataProtocol& protocol : options.metadata_protocols) {
    fetchers.push_back(protocol.fetcher(*core->executor));
  }
  core->resolver =
      std::make_unique<MetadataResolver>(*core->executor, &core->centre->metadata_report(),
                                         std::move(fetchers), MetadataResolver::Options());
  ApplicationRegistryOptions registry_options;
  if (options.metadata == "local" && !options.app.empty()) {
    auto served = ServeMetadata(options, core->executor->clock());
    if (!served.ok()) return served.status();
    core->server = std::move(served->server);
    registry_options.published = std::move(served->published);
    registry_options.metadata_service = core->server->InstanceMetadata();
  }
  registry_options.app = options.app;
  registry_options.labels = options.labels;
  registry_options.debounce = options.debounce;
  core->registry = std::make_unique<ApplicationRegistry>(
      *core->executor, *core->centre, *core->table, *core->resolver, std::move(registry_options));
  std::shared_ptr<ApplicationRegistry> registry(core, core->registry.get());

  Provider::Parts provider;
  provider.executor = core->executor;
  provider.registry = registry;
  provider.registered = [registry] { return registry->registered(); };
  provider.app = options.app;
  provider.read_only = options.read_only;
  provider.address = std::make_shared<AddressSelector>(
      options.address, IsElsewhere(*url) ? *url : Url(), options.interfaces);

  Consumer::Parts consumer;
  consumer.executor = core->executor;
  consumer.registry = registry;
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
  state.core->registry->Close();
  state.core->centre->Close();
  // Last: until the instance was gone consumers could ask.
  if (state.core->server != nullptr) state.core->server->Close();
  absl::Status flushed = Flush(*state.core->executor, kFlushTimeout);
  if (!flushed.ok()) {
    Log(LogLevel::kWarning,
        absl::StrCat("shutdown: a callback is still running: ", flushed.ToString()));
  }
  MutexLock lock(state.mutex);
  state.closed = true;
  state.changed.SignalAll();
}

RegistryCentre& Client::centre() { return *state_->core->centre; }

Executor& Client::executor() { return *state_->core->executor; }

}  // namespace signpost

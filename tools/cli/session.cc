#include "signpost/tools/cli/session.h"

#include <map>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "signpost/client/options.h"
#include "signpost/client/registry_plan.h"
#include "signpost/common/address_list.h"
#include "signpost/common/await.h"
#include "signpost/common/clock.h"
#include "signpost/common/log.h"
#include "signpost/common/mutex.h"
#include "signpost/common/service_instance.h"
#include "signpost/common/status.h"
#include "signpost/common/subscription.h"
#include "signpost/common/url.h"
#include "signpost/registry/interface/interface_registry.h"
#include "signpost/registry/store/store_centre.h"
#include "signpost/tools/cli/output.h"

namespace signpost::cli {
namespace {

// Who sees all providers of an interface.
Url AllOf(const std::string& interface_name) {
  Url::Parts all;
  all.protocol = "consumer";
  all.host = "0.0.0.0";
  all.path = interface_name;
  all.parameters = {
      {"interface", interface_name}, {"group", "*"},           {"version", "*"}, {"enabled", "*"},
      {"classifier", "*"},           {"category", "providers"}};
  return Url(std::move(all));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Client>> OpenClient(ClientOptions options,
                                                   const RegistryFactories& registries) {
  const absl::StatusOr<Url> url = Url::Parse(options.registry);
  auto client = Client::Create(std::move(options), registries);
  if (client.ok()) {
    Log(LogLevel::kInfo, absl::StrCat("registry ", (*client)->centre().url().ToString()));
    return client;
  }
  if (!absl::IsNotFound(client.status()) || !url.ok()) return client;
  const bool known = registries.Find(url->protocol()).ok();
  return known ? absl::UnavailableError(client.status().message())
               : absl::InvalidArgumentError(client.status().message());
}

absl::StatusOr<ClientOptions> CompleteOptions(ClientOptions program, const Arguments& arguments,
                                              std::ostream& err) {
  program.registry = arguments.registry;
  auto options = LoadOptions(program);
  if (options.ok() && options->registry.empty()) {
    program.registry = DefaultRegistry();  // only now: it asks whether a server answers
    if (absl::StartsWith(program.registry, "embedded:")) {
      // A server that has died must not look like an empty registry.
      PrintLine(err, absl::StrCat("signpost: no registry named and no `signpost serve` answers at "
                                  "127.0.0.1:2280; using ",
                                  program.registry));
    }
    options = LoadOptions(std::move(program));
  }
  if (!options.ok()) return absl::InvalidArgumentError(options.status().message());
  return options;
}

absl::StatusOr<std::string> WithLevels(const std::string& registry, const std::string& key,
                                       const std::string& value) {
  absl::StatusOr<std::vector<RegistryPlan>> plans = PlanRegistries(registry);
  if (!plans.ok()) return plans.status();
  std::vector<std::string> urls;
  for (const RegistryPlan& plan : *plans) {
    urls.push_back(plan.centre.With(key, value).ToFullString());
  }
  return absl::StrJoin(urls, "|");
}

absl::StatusOr<std::unique_ptr<Session>> Session::Open(const Invocation& call, As as) {
  ClientOptions program;
  program.app = call.arguments.app;
  auto options = CompleteOptions(std::move(program), call.arguments, call.err);
  if (!options.ok()) return options.status();
  if (!call.arguments.level.empty()) {
    auto registry = WithLevels(options->registry, "mode", call.arguments.level);
    if (!registry.ok()) return registry.status();
    options->registry = *std::move(registry);
  }
  const absl::StatusOr<std::vector<RegistryPlan>> plans = PlanRegistries(options->registry);
  if (!plans.ok()) return plans.status();
  ServiceLevels levels;
  for (const RegistryPlan& plan : *plans) {
    levels.application |= plan.consumer.application;
    levels.interface |= plan.consumer.interface;
  }
  options->read_only = true;
  options->metadata_protocols = call.metadata_protocols;
  if (as == As::kNobody) options->app.clear();
  if (!call.arguments.app.empty()) {
    // Of one that is no name no rule would be found, and nobody would know why.
    absl::Status name = ValidateAppName(call.arguments.app);
    if (!name.ok()) return Annotate(name, "--app");
  }
  // It serves nobody: no port is opened for its metadata.
  options->metadata.clear();
  options->labels.clear();
  options->balancer.clear();
  auto client = OpenClient(*std::move(options), call.registries);
  if (!client.ok()) return client.status();
  std::unique_ptr<Session> session(
      new Session(*std::move(client), call.metadata_protocols, call.arguments.timeout));
  session->centres_ = plans->size();
  session->level_ = levels.both() ? "dual" : levels.interface ? "interface" : "application";
  return session;
}

Session::Session(std::unique_ptr<Client> client, const std::vector<MetadataProtocol>& protocols,
                 absl::Duration timeout)
    : client_(std::move(client)), timeout_(timeout) {
  MetadataResolver::Options options;
  options.attempt_timeout = timeout;
  std::vector<std::unique_ptr<MetadataFetcher>> fetchers;
  for (const MetadataProtocol& protocol : protocols) {
    fetchers.push_back(protocol.fetcher(client_->executor()));
  }
  resolver_ = std::make_unique<MetadataResolver>(
      client_->executor(), &client_->centre().metadata_report(), std::move(fetchers), options);
}

Session::~Session() {
  resolver_.reset();
  client_->Shutdown(absl::ZeroDuration());
}

CallOptions Session::Options() const {
  CallOptions options;
  options.timeout = timeout_;
  return options;
}

absl::StatusOr<std::vector<std::string>> Session::ListApps() {
  return Await<absl::StatusOr<std::vector<std::string>>>(timeout_, [&](auto done) {
    client_->centre().discovery().ListApplications(Options(), std::move(done));
  });
}

absl::StatusOr<std::shared_ptr<const InstanceList>> Session::ListInstances(const std::string& app) {
  return Await<absl::StatusOr<std::shared_ptr<const InstanceList>>>(timeout_, [&](auto done) {
    client_->centre().discovery().ListInstances(app, Options(), std::move(done));
  });
}

absl::StatusOr<MappingText> Session::GetMapping(const std::string& interface_name) {
  return Await<absl::StatusOr<MappingText>>(timeout_, [&](auto done) {
    client_->centre().mapping_store().Get(interface_name, Options(), std::move(done));
  });
}

absl::StatusOr<std::vector<std::string>> Session::ListMappings() {
  return Await<absl::StatusOr<std::vector<std::string>>>(timeout_, [&](auto done) {
    client_->centre().mapping_store().List(Options(), std::move(done));
  });
}

absl::StatusOr<ResolvedMetadata> Session::ResolveMetadata(
    const std::string& app, const std::string& revision,
    const std::vector<InstancePtr>& instances) {
  return Await<absl::StatusOr<ResolvedMetadata>>(
      timeout_, [&](auto done) { resolver_->Resolve(app, revision, instances, std::move(done)); });
}

absl::StatusOr<MetadataInfo> Session::ReadDocument(const std::string& app,
                                                   const std::string& revision) {
  return Await<absl::StatusOr<MetadataInfo>>(timeout_, [&](auto done) {
    client_->centre().metadata_report().Get(app, revision, Options(), std::move(done));
  });
}

InterfaceProviders Session::ListProviders() {
  InterfaceProviders found;
  const absl::Duration end = Clock::Real().MonotonicNow() + timeout_;
  const absl::StatusOr<std::vector<std::string>> names = ListInterfaces();
  if (!names.ok()) {
    found.notes.emplace_back(names.status().message());
    return found;
  }
  // By interface, what its folder has said last.
  struct Answers {
    Mutex mutex;
    CondVar changed;
    std::map<std::string, absl::StatusOr<std::vector<Url>>> by_name ABSL_GUARDED_BY(mutex);
    size_t open ABSL_GUARDED_BY(mutex) = 0;
  };
  const auto answers = std::make_shared<Answers>();
  {
    MutexLock lock(answers->mutex);
    answers->open = names->size();
  }
  EndpointTable table;
  InterfaceRegistry registry(client_->executor(), client_->centre(), table,
                             InterfaceRegistryOptions());
  // One watch each: that of all interfaces says nothing until every folder has answered.
  std::vector<Subscription> watches;
  watches.reserve(names->size());
  for (const std::string& name : *names) {
    watches.push_back(
        registry.WatchUrls(AllOf(name), [answers, name](absl::StatusOr<std::vector<Url>> urls) {
          MutexLock lock(answers->mutex);
          const auto known = answers->by_name.find(name);
          // A folder that is away for now may still come.
          const bool was_open =
              known == answers->by_name.end() || IsRetryable(known->second.status());
          if (was_open && !IsRetryable(urls.status())) --answers->open;
          if (was_open) answers->by_name.insert_or_assign(name, std::move(urls));
          if (answers->open == 0) answers->changed.SignalAll();
        }));
  }
  MutexLock lock(answers->mutex);
  while (answers->open > 0) {
    const absl::Duration left = end - Clock::Real().MonotonicNow();
    if (left <= absl::ZeroDuration()) break;
    answers->changed.WaitFor(answers->mutex, left);
  }
  for (const std::string& name : *names) {
    const auto answer = answers->by_name.find(name);
    if (answer == answers->by_name.end()) {
      found.notes.push_back(absl::StrCat(name, ": no answer in ", absl::FormatDuration(timeout_)));
    } else if (!answer->second.ok()) {
      found.notes.push_back(absl::StrCat(name, ": ", answer->second.status().message()));
    } else {
      for (Url& url : *answer->second) {
        if (url.protocol() != "empty") found.urls.push_back(std::move(url));
      }
    }
  }
  return found;
}

absl::StatusOr<std::vector<std::string>> Session::ListInterfaces() {
  const StoreLayout layout = StoreLayout::FromUrl(client_->centre().url());
  Waiter<absl::StatusOr<std::vector<std::string>>> answered;
  const Subscription watch = client_->centre().store().WatchTree(
      layout.interfaces,
      [layout, done = answered.Callback()](absl::StatusOr<TreeDelta> delta) {
        if (!delta.ok()) return done(delta.status());
        std::vector<std::string> names;
        for (const StoreChild& child : delta->added) {
          const std::string path = absl::StrCat(layout.interfaces, "/", child.name);
          if (path == layout.metadata_java || path == layout.mapping || path == layout.config) {
            continue;
          }
          auto name = FormDecode(child.name);
          if (name.has_value() && *name != "*") names.push_back(*std::move(name));
        }
        done(std::move(names));
      },
      TreeContent::kNames);
  return answered.Wait(timeout_);
}

std::map<std::string, std::vector<InstancePtr>> ByRevision(const InstanceList& list) {
  std::map<std::string, std::vector<InstancePtr>> by_revision;
  for (const InstancePtr& instance : list.instances) {
    const std::string revision(instance->revision());
    if (revision.empty() || revision == kNoServicesRevision) continue;
    by_revision[revision].push_back(instance);
  }
  return by_revision;
}

}  // namespace signpost::cli

// The composition root: one Client per process and registry set.
//
//   signpost::RegistryFactories registries("registry");
//   signpost::AddZookeeper(registries);
//   auto client = signpost::Client::Create({.app = "shop", .registry =
//   "zookeeper://127.0.0.1:2181"},
//                                          registries);
//   (*client)->provider().Export("tri://192.0.2.1:50051/org.example.Greeter");
//   (*client)->Start(absl::Seconds(5));
//
// Threads: all methods from any thread, not from callbacks of the client. No thread is started
// before
//   Create.
// Ownership: the Client owns all; Directories may outlive it and then only answer "closed".
// Errors: kInvalidArgument for bad options or URLs, kNotFound for unknown schemes.
#ifndef SIGNPOST_CLIENT_CLIENT_H_
#define SIGNPOST_CLIENT_CLIENT_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "signpost/balancer/balancer.h"
#include "signpost/client/address.h"
#include "signpost/client/consumer.h"
#include "signpost/client/metadata_protocol.h"
#include "signpost/client/network_interfaces.h"
#include "signpost/client/provider.h"
#include "signpost/registry/migration/migration_rule.h"
#include "signpost/registry/registry_factory.h"
#include "signpost/router/router.h"

namespace signpost {

// LoadOptions (client/options.h) fills in from environment and file what is not set here.
struct ClientOptions {
  // Application name. Needed to export; consumers may leave it empty.
  std::string app;
  // Registry URL, `<scheme>://...`, or several separated by `|` or `;`. Required. Which levels are
  // used at each: client/registry_plan.h.
  std::string registry;
  // Of the instance: weight, environment and free ones. `dubbo.` keys are refused.
  std::map<std::string, std::string> labels;
  // Which host and port of an exported URL are registered. Default: the URL's; for a wildcard host
  // an address of this machine.
  AddressOptions address;
  // Of Refer calls that name none. Default: "random"
  std::string balancer;
  // Exports within this time become one revision. Default: 20 ms
  absl::Duration debounce = absl::Milliseconds(20);
  bool read_only =
      false;  // Default: false. True: exports are refused, `embedded` opens beside its owner.
  // Where this process' metadata is: `remote` (in the centre) or `local` (it answers itself).
  // Default: `remote`
  std::string metadata;
  MetadataServiceOptions metadata_service;           // of `local`
  std::vector<MetadataProtocol> metadata_protocols;  // Default: none, documents in centres only
  // Of the parameter `loadbalance`'s names; nullptr: those of this library.
  std::shared_ptr<const BalancerFactories> balancers;
  // Each makes a router of its own for each service that is referred to. Default: none, every
  // address may be picked
  std::vector<RouterFactory> routers;
  // Of dual mode, where neither the rule in the config centre nor a reference says anything. The
  // threshold not -1. Default: not set, those of MigrationOptions (docs/migration.md)
  MigrationFields migration;
  // Of which an address is chosen; nullptr: this machine's.
  std::shared_ptr<const NetworkInterfaces> interfaces;
  // For tests and simulation: nullptr makes a thread of its own. If given it must run tasks while
  // blocking calls wait.
  std::shared_ptr<Executor> executor;
};

class Client {
 public:
  static absl::StatusOr<std::unique_ptr<Client>> Create(ClientOptions options,
                                                        const RegistryFactories& registries);
  ~Client();  // Shutdown(0)

  Provider& provider();
  Consumer& consumer();

  // Waits until everything exported so far can be found, at most `timeout`.
  absl::Status Start(absl::Duration timeout);

  // Takes off all registrations, waits `drain` so that consumers notice, closes. Bounded: 10 s +
  // drain. Idempotent; nothing runs after it.
  void Shutdown(absl::Duration drain);

  // The centre, of several the first one, for administration (tools).
  RegistryCentre& centre();
  Executor& executor();

 private:
  class State;
  explicit Client(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace signpost

#endif  // SIGNPOST_CLIENT_CLIENT_H_

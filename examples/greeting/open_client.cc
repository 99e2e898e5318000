#include "signpost/examples/greeting/open_client.h"

#include <gflags/gflags.h>

#include <cstdlib>
#include <utility>

#include "signpost/client/options.h"
#include "signpost/client/plugins/builtins.h"
#include "signpost/client/plugins/thrift_metadata.h"

DEFINE_string(
    registry, "",
    "URL of the registry. Default: SIGNPOST_REGISTRY, else DUBBO_REGISTRY_ADDRESS and the "
    "like, else signpost://127.0.0.1:2280");

namespace example {

using signpost::ClientOptions;

sigset_t BlockStopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

absl::StatusOr<std::unique_ptr<signpost::Client>> OpenClient(ClientOptions program,
                                                             const std::string& app) {
  program.registry = FLAGS_registry;
  const char* named = std::getenv("SIGNPOST_REGISTRY");
  if (program.registry.empty() && named != nullptr) program.registry = named;
  absl::StatusOr<ClientOptions> options = signpost::LoadOptions(std::move(program));
  if (!options.ok()) return options.status();
  if (options->app.empty()) options->app = app;
  if (options->registry.empty()) options->registry = "signpost://127.0.0.1:2280";
  // So that providers which keep their metadata themselves can be asked, and be one.
  if (options->metadata_protocols.empty()) {
    options->metadata_protocols = {signpost::ThriftMetadata()};
  }
  signpost::RegistryFactories registries("registry");
  absl::Status status = signpost::AddBuiltinRegistries(registries);
  if (!status.ok()) return status;
  return signpost::Client::Create(*std::move(options), registries);
}

}  // namespace example

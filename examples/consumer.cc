// A consumer: picks an address of org.example.Greeter five times.
//   consumer zookeeper://127.0.0.1:2181
#include <iostream>
#include <memory>

#include "absl/time/time.h"
#include "signpost/client/client.h"
#include "signpost/client/plugins/builtins.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: consumer REGISTRY-URL\n";
    return 2;
  }
  signpost::RegistryFactories registries("registry");
  absl::Status status = signpost::AddBuiltinRegistries(registries);
  signpost::ClientOptions options;
  options.app = "greeting-consumer";
  options.registry = argv[1];
  // Asks providers that keep their metadata themselves (storage type `local`).
  options.metadata_protocols = signpost::BuiltinMetadataProtocols();
  auto client = signpost::Client::Create(options, registries);
  if (status.ok()) status = client.status();
  if (!status.ok()) {
    std::cerr << "consumer: " << status.ToString() << "\n";
    return 1;
  }
  auto directory = (*client)->consumer().Refer("org.example.Greeter");
  status = directory.ok() ? (*directory)->WaitReady(absl::Seconds(5)) : directory.status();
  for (int i = 0; i < 5 && status.ok(); ++i) {
    signpost::Request request;
    request.method = "greet";
    auto picked = (*directory)->Pick(request);
    if (!picked.ok()) {
      status = picked.status();
      break;
    }
    std::cout << picked->endpoint.address() << "\n";
    (*directory)->Done(*picked, signpost::CallOutcome());
  }
  if (!status.ok()) {
    std::cerr << "consumer: " << status.ToString() << "\n";
    return 1;
  }
  return 0;
}

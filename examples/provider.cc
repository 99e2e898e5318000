// A provider: registers one service of application `greeting` until SIGTERM.
//   provider zookeeper://127.0.0.1:2181 127.0.0.1:50051 [dubbo]
// Call Export once the port listens; what answers there is the business of your RPC framework.
#include <signal.h>

#include <iostream>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "signpost/client/client.h"
#include "signpost/client/plugins/builtins.h"

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: provider REGISTRY-URL HOST:PORT [PROTOCOL]\n";
    return 2;
  }
  // Blocked before a thread starts, so that sigwait below takes them.
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigaddset(&stop, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);

  signpost::RegistryFactories registries("registry");
  absl::Status status = signpost::AddBuiltinRegistries(registries);
  signpost::ClientOptions options;
  options.app = "greeting";
  options.registry = argv[1];
  auto client = signpost::Client::Create(options, registries);
  if (status.ok()) status = client.status();
  const std::string protocol = argc > 3 ? argv[3] : "tri";
  if (status.ok()) {
    status = (*client)->provider().Export(protocol + "://" + argv[2] +
                                          "/org.example.Greeter?methods=greet");
  }
  if (status.ok()) status = (*client)->Start(absl::Seconds(10));
  if (!status.ok()) {
    std::cerr << "provider: " << status.ToString() << "\n";
    return 1;
  }
  for (const std::string& path : (*client)->provider().registered().paths) {
    std::cout << "registered " << path << std::endl;
  }
  int signal = 0;
  sigwait(&stop, &signal);
  // Consumers drop the address at once; calls in flight get a second to end.
  (*client)->Shutdown(absl::Seconds(1));
  return 0;
}

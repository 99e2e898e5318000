// The server behind an address that a test registers: answers demo.GreetingService over Triple, as
// the Java and Go peers' providers do, and knows nothing of registries.
//
//   triple_greeter [--listen=127.0.0.1:0] [--service=[group/]interface[:version]] [--app=NAME]
//
// Prints `listening on HOST:PORT`. At SIGTERM it takes no more calls, answers those that it has
// (for at most 5 seconds), prints `stopped after N calls` and ends with status 0.
#include <gflags/gflags.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "signpost/common/clock.h"
#include "signpost/common/service_key.h"
#include "signpost/common/url.h"
#include "signpost/tests/interop/triple/greeter.h"

DEFINE_string(listen, "127.0.0.1:0", "HOST:PORT to listen on; port 0 takes a free one");
DEFINE_string(service, "demo.GreetingService", "[group/]interface[:version] that is answered");
DEFINE_string(app, "triple-greeter", "the answers name it, and the port");

namespace signpost::interop {
namespace {

constexpr absl::Duration kDrain = absl::Seconds(5);

absl::Status Run(const sigset_t& stop) {
  auto service = ServiceKey::Parse(FLAGS_service);
  if (!service.ok()) return service.status();
  const auto listen = SplitHostPort(FLAGS_listen);
  if (!listen.has_value() || listen->first.empty() || listen->first == FLAGS_listen) {
    return absl::InvalidArgumentError(absl::StrCat("--listen=", FLAGS_listen, ": not HOST:PORT"));
  }
  std::atomic<int> port{0};
  std::atomic<uint64_t> calls{0};
  Greeter greeter(*std::move(service), [&port, &calls](const std::string& name) {
    ++calls;
    return absl::StrCat("hello ", name, " from ", FLAGS_app, ":", port.load());
  });
  grpc::ServerBuilder builder;
  // Else a second server of the same port would take half of the calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  int bound = 0;
  builder.AddListeningPort(JoinHostPort(listen->first, listen->second),
                           grpc::InsecureServerCredentials(), &bound);
  builder.RegisterCallbackGenericService(&greeter);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || bound == 0) {
    return absl::UnavailableError(absl::StrCat("--listen=", FLAGS_listen, ": cannot listen"));
  }
  port = bound;
  std::cout << "listening on " << JoinHostPort(listen->first, static_cast<uint16_t>(bound))
            << std::endl;
  int signal = 0;
  while (sigwait(&stop, &signal) != 0) {
  }
  server->Shutdown(absl::ToChronoTime(Clock::Real().WallNow() + kDrain));
  std::cout << "stopped after " << calls << " calls" << std::endl;
  return absl::OkStatus();
}

}  // namespace
}  // namespace signpost::interop

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  if (argc > 1) {
    std::cerr << "triple_greeter: unexpected argument " << argv[1] << '\n';
    return 2;
  }
  // Before any thread starts, so that all inherit it and only sigwait takes them.
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGINT);
  sigaddset(&stop, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  if (absl::Status status = signpost::interop::Run(stop); !status.ok()) {
    std::cerr << "triple_greeter: " << status.message() << '\n';
    return 1;
  }
  return 0;
}

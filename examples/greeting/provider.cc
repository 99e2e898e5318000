// A provider of org.example.Greeter over Apache Thrift. It registers when its port listens, and
// leaves without a failed call at SIGTERM:
//
//   signpost serve &
//   provider                                     any free port of the loopback
//   provider --listen=0.0.0.0:50051 --registry=zookeeper://127.0.0.1:2181
#include <gflags/gflags.h>
#include <signal.h>
#include <thrift/TOutput.h>

#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "signpost/client/client.h"
#include "signpost/client/plugins/thrift_metadata.h"
#include "signpost/common/mutex.h"
#include "signpost/common/url.h"
#include "signpost/examples/greeting/greeter_server.h"
#include "signpost/examples/greeting/open_client.h"

DEFINE_string(listen, "127.0.0.1:0", "HOST:PORT to listen on; port 0 takes a free one");
DEFINE_string(app, "", "name of the application. Default: Dubbo's names, else `greeting`");
DEFINE_string(
    metadata, "",
    "where the metadata is: `remote`, in the registry, or `local`, in this process. Default: "
    "Dubbo's names, else `remote`");
DEFINE_int32(drain_ms, 1000, "at SIGTERM: how long calls are answered after the address has gone");

namespace example {
namespace {

// What answers, as consumers know it: known only when it is exported.
class Greeter {
 public:
  void set_address(const std::string& address) {
    signpost::MutexLock lock(mutex_);
    address_ = address;
  }
  std::string Greet(const std::string& name) const {
    signpost::MutexLock lock(mutex_);
    return absl::StrCat("hello ", name, ", from ", address_);
  }

 private:
  mutable signpost::Mutex mutex_;
  std::string address_ ABSL_GUARDED_BY(mutex_) = "nobody yet";
};

absl::Status Run(const sigset_t& stop) {
  const auto listen = signpost::SplitHostPort(FLAGS_listen);
  if (!listen.has_value() || listen->first.empty() || listen->first == FLAGS_listen) {
    return absl::InvalidArgumentError(absl::StrCat("--listen=", FLAGS_listen, ": not HOST:PORT"));
  }
  signpost::ClientOptions options;
  options.app = FLAGS_app;
  options.metadata = FLAGS_metadata;
  // Where the calls are answered, questions for the metadata are.
  signpost::ThriftMetadataOptions metadata;
  metadata.host = listen->first;
  options.metadata_protocols = {signpost::ThriftMetadata(metadata)};
  auto client = OpenClient(options, "greeting");
  if (!client.ok()) return client.status();

  // First listen, then register: whoever finds the address can call it.
  Greeter greeter;
  auto server =
      GreeterServer::Start(listen->first, listen->second,
                           [&greeter](const std::string& name) { return greeter.Greet(name); });
  if (!server.ok()) return server.status();
  signpost::Provider& provider = (*client)->provider();
  absl::Status status = provider.Export(
      absl::StrCat("thrift://", signpost::JoinHostPort(listen->first, (*server)->port()),
                   "/org.example.Greeter?methods=greet"));
  if (!status.ok()) return status;
  const signpost::Url exported = provider.exported().front();
  const std::string address = signpost::JoinHostPort(exported.host(), exported.port());
  greeter.set_address(address);
  status = (*client)->Start(absl::Seconds(10));
  if (!status.ok()) return status;
  for (const std::string& path : provider.registered().paths) {
    std::cout << "registered " << path << "\n";
  }
  std::cout << "serving " << address << std::endl;

  int signal = 0;
  sigwait(&stop, &signal);
  // The other way round: first off the registry, so that consumers drop the address, then wait for
  // what is under way, then stop listening.
  std::cout << "leaving" << std::endl;
  (*client)->Shutdown(absl::Milliseconds(FLAGS_drain_ms));
  (*server)->Stop();
  std::cout << "stopped" << std::endl;
  return absl::OkStatus();
}

}  // namespace
}  // namespace example

int main(int argc, char** argv) {
  gflags::SetUsageMessage("provider [--listen=HOST:PORT] [--registry=URL] ...");
  gflags::ParseCommandLineFlags(&argc, &argv, /*remove_flags=*/true);
  if (argc > 1) {
    std::cerr << "provider: what is " << argv[1] << "? See --helpshort\n";
    return 2;
  }
  const sigset_t stop = example::BlockStopSignals();
  // Thrift writes to stderr what it then throws, and each connection that ends.
  apache::thrift::GlobalOutput.setOutputFunction([](const char*) {});
  const absl::Status status = example::Run(stop);
  if (!status.ok()) std::cerr << "provider: " << status.message() << "\n";
  return status.ok() ? 0 : 1;
}

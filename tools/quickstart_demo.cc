// What tools/quickstart runs: the main job in one process, on the embedded registry.
//
// Two providers of one service register; a consumer finds them by interface and picks; one leaves,
// one joins; the registry is shown as `signpost services` shows it.
#include <stdlib.h>

#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "signpost/client/client.h"
#include "signpost/client/plugins/embedded.h"
#include "signpost/common/mutex.h"
#include "signpost/tools/cli/arguments.h"
#include "signpost/tools/cli/commands.h"

namespace signpost {
namespace {

constexpr char kService[] = "org.example.Greeter";

// The number of addresses that the consumer's directory holds, to wait on.
class AddressCount {
 public:
  explicit AddressCount(Directory& directory)
      : subscription_(directory.OnChange([this](const ServiceAddresses& addresses) {
          MutexLock lock(mutex_);
          count_ = addresses.list->size();
          changed_.SignalAll();
        })) {}

  bool WaitFor(size_t wanted) {
    MutexLock lock(mutex_);
    for (int rounds = 0; count_ != wanted && rounds < 50; ++rounds) {
      changed_.WaitFor(mutex_, absl::Milliseconds(200));
    }
    return count_ == wanted;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  size_t count_ ABSL_GUARDED_BY(mutex_) = 0;
  Subscription subscription_;
};

void Say(const std::string& text) { std::cout << "\n== " << text << "\n"; }

class Demo {
 public:
  explicit Demo(std::string registry) : registry_(std::move(registry)) {}

  absl::Status Run() {
    absl::Status status = AddEmbedded(registries_);
    if (!status.ok()) return status;
    std::cout << "Registry: " << registry_ << " (RocksDB, no server needed)\n";

    Say("Two processes of application `greeting` register once each");
    auto first = StartProvider("127.0.0.1:50051");
    if (!first.ok()) return first.status();
    auto second = StartProvider("127.0.0.1:50052");
    if (!second.ok()) return second.status();
    for (const std::string& path : (*first)->provider().registered().paths) {
      std::cout << "   " << path << "\n";
    }
    std::cout << "   One instance per process; interface and parameters lie in one document per\n"
                 "   revision, shared by all processes that export the same.\n";

    Say(absl::StrCat("A consumer asks for ", kService, " and picks"));
    ClientOptions options;
    options.app = "quickstart-consumer";
    options.registry = registry_;
    auto consumer = Client::Create(options, registries_);
    if (!consumer.ok()) return consumer.status();
    auto directory = (*consumer)->consumer().Refer(kService, RoundRobin());
    if (!directory.ok()) return directory.status();
    AddressCount addresses(**directory);
    if (!addresses.WaitFor(2)) return NotSeen("two addresses", **directory);
    status = ShowPicks(**directory);
    if (!status.ok()) return status;

    Say("What `signpost services` shows now");
    ShowServices();

    Say("127.0.0.1:50051 leaves: the consumer drops it at once");
    (*first)->Shutdown(absl::ZeroDuration());
    if (!addresses.WaitFor(1)) return NotSeen("one address", **directory);
    status = ShowPicks(**directory);
    if (!status.ok()) return status;

    Say("127.0.0.1:50053 joins");
    auto third = StartProvider("127.0.0.1:50053");
    if (!third.ok()) return third.status();
    if (!addresses.WaitFor(2)) return NotSeen("two addresses", **directory);
    status = ShowPicks(**directory);
    if (!status.ok()) return status;

    Say("What `signpost services` shows at the end");
    ShowServices();
    std::cout << "\nDone. The same code runs on zookeeper://HOST:2181, beside Dubbo Java and Go.\n";
    return absl::OkStatus();
  }

 private:
  static ReferOptions RoundRobin() {
    ReferOptions options;
    options.balancer = "roundrobin";
    return options;
  }

  absl::StatusOr<std::unique_ptr<Client>> StartProvider(const std::string& address) {
    ClientOptions options;
    options.app = "greeting";
    options.registry = registry_;
    auto client = Client::Create(options, registries_);
    if (!client.ok()) return client.status();
    absl::Status status = (*client)->provider().Export(
        absl::StrCat("tri://", address, "/", kService, "?methods=greet"));
    if (status.ok()) status = (*client)->Start(absl::Seconds(10));
    if (!status.ok()) return status;
    std::cout << "   " << address << " is registered\n";
    return client;
  }

  absl::Status ShowPicks(Directory& directory) {
    std::map<std::string, int> picks;
    for (int i = 0; i < 6; ++i) {
      Request request;
      request.method = "greet";
      auto picked = directory.Pick(request);
      if (!picked.ok()) return picked.status();
      ++picks[picked->endpoint.address()];
      directory.Done(*picked, CallOutcome());
    }
    for (const auto& [address, count] : picks) {
      std::cout << "   " << count << " of 6 picks: " << address << "\n";
    }
    return absl::OkStatus();
  }

  void ShowServices() {
    cli::Arguments arguments;
    arguments.command = "services";
    arguments.registry = registry_;
    cli::Invocation call{arguments, registries_, std::cout, std::cerr,
                         [](absl::Duration) { return true; }};
    cli::RunCommand(call);
  }

  absl::Status NotSeen(const std::string& what, Directory& directory) {
    return absl::DeadlineExceededError(
        absl::StrCat("the consumer did not see ", what, ": ", directory.state().ToString()));
  }

  std::string registry_;
  RegistryFactories registries_{"registry"};
};

}  // namespace
}  // namespace signpost

int main() {
  std::string directory = (std::filesystem::temp_directory_path() / "signpost-XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) {
    std::cerr << "quickstart: no temporary directory\n";
    return 1;
  }
  const absl::Status status = signpost::Demo("embedded://" + directory).Run();
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  if (!status.ok()) {
    std::cerr << "quickstart: " << status.ToString() << "\n";
    return 1;
  }
  return 0;
}

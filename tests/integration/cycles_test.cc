// A client that starts and stops a hundred times, and one that refers and exports a hundred times,
// leave nothing: threads, descriptors, sessions and watches are what they were, exactly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "signpost/client/client.h"
#include "signpost/client/plugins/builtins.h"
#include "signpost/registry/embedded/embedded_store.h"
#include "signpost/registry/server/registry_server.h"
#include "tests/integration/live_registry.h"

namespace signpost {
namespace {

constexpr char kService[] = "org.example.Greeter";
constexpr char kAddress[] = "192.0.2.1:50051";
constexpr int kCycles = 100;
// Of all clients here; ZooKeeper grants 20 ticks of it, 10 s.
constexpr absl::Duration kSession = absl::Seconds(40);
// Sessions are closed, and a server may take a moment for it; but less than a session's time, after
// which it would forget one that nobody closed.
constexpr absl::Duration kSettled = absl::Seconds(3 * kSlowness);
// Of one step of a client.
constexpr absl::Duration kStep = absl::Seconds(15 * kSlowness);
// Growth of the resident set in a hundred cycles: a leak of a client's parts would be more (RocksDB
// alone has its write buffers), what allocators and sanitizers keep is less.
constexpr int64_t kMaxGrowthBytes = int64_t{64 << 20} * kSlowness * kSlowness;

int64_t ResidentBytes() {
  int64_t size = 0;
  int64_t resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

class Registries {
 public:
  Registries() { EXPECT_TRUE(AddBuiltinRegistries(factories_).ok()); }

  std::unique_ptr<Client> Open(const std::string& url) {
    ClientOptions options;
    options.app = "greeting";
    options.registry = url;
    auto client = Client::Create(options, factories_);
    EXPECT_TRUE(client.ok()) << client.status();
    return client.ok() ? *std::move(client) : nullptr;
  }

 private:
  RegistryFactories factories_{"registry"};
};

std::string Exported(const std::string& service) {
  return absl::StrCat("tri://", kAddress, "/", service, "?methods=greet");
}

void Export(Client& client, const std::string& service) {
  const absl::Status exported = client.provider().Export(Exported(service));
  ASSERT_TRUE(exported.ok()) << exported;
  const absl::Status started = client.Start(kStep);
  ASSERT_TRUE(started.ok()) << started;
}

std::shared_ptr<Directory> Refer(Client& client, const std::string& service) {
  auto directory = client.consumer().Refer(service);
  EXPECT_TRUE(directory.ok()) << directory.status();
  if (!directory.ok()) return nullptr;
  const absl::Status ready = (*directory)->WaitReady(kStep);
  EXPECT_TRUE(ready.ok()) << ready;
  auto pick = (*directory)->Pick(Request());
  EXPECT_TRUE(pick.ok()) << pick.status();
  if (pick.ok()) {
    EXPECT_EQ(pick->endpoint.address(), kAddress);
    (*directory)->Done(*pick, CallOutcome());
  }
  return *std::move(directory);
}

// Provider and consumer, from nothing to nothing. Every other time the Directory outlives them.
void Cycle(const std::string& url, int number) {
  Registries registries;
  auto client = registries.Open(url);
  ASSERT_NE(client, nullptr);
  ASSERT_NO_FATAL_FAILURE(Export(*client, kService));
  auto directory = Refer(*client, kService);
  if (number % 2 == 0) directory = nullptr;
  client->Shutdown(absl::ZeroDuration());
  client = nullptr;
}

// `usage()` becomes `wanted`, soon.
template <typename Fn>
void ExpectBack(Fn usage, const Usage& wanted) {
  Poll(kSettled, [&] { return usage() == wanted; });
  EXPECT_EQ(usage(), wanted);
}

Usage OwnUsage() { return UsageOf(getpid()); }

class CyclesTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "embedded") {
      const char* root = std::getenv("TEST_TMPDIR");
      url_ = absl::StrCat("embedded://", root == nullptr ? "/tmp" : root, "/cycles.", getpid());
      return;
    }
    registry_ = LiveRegistry::Make(GetParam());
    const absl::Status started = registry_->Start();
    ASSERT_TRUE(started.ok()) << started;
    url_ = registry_->Url(kSession);
  }

  Usage ServerUsage() { return registry_ == nullptr ? Usage() : registry_->ClientUsage(); }

  // Nothing of the warm-up is going on: what is used stays the same for a while.
  void AwaitQuiet() {
    Usage last;
    int same = 0;
    EXPECT_TRUE(Poll(kSettled, [&] {
      Usage now = ServerUsage();
      now.merge(OwnUsage());
      same = now == last ? same + 1 : 0;
      last = std::move(now);
      return same == 10;
    }));
  }

  std::unique_ptr<LiveRegistry> registry_;
  std::string url_;
};

TEST_P(CyclesTest, StartAndStopLeaveNothing) {
  // What is made once for the life of a process: thread pools of libraries, thread-local blocks.
  ASSERT_NO_FATAL_FAILURE(Cycle(url_, 0));
  ASSERT_NO_FATAL_FAILURE(Cycle(url_, 1));
  AwaitQuiet();
  const Usage own = OwnUsage();
  const Usage server = ServerUsage();
  const int64_t resident = ResidentBytes();
  for (int i = 0; i < kCycles; ++i) ASSERT_NO_FATAL_FAILURE(Cycle(url_, i));
  ExpectBack(OwnUsage, own);
  ExpectBack([this] { return ServerUsage(); }, server);
  EXPECT_LT(ResidentBytes() - resident, kMaxGrowthBytes);
}

TEST_P(CyclesTest, ReferAndExportLeaveNothing) {
  Registries registries;
  auto client = registries.Open(url_);
  ASSERT_NE(client, nullptr);
  ASSERT_NO_FATAL_FAILURE(Export(*client, kService));
  Refer(*client, kService);
  AwaitQuiet();
  const Usage own = OwnUsage();
  const Usage server = ServerUsage();
  const int64_t resident = ResidentBytes();
  for (int i = 0; i < kCycles; ++i) Refer(*client, kService);
  ExpectBack(OwnUsage, own);
  ExpectBack([this] { return ServerUsage(); }, server);
  const auto more = Url::Parse(Exported("org.example.More"));
  ASSERT_TRUE(more.ok());
  for (int i = 0; i < kCycles; ++i) {
    ASSERT_NO_FATAL_FAILURE(Export(*client, "org.example.More"));
    ASSERT_TRUE(client->provider().Unexport(*more).ok());
    const absl::Status written = client->Start(kStep);
    ASSERT_TRUE(written.ok()) << written;
  }
  ExpectBack(OwnUsage, own);
  ExpectBack([this] { return ServerUsage(); }, server);
  EXPECT_LT(ResidentBytes() - resident, kMaxGrowthBytes);
  // It is none the worse for it.
  Refer(*client, kService);
}

INSTANTIATE_TEST_SUITE_P(Over, CyclesTest, testing::Values("zookeeper", "signpost", "embedded"),
                         [](const auto& info) { return info.param; });

// The server inside this process, to see what no process tells: its watches.
TEST(CyclesOfOneProcessTest, TheRegistryServerKeepsNothingOfItsClients) {
  const char* root = std::getenv("TEST_TMPDIR");
  const std::string dir = absl::StrCat(root == nullptr ? "/tmp" : root, "/inside.", getpid());
  auto centre = EmbeddedCentre(dir, /*read_only=*/false);
  ASSERT_TRUE(centre.ok()) << centre.status();
  RegistryServerOptions options;
  options.port = 0;
  auto server = RegistryServer::Start(*centre, options);
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string url = absl::StrCat("signpost://", (*server)->address(),
                                       "?session=", absl::ToInt64Milliseconds(kSession));
  const auto usage = [&] {
    Usage now = OwnUsage();
    now["sessions"] = static_cast<int>((*server)->session_count());
    now["connections"] = static_cast<int>((*server)->connection_count());
    now["watches"] = static_cast<int>((*centre)->watch_count());
    return now;
  };
  Usage nothing = usage();
  EXPECT_EQ(nothing["sessions"] + nothing["connections"] + nothing["watches"], 0);
  for (int i = 0; i < kCycles; ++i) ASSERT_NO_FATAL_FAILURE(Cycle(url, i));
  ExpectBack(usage, nothing);

  // A client that goes on.
  Registries registries;
  auto client = registries.Open(url);
  ASSERT_NE(client, nullptr);
  ASSERT_NO_FATAL_FAILURE(Export(*client, kService));
  const Usage living = usage();
  for (int i = 0; i < kCycles; ++i) Refer(*client, kService);
  ExpectBack(usage, living);
  client = nullptr;
  ExpectBack(usage, nothing);
}

}  // namespace
}  // namespace signpost

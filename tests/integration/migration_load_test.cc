// A service moves from interface level to application level and back under a thousand calls a
// second, over a real ZooKeeper: rules as people write them into the config centre, and a rolling
// upgrade of the providers. No call fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "signpost/client/client.h"
#include "signpost/client/plugins/zookeeper.h"
#include "signpost/common/clock.h"
#include "signpost/common/mutex.h"
#include "tests/support/call_load.h"
#include "tests/support/raw_zookeeper.h"
#include "tests/support/zookeeper_server.h"

namespace signpost {
namespace {

using testing::HasSubstr;

constexpr char kService[] = "org.example.Greeter";
constexpr char kRules[] = "/dubbo/config/DUBBO_SERVICEDISCOVERY_MIGRATION";
constexpr char kRule[] = "/dubbo/config/DUBBO_SERVICEDISCOVERY_MIGRATION/front.migration";
constexpr absl::Duration kPatience = absl::Seconds(30);
// What a caller may still do with the list it had.
constexpr absl::Duration kDrain = absl::Seconds(2);
// Calls that say where calls go.
constexpr int64_t kSample = 400;

// One provider process: a port that answers, registered at the levels of `mode`.
class LiveProvider {
 public:
  LiveProvider(const std::string& registry, const RegistryFactories& registries,
               const std::string& mode) {
    ClientOptions options;
    options.app = "shop";
    options.registry = absl::StrCat(registry, "?register-mode=", mode);
    auto client = Client::Create(std::move(options), registries);
    EXPECT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
    const absl::Status exported = client_->provider().Export(
        absl::StrCat("tri://", server_.address(), "/", kService, "?methods=call"));
    EXPECT_TRUE(exported.ok()) << exported;
    const absl::Status started = client_->Start(kPatience);
    EXPECT_TRUE(started.ok()) << started;
  }
  // As a provider leaves: no longer found, then a while, then its port closes.
  ~LiveProvider() {
    client_->Shutdown(kDrain);
    server_.Stop();
  }

  std::string address() const { return server_.address(); }

 private:
  AnsweringServer server_;
  std::unique_ptr<Client> client_;
};

class MigrationLoadTest : public testing::Test {
 protected:
  void SetUp() override {
    const absl::Status started = server_.Start();
    ASSERT_TRUE(started.ok()) << started;
    ASSERT_TRUE(AddZookeeper(registries_).ok());
    registry_ = absl::StrCat("zookeeper://", server_.address());
    raw_ = std::make_unique<RawZookeeper>(server_.address());
    for (const char* path : {"/dubbo", "/dubbo/config", kRules}) {
      ASSERT_TRUE(raw_->Create(path, "").ok()) << path;
    }
  }

  std::unique_ptr<LiveProvider> Provide(const std::string& mode) {
    return std::make_unique<LiveProvider>(registry_, registries_, mode);
  }
  std::unique_ptr<Client> Consumer() {
    ClientOptions options;
    options.app = "front";
    options.registry = registry_;
    auto client = Client::Create(std::move(options), registries_);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }
  // Writes the rule, whether there is one or not.
  void Write(const std::string& rule) {
    if (raw_->Set(kRule, rule).ok()) return;
    const absl::Status created = raw_->Create(kRule, rule);
    ASSERT_TRUE(created.ok()) << created;
  }

  static std::set<std::string> Addresses(const Directory& directory) {
    std::set<std::string> addresses;
    directory.addresses()->ForEach(
        [&](const Endpoint& endpoint) { addresses.insert(endpoint.address()); });
    return addresses;
  }
  // Whether `holds` becomes true; it is asked again after each change of the list, and each 20 ms.
  static bool Becomes(Directory& directory, const std::function<bool()>& holds) {
    Mutex mutex;
    CondVar changed;
    const Subscription watch = directory.OnChange([&](const ServiceAddresses&) {
      MutexLock lock(mutex);
      changed.SignalAll();
    });
    const absl::Duration end = Clock::Real().MonotonicNow() + kPatience;
    while (!holds()) {
      if (Clock::Real().MonotonicNow() > end) return false;
      MutexLock lock(mutex);
      changed.WaitFor(mutex, absl::Milliseconds(20));
    }
    return true;
  }

  ZookeeperServer server_;
  RegistryFactories registries_{"registry"};
  std::string registry_;
  std::unique_ptr<RawZookeeper> raw_;
};

enum class Serves { kInterface, kApplication, kShared, kNone };

// Where the next calls go.
Serves Sample(CallLoad& load) {
  load.TakeSeen();
  EXPECT_TRUE(load.AwaitCalls(kSample));
  const CallLoad::Seen seen = load.TakeSeen();
  if (seen.application > 0 && seen.interface > 0) return Serves::kShared;
  if (seen.application > 0) return Serves::kApplication;
  return seen.interface > 0 ? Serves::kInterface : Serves::kNone;
}

std::string Rule(const std::string& step, int proportion) {
  return absl::StrCat("key: front\r\nstep: ", step, "\r\nproportion: ", proportion, "\r\n");
}

// The whole table, one row after the other with the same consumer and under load. TC-39
TEST_F(MigrationLoadTest, EachStepAtEachProportionWithWhatIsThere) {
  struct Row {
    const char* step;
    int proportion;
    Serves serves;
  };
  struct Part {
    const char* modes;  // of the providers, apart by a comma
    std::vector<Row> rows;
  };
  const std::vector<Part> kTable = {
      {"all",
       {{"APPLICATION_FIRST", 100, Serves::kApplication},
        {"APPLICATION_FIRST", 50, Serves::kShared},
        {"APPLICATION_FIRST", 0, Serves::kInterface},
        {"FORCE_INTERFACE", 100, Serves::kInterface},
        {"FORCE_INTERFACE", 0, Serves::kInterface},
        {"FORCE_APPLICATION", 0, Serves::kApplication},
        {"FORCE_APPLICATION", 50, Serves::kApplication},
        {"APPLICATION_FIRST", 100, Serves::kApplication},
        {"FORCE_INTERFACE", 50, Serves::kInterface},
        {"FORCE_APPLICATION", 100, Serves::kApplication},
        {"FORCE_INTERFACE", 100, Serves::kInterface},
        {"APPLICATION_FIRST", 50, Serves::kShared}}},
      {"interface",
       {{"APPLICATION_FIRST", 100, Serves::kInterface},
        {"APPLICATION_FIRST", 50, Serves::kInterface},
        {"APPLICATION_FIRST", 0, Serves::kInterface},
        {"FORCE_INTERFACE", 100, Serves::kInterface},
        // Nothing to switch to: the step in force stays.
        {"FORCE_APPLICATION", 100, Serves::kInterface},
        {"APPLICATION_FIRST", 100, Serves::kInterface}}},
      {"instance",
       {{"APPLICATION_FIRST", 100, Serves::kApplication},
        {"APPLICATION_FIRST", 50, Serves::kApplication},
        {"APPLICATION_FIRST", 0, Serves::kApplication},
        {"FORCE_APPLICATION", 0, Serves::kApplication},
        {"FORCE_INTERFACE", 100, Serves::kApplication},
        {"APPLICATION_FIRST", 100, Serves::kApplication}}},
  };
  Write(Rule("APPLICATION_FIRST", 100));
  auto consumer = Consumer();
  auto providers = Provide("all");
  auto directory = consumer->consumer().Refer(kService);
  ASSERT_TRUE(directory.ok()) << directory.status();
  ASSERT_TRUE((*directory)->WaitReady(kPatience).ok());
  CallLoad load(*directory);
  for (const Part& part : kTable) {
    SCOPED_TRACE(part.modes);
    Write(Rule("APPLICATION_FIRST", 100));
    // The one before leaves once the new one is found by whichever level has it.
    auto next = Provide(part.modes);
    ASSERT_TRUE(Becomes(**directory, [&] {
      return load.TakeSeen().by_address[next->address()] > 0 ||
             Addresses(**directory).count(next->address()) > 0 || std::string(part.modes) != "all";
    }));
    providers = std::move(next);
    ASSERT_TRUE(Becomes(**directory, [&] {
      return Addresses(**directory) == std::set<std::string>{providers->address()};
    })) << (*directory)->state();
    for (const Row& row : part.rows) {
      SCOPED_TRACE(absl::StrCat(row.step, " ", row.proportion));
      Write(Rule(row.step, row.proportion));
      Serves serves = Serves::kNone;
      EXPECT_TRUE(Becomes(**directory,
                          [&] {
                            serves = Sample(load);
                            return serves == row.serves;
                          }))
          << static_cast<int>(serves) << ", failed: " << load.failed() << ", "
          << (*directory)->state();
    }
  }
  load.Stop();
  EXPECT_EQ(load.failed(), 0) << load.first_failure() << " of " << load.calls();
}

TEST_F(MigrationLoadTest, WithNothingThereEachStepSaysSo) {
  for (const char* step : {"APPLICATION_FIRST", "FORCE_INTERFACE", "FORCE_APPLICATION"}) {
    for (int proportion : {0, 50, 100}) {
      SCOPED_TRACE(absl::StrCat(step, " ", proportion));
      Write(Rule(step, proportion));
      auto consumer = Consumer();
      auto directory = consumer->consumer().Refer(kService);
      ASSERT_TRUE(directory.ok());
      ASSERT_TRUE(Becomes(**directory, [&] {
        const auto pick = (*directory)->Pick(Request());
        EXPECT_FALSE(pick.ok());
        const std::string why(pick.status().message());
        const bool application = why.find("no mapping for org.example.Greeter") != why.npos;
        const bool interface = why.find("/dubbo/org.example.Greeter/providers") != why.npos;
        return std::string(step) == "FORCE_INTERFACE" ? interface : application;
      })) << (*directory)->Pick(Request()).status();
    }
  }
}

// Providers go from interface to both to application level, one process after another.
TEST_F(MigrationLoadTest, ARollingUpgradeFailsNoCall) {
  std::vector<std::unique_ptr<LiveProvider>> providers;
  for (int i = 0; i < 3; ++i) providers.push_back(Provide("interface"));
  auto consumer = Consumer();
  auto directory = consumer->consumer().Refer(kService);
  ASSERT_TRUE(directory.ok()) << directory.status();
  ASSERT_TRUE(Becomes(**directory, [&] { return Addresses(**directory).size() == 3; }));
  CallLoad load(*directory);
  EXPECT_EQ(Sample(load), Serves::kInterface);
  for (const char* mode : {"all", "instance"}) {
    for (auto& provider : providers) {
      SCOPED_TRACE(mode);
      auto next = Provide(mode);
      ASSERT_TRUE(Becomes(**directory, [&] {
        return Addresses(**directory).count(next->address()) > 0;
      })) << (*directory)->state();
      provider = std::move(next);
      ASSERT_TRUE(load.AwaitCalls(kSample));
    }
    EXPECT_EQ(Sample(load), Serves::kApplication);
    EXPECT_TRUE(Becomes(**directory, [&] { return Addresses(**directory).size() == 3; }));
  }
  load.Stop();
  EXPECT_EQ(load.failed(), 0) << load.first_failure() << " of " << load.calls();
  EXPECT_GT(load.calls(), 3 * kSample);
}

}  // namespace
}  // namespace signpost

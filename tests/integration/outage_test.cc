// A restarted ZooKeeper and an expired session, against the real server: consumer and provider are
// right again without a restart of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "signpost/client/client.h"
#include "signpost/client/plugins/zookeeper.h"
#include "signpost/common/await.h"
#include "signpost/common/mutex.h"
#include "tests/support/child_process.h"
#include "tests/support/zookeeper_server.h"

namespace signpost {
namespace {

constexpr char kService[] = "org.example.Greeter";

class OutageTest : public testing::Test {
 protected:
  void SetUp() override {
    const absl::Status started = server_.Start();
    ASSERT_TRUE(started.ok()) << started;
    ASSERT_TRUE(AddZookeeper(registries_).ok());
    registry_ = absl::StrCat("zookeeper://", server_.address(), "?session=2000");
  }

  std::unique_ptr<Client> Open(const std::string& app, const std::string& parameters = "") {
    ClientOptions options;
    options.app = app;
    options.registry = registry_ + parameters;
    auto client = Client::Create(options, registries_);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }

  std::unique_ptr<Client> Provide(const std::string& address) {
    auto client = Open("greeting");
    EXPECT_TRUE(client->provider()
                    .Export(absl::StrCat("tri://", address, "/", kService, "?methods=greet"))
                    .ok());
    const absl::Status status = client->Start(absl::Seconds(20));
    EXPECT_TRUE(status.ok()) << status;
    return client;
  }

  ZookeeperServer server_;
  RegistryFactories registries_{"registry"};
  std::string registry_;
};

// What the directory holds, to wait on.
class Held {
 public:
  explicit Held(Directory& directory)
      : subscription_(directory.OnChange([this](const ServiceAddresses& addresses) {
          MutexLock lock(mutex_);
          addresses_ = addresses.list;
          changed_.SignalAll();
        })) {}

  // At most 60 s.
  bool WaitForAddress(const std::string& address, bool present) {
    MutexLock lock(mutex_);
    for (int i = 0; i < 600 && Has(address) != present; ++i) {
      changed_.WaitFor(mutex_, absl::Milliseconds(100));
    }
    return Has(address) == present;
  }

 private:
  bool Has(const std::string& address) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    bool found = false;
    if (addresses_ != nullptr) {
      addresses_->ForEach(
          [&](const Endpoint& endpoint) { found = found || endpoint.address() == address; });
    }
    return found;
  }

  Mutex mutex_;
  CondVar changed_;
  std::shared_ptr<const AddressList> addresses_ ABSL_GUARDED_BY(mutex_);
  Subscription subscription_;
};

TEST_F(OutageTest, ServerRestartsOnTheSamePort) {
  auto provider = Provide("192.0.2.1:50051");
  auto consumer = Open("consumer");
  auto directory = consumer->consumer().Refer(kService);
  ASSERT_TRUE(directory.ok());
  Held held(**directory);
  ASSERT_TRUE(held.WaitForAddress("192.0.2.1:50051", true));

  ASSERT_TRUE(server_.Stop().ok());
  // While the registry is away calls go on.
  EXPECT_TRUE((*directory)->Pick(Request()).ok());
  const absl::Status restarted = server_.Start();
  ASSERT_TRUE(restarted.ok()) << restarted;

  // A new provider is found, and so the consumer's watches live; the old one is still or again
  // there.
  auto second = Provide("192.0.2.2:50051");
  EXPECT_TRUE(held.WaitForAddress("192.0.2.2:50051", true));
  EXPECT_TRUE(held.WaitForAddress("192.0.2.1:50051", true));
  auto fresh = Open("fresh");
  auto again = fresh->consumer().Refer(kService);
  Held seen(**again);
  EXPECT_TRUE(seen.WaitForAddress("192.0.2.1:50051", true));
  provider->Shutdown(absl::ZeroDuration());
  EXPECT_TRUE(held.WaitForAddress("192.0.2.1:50051", false));
  EXPECT_TRUE(held.WaitForAddress("192.0.2.2:50051", true));
}

// It has no sessions and older transactions than its clients have seen: they start anew.
TEST_F(OutageTest, ServerComesBackEmpty) {
  auto provider = Provide("192.0.2.1:50051");
  auto consumer = Open("consumer");
  auto directory = consumer->consumer().Refer(kService);
  ASSERT_TRUE(directory.ok());
  Held held(**directory);
  ASSERT_TRUE(held.WaitForAddress("192.0.2.1:50051", true));
  ASSERT_TRUE(server_.Stop().ok());
  server_.Wipe();
  const absl::Status restarted = server_.Start();
  ASSERT_TRUE(restarted.ok()) << restarted;
  auto fresh = Open("fresh");
  auto again = fresh->consumer().Refer(kService);
  Held seen(**again);
  EXPECT_TRUE(seen.WaitForAddress("192.0.2.1:50051", true));
  auto second = Provide("192.0.2.2:50051");
  EXPECT_TRUE(held.WaitForAddress("192.0.2.2:50051", true));
  EXPECT_TRUE(held.WaitForAddress("192.0.2.1:50051", true));
}

TEST_F(OutageTest, SuspendedProviderIsDroppedAndComesBackByItself) {
  ChildProcess provider({"examples/provider", registry_, "192.0.2.3:50051"});
  ASSERT_TRUE(provider.WaitForOutput("registered /services/greeting/", absl::Seconds(30)));
  auto consumer = Open("consumer");
  auto directory = consumer->consumer().Refer(kService);
  ASSERT_TRUE(directory.ok());
  Held held(**directory);
  ASSERT_TRUE(held.WaitForAddress("192.0.2.3:50051", true));

  provider.Signal(SIGSTOP);
  EXPECT_TRUE(held.WaitForAddress("192.0.2.3:50051", false));  // the session has expired
  provider.Signal(SIGCONT);
  EXPECT_TRUE(held.WaitForAddress("192.0.2.3:50051", true));  // registered by a new session

  provider.Signal(SIGTERM);
  EXPECT_TRUE(held.WaitForAddress("192.0.2.3:50051", false));
  EXPECT_EQ(provider.Wait(absl::Seconds(20)), 0);
}

TEST_F(OutageTest, SuspendedConsumerSeesWhatHappenedMeanwhile) {
  auto first = Provide("192.0.2.4:50051");
  ChildProcess consumer({"tools/signpost", "watch", kService, "--json", "--registry=" + registry_});
  ASSERT_TRUE(consumer.WaitForOutput("192.0.2.4", absl::Seconds(30)));
  consumer.Signal(SIGSTOP);
  // Longer than its session lives: the server itself says when it is gone.
  ASSERT_TRUE(server_.WaitForSessions(1, absl::Seconds(60)));
  auto second = Provide("192.0.2.5:50051");
  consumer.Signal(SIGCONT);
  EXPECT_TRUE(consumer.WaitForOutput("192.0.2.5", absl::Seconds(60)));
  consumer.Signal(SIGTERM);
  EXPECT_EQ(consumer.Wait(absl::Seconds(20)), 0);
}

// TC-17: for up to a session's time the old node is there when the new process registers.
TEST_F(OutageTest, KilledProviderThatStartsAgainIsAlwaysThere) {
  auto sibling = Provide("192.0.2.8:50051");
  const std::vector<std::string> command = {
      "examples/provider", absl::StrCat("zookeeper://", server_.address(), "?session=4000"),
      "192.0.2.7:50051"};
  auto old_one = std::make_unique<ChildProcess>(command);
  ASSERT_TRUE(old_one->WaitForOutput("registered /services/greeting/", absl::Seconds(30)));
  auto consumer = Open("consumer");
  auto directory = consumer->consumer().Refer(kService);
  ASSERT_TRUE(directory.ok());
  ASSERT_TRUE(Held(**directory).WaitForAddress("192.0.2.7:50051", true));

  Mutex mutex;
  std::vector<int64_t> started;  // of the address, at each notification
  int gaps = 0;
  const Subscription subscription = (*directory)->OnChange([&](const ServiceAddresses& addresses) {
    MutexLock lock(mutex);
    int found = 0;
    addresses.list->ForEach([&](const Endpoint& endpoint) {
      if (endpoint.address() != "192.0.2.7:50051") return;
      ++found;
      started.push_back(endpoint->timestamp_ms);
    });
    if (found != 1) ++gaps;
  });
  old_one->Signal(SIGKILL);
  ChildProcess new_one(command);
  ASSERT_TRUE(new_one.WaitForOutput("registered /services/greeting/", absl::Seconds(30)));
  // The old session ends: only the consumer, the sibling and the new process are left.
  ASSERT_TRUE(server_.WaitForSessions(3, absl::Seconds(60)));
  Held held(**directory);
  auto third = Provide("192.0.2.9:50051");  // what comes later is told later
  ASSERT_TRUE(held.WaitForAddress("192.0.2.9:50051", true));
  MutexLock lock(mutex);
  EXPECT_EQ(gaps, 0);
  ASSERT_GE(started.size(), 2u);
  EXPECT_GT(started.back(), started.front());
}

// TC-14: who only looks leaves nothing behind, and sees the first instance when it comes.
TEST_F(OutageTest, AConsumerLeavesNoLitter) {
  const auto nodes = [this] {
    const std::string words = server_.Word("mntr");
    const size_t at = words.find("zk_znode_count");
    return at == std::string::npos ? words : words.substr(at, words.find('\n', at) - at);
  };
  const std::string before = nodes();
  // At interface level consumers are to be seen, as Dubbo's are.
  auto consumer = Open("consumer", "&mode=application");
  auto directory = consumer->consumer().Refer(kService);
  ASSERT_TRUE(directory.ok());
  EXPECT_EQ((*directory)->WaitReady(absl::Seconds(2)).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(nodes(), before);
  auto provider = Provide("192.0.2.1:50051");
  ASSERT_TRUE((*directory)->WaitReady(absl::Seconds(20)).ok());
  auto pick = (*directory)->Pick(Request());
  ASSERT_TRUE(pick.ok()) << pick.status();
  EXPECT_EQ(pick->endpoint.address(), "192.0.2.1:50051");
}

TEST_F(OutageTest, KilledProviderIsDroppedWithItsSession) {
  ChildProcess provider({"examples/provider", registry_, "192.0.2.6:50051"});
  ASSERT_TRUE(provider.WaitForOutput("registered /services/greeting/", absl::Seconds(30)));
  auto consumer = Open("consumer");
  auto directory = consumer->consumer().Refer(kService);
  Held held(**directory);
  ASSERT_TRUE(held.WaitForAddress("192.0.2.6:50051", true));
  provider.Signal(SIGKILL);
  EXPECT_TRUE(held.WaitForAddress("192.0.2.6:50051", false));
}

}  // namespace
}  // namespace signpost

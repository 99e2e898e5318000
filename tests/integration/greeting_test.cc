// The greeting example as people run it: `signpost serve`, providers and a consumer, each a
// process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "signpost/client/client.h"
#include "signpost/client/plugins/server.h"
#include "signpost/common/await.h"
#include "tests/support/child_process.h"
#include "tests/support/loopback.h"

namespace signpost {
namespace {

using testing::HasSubstr;

constexpr absl::Duration kPatience = absl::Seconds(60);

// What stands behind the first `word` in `text`, up to the end of the line; "" if it is not there.
std::string Behind(const std::string& text, const std::string& word) {
  const size_t at = text.find(word);
  if (at == std::string::npos) return "";
  const size_t begin = at + word.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

int Count(const std::string& text, const std::string& word) {
  int count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

class Provider {
 public:
  explicit Provider(const std::string& registry, const std::vector<std::string>& flags = {})
      : process_(Words(registry, flags)) {
    EXPECT_TRUE(process_.WaitForOutput("serving 127.0.0.1:", kPatience)) << process_.output();
    EXPECT_TRUE(process_.WaitForOutput("\n", kPatience));
    address_ = Behind(process_.output(), "serving ");
  }
  const std::string& address() const { return address_; }
  ChildProcess& process() { return process_; }

  static std::vector<std::string> Words(const std::string& registry,
                                        const std::vector<std::string>& flags) {
    std::vector<std::string> words = {"examples/greeting/provider", "--registry=" + registry};
    words.insert(words.end(), flags.begin(), flags.end());
    return words;
  }

 private:
  ChildProcess process_;
  std::string address_;
};

class Consumer {
 public:
  explicit Consumer(const std::string& registry)
      : process_({"examples/greeting/consumer", "--rate=50", "--registry=" + registry}) {}

  bool WaitFor(const std::string& text) { return process_.WaitForOutput(text, kPatience); }
  // What it prints during its next `calls` calls.
  std::string Next(int calls) {
    const size_t begin = process_.output().size();
    const int last = LastCall(process_.output()) + calls + 1;
    EXPECT_TRUE(WaitFor(absl::StrCat("call ", last))) << process_.output();
    return process_.output().substr(begin);
  }
  // Ends it; what it printed in all.
  std::string Stop() {
    process_.Signal(SIGTERM);
    exit_ = process_.Wait(kPatience);
    EXPECT_TRUE(process_.WaitForOutput("calls ", kPatience)) << process_.output();
    return process_.output();
  }
  int exit() const { return exit_; }
  std::string output() { return process_.output(); }

 private:
  static int LastCall(const std::string& output) {
    const size_t at = output.rfind("\ncall ");
    int number = 0;
    if (at != std::string::npos) {
      const std::string line = output.substr(at + 6, 12);
      (void)absl::SimpleAtoi(line.substr(0, line.find_first_not_of("0123456789")), &number);
    }
    return number;
  }

  ChildProcess process_;
  int exit_ = -1;
};

class GreetingTest : public testing::Test {
 protected:
  void SetUp() override {
    static std::atomic<int> next = 0;
    const std::string dir = absl::StrCat(std::filesystem::canonical(testing::TempDir()).string(),
                                         "/greeting", getpid(), "-", next++);
    server_ = std::make_unique<ChildProcess>(std::vector<std::string>{
        "tools/signpost", "serve", "--listen=127.0.0.1:0", "--dir=" + dir});
    ASSERT_TRUE(server_->WaitForOutput("\n", kPatience)) << server_->output();
    address_ = Behind(server_->output(), "listening on ");
    ASSERT_NE(address_, "") << server_->output();
    ASSERT_TRUE(AddServer(registries_).ok());
  }

  std::string Registry(int session_ms = 20000) const {
    return absl::StrCat("signpost://", address_, "?session=", session_ms);
  }
  std::unique_ptr<Client> Open() {
    ClientOptions options;
    options.registry = Registry();
    auto client = Client::Create(options, registries_);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }
  static size_t Instances(Client& client) {
    auto list =
        Await<absl::StatusOr<std::shared_ptr<const InstanceList>>>(kPatience, [&](auto done) {
          client.centre().discovery().ListInstances("greeting", CallOptions(), std::move(done));
        });
    return list.ok() ? (*list)->instances.size() : 0;
  }

  std::unique_ptr<ChildProcess> server_;
  std::string address_;
  RegistryFactories registries_{"registry"};
};

TEST_F(GreetingTest, ProvidersJoinAndLeaveWithoutAFailedCall) {
  Provider first(Registry());
  Provider second(Registry());
  Consumer consumer(Registry());
  ASSERT_TRUE(consumer.WaitFor("open " + first.address())) << consumer.output();
  ASSERT_TRUE(consumer.WaitFor("open " + second.address())) << consumer.output();
  const std::string both = consumer.Next(40);
  EXPECT_THAT(both, HasSubstr("hello Ann, from " + first.address()));
  EXPECT_THAT(both, HasSubstr("hello Ann, from " + second.address()));

  Provider third(Registry());
  ASSERT_TRUE(consumer.WaitFor("open " + third.address())) << consumer.output();
  EXPECT_THAT(consumer.Next(60), HasSubstr("hello Ann, from " + third.address()));

  first.process().Signal(SIGTERM);
  ASSERT_TRUE(consumer.WaitFor("close " + first.address() + ": its address has left"))
      << consumer.output();
  EXPECT_EQ(first.process().Wait(kPatience), 0) << first.process().output();
  EXPECT_THAT(first.process().output(), HasSubstr("stopped"));
  const std::string rest = consumer.Next(40);
  EXPECT_EQ(Count(rest, "from " + first.address()), 0) << rest;
  EXPECT_THAT(rest, HasSubstr("from " + second.address()));
  EXPECT_THAT(rest, HasSubstr("from " + third.address()));

  const std::string all = consumer.Stop();
  EXPECT_EQ(consumer.exit(), 0) << all;
  EXPECT_THAT(all, HasSubstr(", failed 0"));
  // One connection for each, from the beginning to the end.
  for (const Provider* provider : {&first, &second, &third}) {
    EXPECT_EQ(Count(all, "open " + provider->address() + "\n"), 1) << all;
    EXPECT_EQ(Count(all, "close " + provider->address() + ":"), 1) << all;
  }
}

TEST_F(GreetingTest, KillOfAProviderIsSurvived) {
  auto first = std::make_unique<Provider>(Registry(2000));
  Provider second(Registry());
  Consumer consumer(Registry());
  ASSERT_TRUE(consumer.WaitFor("open " + first->address())) << consumer.output();
  ASSERT_TRUE(consumer.WaitFor("open " + second.address())) << consumer.output();
  consumer.Next(10);
  first->process().Signal(SIGKILL);
  EXPECT_EQ(first->process().Wait(kPatience), -SIGKILL);
  ASSERT_TRUE(consumer.WaitFor("close " + first->address() + ":")) << consumer.output();
  // Its session ends: nobody tries to connect any more.
  ASSERT_TRUE(consumer.WaitFor("cancel " + first->address() + ": its address has left"))
      << consumer.output();
  const std::string rest = consumer.Next(40);
  EXPECT_EQ(Count(rest, first->address()), 0) << rest;
  EXPECT_EQ(Instances(*Open()), 1u);

  Provider third(Registry());
  ASSERT_TRUE(consumer.WaitFor("open " + third.address())) << consumer.output();
  EXPECT_THAT(consumer.Next(60), HasSubstr("from " + third.address()));
  const std::string all = consumer.Stop();
  // What went to the dead one was called elsewhere.
  EXPECT_THAT(all, HasSubstr(", failed 0")) << all;
}

// It hangs, but its session lives: each call ends in time, elsewhere.
TEST_F(GreetingTest, AHungProviderIsSurvived) {
  Provider first(Registry(3600000));
  Provider second(Registry());
  Consumer consumer(Registry());
  ASSERT_TRUE(consumer.WaitFor("open " + first.address())) << consumer.output();
  ASSERT_TRUE(consumer.WaitFor("open " + second.address())) << consumer.output();
  first.process().Signal(SIGSTOP);
  ASSERT_TRUE(consumer.WaitFor("(try 2)")) << consumer.output();
  EXPECT_TRUE(consumer.WaitFor("no answer in")) << consumer.output();
  first.process().Signal(SIGCONT);
  const std::string all = consumer.Stop();
  EXPECT_THAT(all, HasSubstr(", failed 0")) << all;
}

TEST_F(GreetingTest, RegisteredOnceAndOnlyWhenItListens) {
  auto client = Open();
  auto directory = client->consumer().Refer("org.example.Greeter");
  ASSERT_TRUE(directory.ok()) << directory.status();
  std::atomic<int> added = 0, updated = 0, reached = 0;
  const Subscription watch = (*directory)->OnChange([&](const ServiceAddresses& now) {
    updated += static_cast<int>(now.delta.updated.size() + now.delta.removed.size());
    for (const Endpoint& endpoint : now.delta.added) {
      const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      const sockaddr_in to = Loopback(endpoint->port);
      if (connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0) ++reached;
      close(fd);
      ++added;
    }
  });
  Provider provider(Registry());
  ASSERT_TRUE((*directory)->WaitReady(kPatience).ok());
  const auto picked = (*directory)->Pick(Request());
  ASSERT_TRUE(picked.ok()) << picked.status();
  EXPECT_EQ(picked->endpoint.address(), provider.address());
  EXPECT_EQ(picked->endpoint->service->protocol, "thrift");
  EXPECT_EQ(picked->endpoint->Get("methods"), "greet");
  EXPECT_EQ(Instances(*client), 1u);
  const std::string output = provider.process().output();
  EXPECT_EQ(Count(output, "registered /services/greeting/" + provider.address() + "\n"), 1)
      << output;
  provider.process().Signal(SIGTERM);
  EXPECT_EQ(provider.process().Wait(kPatience), 0) << provider.process().output();
  client->Shutdown(absl::ZeroDuration());
  EXPECT_EQ(added, 1);
  EXPECT_EQ(reached, 1);
  EXPECT_LE(updated, 1);  // when it left
}

TEST_F(GreetingTest, APortThatIsTakenIsNotRegistered) {
  Provider first(Registry());
  ChildProcess second(Provider::Words(Registry(), {"--listen=" + first.address(), "--app=other"}));
  EXPECT_EQ(second.Wait(kPatience), 1);
  EXPECT_TRUE(second.WaitForOutput("cannot listen on " + first.address(), kPatience))
      << second.output();
  ChildProcess apps({"tools/signpost", "apps", "--registry=" + Registry()});
  EXPECT_EQ(apps.Wait(kPatience), 0);
  EXPECT_TRUE(apps.WaitForOutput("greeting", kPatience)) << apps.output();
  EXPECT_EQ(Count(apps.output(), "other"), 0) << apps.output();
}

// The consumer is there first; metadata in the registry and in the process.
TEST_F(GreetingTest, AConsumerWaitsForItsFirstProvider) {
  Consumer consumer(Registry());
  ASSERT_TRUE(consumer.WaitFor(" failed: org.example.Greeter")) << consumer.output();
  Provider local(Registry(), {"--metadata=local"});
  ASSERT_TRUE(consumer.WaitFor("hello Ann, from " + local.address())) << consumer.output();
  EXPECT_EQ(Count(local.process().output(), "metadata"), 0) << local.process().output();
  Provider remote(Registry());
  ASSERT_TRUE(consumer.WaitFor("hello Ann, from " + remote.address())) << consumer.output();
  consumer.Stop();
  EXPECT_EQ(consumer.exit(), 1);
}

TEST_F(GreetingTest, WrongWordsAreNamed) {
  ChildProcess flag({"examples/greeting/provider", "--listen=50051"});
  EXPECT_EQ(flag.Wait(kPatience), 1);
  EXPECT_TRUE(flag.WaitForOutput("not HOST:PORT", kPatience)) << flag.output();
  ChildProcess word({"examples/greeting/consumer", "ten"});
  EXPECT_EQ(word.Wait(kPatience), 2);
  ChildProcess scheme({"examples/greeting/consumer", "--registry=nowhere://127.0.0.1"});
  EXPECT_EQ(scheme.Wait(kPatience), 1);
  EXPECT_TRUE(scheme.WaitForOutput("nowhere", kPatience)) << scheme.output();
}

}  // namespace
}  // namespace signpost

// `signpost serve` and its clients in processes of their own: ended cleanly, killed, started again.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/registry/server/server_test.h"
#include "tests/support/child_process.h"

namespace signpost {
namespace {

constexpr char kCommand[] = "tools/signpost";
constexpr absl::Duration kPatience = absl::Seconds(60);

std::string NewDir() {
  static std::atomic<int> next = 0;
  return absl::StrCat(std::filesystem::canonical(testing::TempDir()).string(), "/serve", getpid(),
                      "-", next++);
}

// The server; `port` 0: a free one.
class Server {
 public:
  explicit Server(const std::string& dir, uint16_t port = 0)
      : process_({kCommand, "serve", absl::StrCat("--listen=127.0.0.1:", port), "--dir=" + dir}) {
    const std::string line = "listening on 127.0.0.1:";
    EXPECT_TRUE(process_.WaitForOutput(line, kPatience)) << process_.output();
    EXPECT_TRUE(process_.WaitForOutput("\n", kPatience));
    const std::string output = process_.output();
    const size_t at = output.find(line);
    if (at != std::string::npos) port_ = std::stoi(output.substr(at + line.size()));
  }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }
  uint16_t port() const { return static_cast<uint16_t>(port_); }
  ChildProcess& process() { return process_; }

 private:
  ChildProcess process_;
  int port_ = 0;
};

std::vector<std::string> ProvideCommand(const std::string& address, const std::string& parameters) {
  return {kCommand,
          "provide",
          "--app=shop",
          "--service=org.example.Greeter",
          "--address=192.0.2.1:50051",
          absl::StrCat("--registry=signpost://", address, "?", parameters)};
}

bool HasInstance(const std::vector<absl::StatusOr<TreeDelta>>& told) {
  return !told.empty() && told.back().ok() && Fold(told).count("192.0.2.1:50051") > 0;
}

bool HasNoInstance(const std::vector<absl::StatusOr<TreeDelta>>& told) {
  return !told.empty() && told.back().ok() && Fold(told).empty();
}

TEST(ServeTest, SigtermEndsItCleanly) {
  const std::string dir = NewDir();
  for (const int signal : {SIGTERM, SIGINT}) {
    Server server(dir);
    EXPECT_EQ(server.process().output(), absl::StrCat("listening on ", server.address(), "\n"));
    AddressFixture fixture(server.address());
    Handle handle(fixture, "client");
    const std::string key = absl::StrCat("/kept", signal);
    ASSERT_TRUE(handle.Put(key, "v").ok());
    ASSERT_TRUE(handle.Bind("/bound", "v").ok());
    server.process().Signal(signal);
    EXPECT_EQ(server.process().Wait(kPatience), 0) << server.process().output();
  }
  Server again(dir);
  AddressFixture fixture(again.address());
  Handle handle(fixture, "client");
  EXPECT_TRUE(*handle.Exists(absl::StrCat("/kept", SIGTERM)));
  EXPECT_TRUE(*handle.Exists(absl::StrCat("/kept", SIGINT)));
  // Its owner has time to come back.
  EXPECT_FALSE(handle.Get("/bound")->owned);
  EXPECT_TRUE(WaitUntil([&] { return !*handle.Exists("/bound"); }));
}

TEST(ServeTest, ADirectoryInUseIsNamed) {
  const std::string dir = NewDir();
  Server server(dir);
  ChildProcess second({kCommand, "serve", "--listen=127.0.0.1:0", "--dir=" + dir});
  EXPECT_EQ(second.Wait(kPatience), 3);
  EXPECT_NE(second.output().find(absl::StrCat("in use by ", server.process().pid())),
            std::string::npos)
      << second.output();
  ChildProcess same_port({kCommand, "serve", "--listen=" + server.address(), "--dir=" + NewDir()});
  EXPECT_EQ(same_port.Wait(kPatience), 3);
  EXPECT_NE(same_port.output().find(server.address()), std::string::npos) << same_port.output();
}

TEST(ServeTest, KillOfAClientDropsItsKeysAfterItsTimeToLive) {
  Server server(NewDir());
  AddressFixture fixture(server.address());
  Handle handle(fixture, "watcher");
  auto told = std::make_shared<ToldDeltas>();
  const Subscription watch = handle.WatchTree("/services/shop", told);
  ChildProcess provider(ProvideCommand(server.address(), "session=1500"));
  ASSERT_TRUE(told->Await(HasInstance)) << provider.output();
  provider.Signal(SIGKILL);
  EXPECT_EQ(provider.Wait(kPatience), -SIGKILL);
  EXPECT_TRUE(told->Await(HasNoInstance));
}

TEST(ServeTest, SigtermOfAClientDropsItsKeysAtOnce) {
  Server server(NewDir());
  AddressFixture fixture(server.address());
  Handle handle(fixture, "watcher");
  auto told = std::make_shared<ToldDeltas>();
  const Subscription watch = handle.WatchTree("/services/shop", told);
  // An hour: not by its time to live.
  ChildProcess provider(ProvideCommand(server.address(), "session=3600000"));
  ASSERT_TRUE(provider.WaitForOutput("registered /services/shop", kPatience)) << provider.output();
  ASSERT_TRUE(told->Await(HasInstance));
  provider.Signal(SIGTERM);
  EXPECT_EQ(provider.Wait(kPatience), 0) << provider.output();
  EXPECT_TRUE(told->Await(HasNoInstance));
}

// The provider writes its instance again, on the same directory and on an empty one.
TEST(ServeTest, KillOfTheServerIsSurvived) {
  const std::string dir = NewDir();
  auto server = std::make_unique<Server>(dir);
  const uint16_t port = server->port();
  ChildProcess provider(ProvideCommand(server->address(), "session=20000"));
  ASSERT_TRUE(provider.WaitForOutput("registered /services/shop", kPatience)) << provider.output();
  AddressFixture fixture(server->address());
  Handle handle(fixture, "watcher");
  auto told = std::make_shared<ToldDeltas>();
  auto events = std::make_shared<ToldEvents>();
  const Subscription watch = handle.WatchTree("/services/shop", told);
  const Subscription session = handle.WatchSession(events);
  ASSERT_TRUE(told->Await(HasInstance));
  for (const std::string& next : {dir, NewDir()}) {
    const size_t known = events->size();
    server->process().Signal(SIGKILL);
    EXPECT_EQ(server->process().Wait(kPatience), -SIGKILL);
    server = std::make_unique<Server>(next, port);
    ASSERT_EQ(server->port(), port);
    ASSERT_TRUE(events->Await([known](const auto& items) {
      return items.size() > known && items.back() == SessionEvent::kNewSession;
    }));
    ASSERT_TRUE(WaitUntil([&] {
      const auto instance = handle.Get("/services/shop/192.0.2.1:50051");
      return instance.ok() && instance->session_bound;
    })) << provider.output();
    EXPECT_TRUE(told->Await(HasInstance));
  }
}

// Neither calls nor Close wait for a server that hangs; when it goes on, so does the session.
TEST(ServeTest, AHungServerHoldsUpNobody) {
  Server server(NewDir());
  AddressFixture fixture(server.address(), "session=60000&timeout=60000");
  Handle stays(fixture, "stays");
  Handle leaves(fixture, "leaves");
  ASSERT_TRUE(stays.Bind("/stays", "v").ok());
  ASSERT_TRUE(leaves.Bind("/leaves", "v").ok());
  server.process().Signal(SIGSTOP);
  CallOptions options;
  options.timeout = absl::Milliseconds(200);
  EXPECT_TRUE(absl::IsDeadlineExceeded(stays.Get("/stays", options).status()));
  EXPECT_TRUE(absl::IsDeadlineExceeded(leaves.Put("/k", "v", options).status()));
  const absl::Duration begun = Clock::Real().MonotonicNow();
  leaves.store().Close();
  EXPECT_LT(Clock::Real().MonotonicNow() - begun, absl::Seconds(5));
  server.process().Signal(SIGCONT);
  const auto value = stays.Get("/stays");
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_TRUE(value->owned);
}

TEST(ServeTest, TheCommandReadsThroughIt) {
  Server server(NewDir());
  ChildProcess provider(ProvideCommand(server.address(), "session=20000"));
  ASSERT_TRUE(provider.WaitForOutput("registered /services/shop", kPatience)) << provider.output();
  const std::string registry = absl::StrCat("--registry=signpost://", server.address());
  ChildProcess apps({kCommand, "apps", "--json", registry});
  EXPECT_EQ(apps.Wait(kPatience), 0);
  EXPECT_NE(apps.output().find("\"shop\""), std::string::npos) << apps.output();
  ChildProcess resolve({kCommand, "resolve", "org.example.Greeter", "--json", registry});
  EXPECT_EQ(resolve.Wait(kPatience), 0);
  EXPECT_NE(resolve.output().find("192.0.2.1"), std::string::npos) << resolve.output();
  ChildProcess watch({kCommand, "watch", "org.example.Greeter", "--for=500ms", "--json", registry});
  EXPECT_EQ(watch.Wait(kPatience), 0);
  EXPECT_NE(watch.output().find("192.0.2.1"), std::string::npos) << watch.output();
}

}  // namespace
}  // namespace signpost

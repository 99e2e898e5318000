// The Thrift connections against the Thrift server, over the loopback.
#include "signpost/examples/greeting/thrift_connector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "signpost/common/await.h"
#include "signpost/common/clock.h"
#include "signpost/examples/greeting/greeter_server.h"
#include "tests/support/loopback.h"
#include "tests/support/silent_port.h"

namespace example {
namespace {

using testing::HasSubstr;
using Opened = absl::StatusOr<std::shared_ptr<Connection>>;

constexpr absl::Duration kPatience = absl::Seconds(30);

Opened Connect(Connector& connector, uint16_t port) {
  return signpost::Await<Opened>(
      kPatience, [&](auto done) { connector.Connect("127.0.0.1", port, std::move(done)); });
}

std::unique_ptr<GreeterServer> Serve(uint16_t port = 0) {
  auto server = GreeterServer::Start("127.0.0.1", port,
                                     [](const std::string& name) { return "hello " + name; });
  EXPECT_TRUE(server.ok()) << server.status();
  return server.ok() ? *std::move(server) : nullptr;
}

TEST(ThriftConnectorTest, CallsOverOneConnection) {
  const auto server = Serve();
  const auto connector = NewThriftConnector();
  const Opened connection = Connect(*connector, server->port());
  ASSERT_TRUE(connection.ok()) << connection.status();
  EXPECT_EQ(*(*connection)->Greet("Ann", kPatience), "hello Ann");
  EXPECT_EQ(*(*connection)->Greet("Bob", kPatience), "hello Bob");
}

TEST(ThriftConnectorTest, NobodyListens) {
  const auto connector = NewThriftConnector();
  const Opened connection = Connect(*connector, signpost::FreePort());
  EXPECT_TRUE(absl::IsUnavailable(connection.status())) << connection.status();
  EXPECT_THAT(connection.status().message(), HasSubstr("cannot connect"));
}

TEST(ThriftConnectorTest, TheServerEnds) {
  auto server = Serve();
  const auto connector = NewThriftConnector();
  const Opened connection = Connect(*connector, server->port());
  ASSERT_TRUE(connection.ok()) << connection.status();
  EXPECT_TRUE((*connection)->Greet("Ann", kPatience).ok());
  server->Stop();
  server->Stop();
  const auto answer = (*connection)->Greet("Ann", kPatience);
  EXPECT_TRUE(absl::IsUnavailable(answer.status())) << answer.status();
}

TEST(ThriftConnectorTest, NoAnswer) {
  const signpost::SilentPort server;
  const auto connector = NewThriftConnector();
  const Opened connection = Connect(*connector, server.port());
  ASSERT_TRUE(connection.ok()) << connection.status();
  const absl::Duration begun = signpost::Clock::Real().MonotonicNow();
  const auto answer = (*connection)->Greet("Ann", absl::Milliseconds(50));
  EXPECT_TRUE(absl::IsDeadlineExceeded(answer.status())) << answer.status();
  EXPECT_LT(signpost::Clock::Real().MonotonicNow() - begun, kPatience);
}

// Else the answer, when it comes, would be taken for that of the next call.
TEST(ThriftConnectorTest, AConnectionWithoutAnAnswerIsNotUsedAgain) {
  const signpost::SilentPort server;
  const auto connector = NewThriftConnector();
  const Opened connection = Connect(*connector, server.port());
  ASSERT_TRUE(connection.ok()) << connection.status();
  ASSERT_FALSE((*connection)->Greet("Ann", absl::Milliseconds(50)).ok());
  const auto next = (*connection)->Greet("Bob", absl::Milliseconds(50));
  EXPECT_TRUE(absl::IsUnavailable(next.status())) << next.status();
}

TEST(ThriftConnectorTest, WaitingForAnothersCallTakesNoMoreThanTheTimeout) {
  signpost::Waiter<> begun;
  signpost::Waiter<> released;
  auto server = GreeterServer::Start("127.0.0.1", 0, [&](const std::string& name) {
    begun.Callback()(absl::OkStatus());
    return (released.Wait(kPatience).ok() ? "hello " : "too late for ") + name;
  });
  ASSERT_TRUE(server.ok()) << server.status();
  const auto connector = NewThriftConnector();
  const Opened connection = Connect(*connector, (*server)->port());
  ASSERT_TRUE(connection.ok()) << connection.status();
  absl::StatusOr<std::string> first = absl::UnknownError("");
  std::thread ann([&] { first = (*connection)->Greet("Ann", 2 * kPatience); });
  EXPECT_TRUE(begun.Wait(kPatience).ok());
  const auto second = (*connection)->Greet("Bob", absl::Milliseconds(50));
  EXPECT_TRUE(absl::IsDeadlineExceeded(second.status())) << second.status();
  released.Callback()(absl::OkStatus());
  ann.join();
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(*first, "hello Ann");
}

TEST(ThriftConnectorTest, AnAnswerThatIsTooLarge) {
  auto server = GreeterServer::Start("127.0.0.1", 0,
                                     [](const std::string&) { return std::string(2 << 20, 'x'); });
  ASSERT_TRUE(server.ok()) << server.status();
  const auto connector = NewThriftConnector();
  const Opened connection = Connect(*connector, (*server)->port());
  ASSERT_TRUE(connection.ok()) << connection.status();
  EXPECT_TRUE(absl::IsUnavailable((*connection)->Greet("Ann", kPatience).status()));
}

TEST(ThriftConnectorTest, AnExceptionOfTheProvider) {
  auto server = GreeterServer::Start("127.0.0.1", 0, [](const std::string&) -> std::string {
    throw std::runtime_error("no greeting today");
  });
  ASSERT_TRUE(server.ok()) << server.status();
  const auto connector = NewThriftConnector();
  const Opened connection = Connect(*connector, (*server)->port());
  ASSERT_TRUE(connection.ok()) << connection.status();
  const auto answer = (*connection)->Greet("Ann", kPatience);
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(answer.status().message(), HasSubstr("no greeting today"));
}

TEST(GreeterServerTest, APortThatIsTaken) {
  const signpost::SilentPort taken;
  const auto server =
      GreeterServer::Start("127.0.0.1", taken.port(), [](const std::string& name) { return name; });
  EXPECT_TRUE(absl::IsUnavailable(server.status())) << server.status();
  EXPECT_THAT(server.status().message(), HasSubstr(std::to_string(taken.port())));
}

}  // namespace
}  // namespace example

#include "signpost/common/thrift/thrift_server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "signpost/common/clock.h"
#include "signpost/common/thrift/channel.h"
#include "tests/common/thrift/echo.h"
#include "tests/support/raw_connection.h"

namespace signpost {
namespace {

const std::atomic<bool> never{false};

std::unique_ptr<ThriftChannel> Connect(uint16_t port) {
  auto channel = ThriftChannel::Connect("127.0.0.1", port, absl::Seconds(20), 1 << 20, never);
  EXPECT_TRUE(channel.ok()) << channel.status();
  return channel.ok() ? *std::move(channel) : nullptr;
}

TEST(ThriftServerTest, APortInUseIsAnErrorThatNamesIt) {
  auto server = StartEcho();
  ThriftServerOptions options;
  options.port = server->port();
  const auto second = ThriftServer::Start(std::make_shared<EchoProcessor>(), options);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(second.status().message().find(std::to_string(server->port())), std::string::npos)
      << second.status();
}

TEST(ThriftServerTest, OnAllAddressesWithoutAHost) {
  ThriftServerOptions options;
  options.host.clear();
  auto server = StartEcho(options);
  EXPECT_EQ(Echo(*Connect(server->port())->protocol(), "hello"), "hello");
}

TEST(ThriftServerTest, ConnectionsAboveTheLimitAreClosed) {
  ThriftServerOptions options;
  options.max_connections = 2;
  auto server = StartEcho(options);
  std::vector<std::unique_ptr<ThriftChannel>> kept;
  for (int i = 0; i < 2; ++i) {
    kept.push_back(Connect(server->port()));
    EXPECT_EQ(Echo(*kept.back()->protocol(), "hello"), "hello");
  }
  EXPECT_TRUE(RawConnection(server->port()).Closed());
  for (const auto& channel : kept) EXPECT_EQ(Echo(*channel->protocol(), "again"), "again");
}

TEST(ThriftServerTest, HostileBytesHarmOnlyTheirConnection) {
  ThriftServerOptions options;
  options.max_frame_bytes = 4096;
  auto server = StartEcho(options);
  auto channel = Connect(server->port());
  for (const std::string& bytes :
       {std::string("\x7f\xff\xff\xff", 4), std::string("\xff\xff\xff\xff", 4),
        std::string("\x00\x01\x00\x00", 4), std::string("GET / HTTP/1.1\r\n\r\n"),
        std::string("\x00\x00\x00\x04\xde\xad\xbe\xef", 8)}) {
    RawConnection hostile(server->port());
    EXPECT_TRUE(hostile.Send(bytes));
    EXPECT_TRUE(hostile.Closed()) << testing::PrintToString(bytes);
  }
  EXPECT_EQ(Echo(*channel->protocol(), "hello"), "hello");
}

TEST(ThriftServerTest, SilentConnectionsAreClosed) {
  ThriftServerOptions options;
  options.idle_timeout = absl::Milliseconds(200);
  auto server = StartEcho(options);
  EXPECT_TRUE(RawConnection(server->port()).Closed());
}

TEST(ThriftServerTest, TrickledBytesGiveNoMoreTime) {
  ThriftServerOptions options;
  options.idle_timeout = absl::Milliseconds(500);
  auto server = StartEcho(options);
  RawConnection slow(server->port());
  EXPECT_TRUE(slow.Send(std::string("\x00\x00\x00\x64", 4)));
  // Each byte comes well within the time, the frame never.
  const absl::Duration begun = Clock::Real().MonotonicNow();
  bool closed = false;
  while (!closed && Clock::Real().MonotonicNow() - begun < absl::Seconds(20)) {
    if (!slow.Send("x")) break;
    closed = slow.Closed(absl::Milliseconds(50));
  }
  // The server lets go of it a moment after it has closed it.
  while (server->connection_count() > 0 &&
         Clock::Real().MonotonicNow() - begun < absl::Seconds(20)) {
    std::this_thread::yield();
  }
  EXPECT_EQ(server->connection_count(), 0u);
}

TEST(ThriftServerTest, StopsWhileAClientDoesNotReadItsAnswer) {
  ThriftServerOptions options;
  options.max_frame_bytes = 32 << 20;
  auto server = StartEcho(options);
  // A call whose answer is larger than the buffers between.
  RawConnection lazy(server->port());
  const std::string text(16 << 20, 'x');
  const auto number = [](size_t n) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(n >> shift));
    return bytes;
  };
  const std::string message =
      number(0x80010001) + number(4) + "echo" + number(1) + number(text.size()) + text;
  EXPECT_TRUE(lazy.Send(number(message.size()) + message));
  const absl::Duration begun = Clock::Real().MonotonicNow();
  server->Stop();
  EXPECT_LT(Clock::Real().MonotonicNow() - begun, absl::Seconds(20));
}

TEST(ThriftServerTest, StopsWithConnectionsOpenAndAgain) {
  auto server = StartEcho();
  RawConnection half(server->port());
  EXPECT_TRUE(half.Send(std::string("\x00\x00", 2)));
  auto channel = Connect(server->port());
  EXPECT_EQ(Echo(*channel->protocol(), "hello"), "hello");
  server->Stop();
  server->Stop();
  EXPECT_TRUE(half.Closed());
  EXPECT_EQ(server->connection_count(), 0u);
}

}  // namespace
}  // namespace signpost

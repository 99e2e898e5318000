#include "signpost/common/thrift/channel.h"

#include <gtest/gtest.h>
#include <thrift/Thrift.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>

#include "signpost/common/clock.h"
#include "tests/common/thrift/echo.h"
#include "tests/support/loopback.h"

namespace signpost {
namespace {

using apache::thrift::TException;

const std::atomic<bool> never{false};

std::unique_ptr<ThriftChannel> Connect(uint16_t port, absl::Duration timeout = absl::Seconds(20)) {
  auto channel = ThriftChannel::Connect("127.0.0.1", port, timeout, 1 << 20, never);
  EXPECT_TRUE(channel.ok()) << channel.status();
  return channel.ok() ? *std::move(channel) : nullptr;
}

TEST(ChannelTest, ManyCallsOnOneConnection) {
  auto server = StartEcho();
  auto channel = Connect(server->port());
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(Echo(*channel->protocol(), std::string(100000, 'x')).size(), 100000u);
  }
  EXPECT_FALSE(channel->stale());
  EXPECT_EQ(server->connection_count(), 1u);
}

TEST(ChannelTest, NobodyThereIsNamed) {
  const uint16_t port = FreePort();
  const auto refused = ThriftChannel::Connect("127.0.0.1", port, absl::Seconds(1), 1024, never);
  EXPECT_TRUE(absl::IsUnavailable(refused.status()));
  EXPECT_NE(refused.status().message().find(std::to_string(port)), std::string::npos);
  const auto unknown =
      ThriftChannel::Connect("256.0.0.1.invalid", 1, absl::Seconds(1), 1024, never);
  EXPECT_TRUE(absl::IsUnavailable(unknown.status()));
  EXPECT_NE(unknown.status().message().find("256.0.0.1.invalid"), std::string::npos);
}

TEST(ChannelTest, StopsConnecting) {
  const std::atomic<bool> stop{true};
  const auto channel =
      ThriftChannel::Connect("127.0.0.1", FreePort(), absl::Seconds(20), 1024, stop);
  EXPECT_TRUE(absl::IsUnavailable(channel.status()));
}

TEST(ChannelTest, AHangingServerIsLeftAfterTheTimeout) {
  auto server = StartEcho();
  auto channel = Connect(server->port());
  channel->set_timeout(absl::Milliseconds(50));
  EXPECT_THROW(Echo(*channel->protocol(), "hang"), TException);
}

TEST(ChannelTest, InterruptEndsAWaitingCall) {
  auto server = StartEcho();
  auto channel = Connect(server->port());
  auto waiting = std::async(std::launch::async,
                            [&] { EXPECT_THROW(Echo(*channel->protocol(), "hang"), TException); });
  channel->Interrupt();
  waiting.get();
  EXPECT_THROW(Echo(*channel->protocol(), "hello"), TException);
}

TEST(ChannelTest, AStoppedServerIsNoticed) {
  auto server = StartEcho();
  auto channel = Connect(server->port());
  EXPECT_EQ(Echo(*channel->protocol(), "hello"), "hello");
  server->Stop();
  EXPECT_TRUE(channel->stale());
  EXPECT_THROW(Echo(*channel->protocol(), "hello"), TException);
}

}  // namespace
}  // namespace signpost

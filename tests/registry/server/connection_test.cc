#include "signpost/registry/server/connection.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "tests/registry/server/server_test.h"

namespace signpost {
namespace server_internal {
namespace {

const std::atomic<bool> never{false};

std::unique_ptr<Connection> Connect(uint16_t port) {
  auto connection = Connection::Connect("127.0.0.1", port, absl::Seconds(20), never);
  EXPECT_TRUE(connection.ok()) << connection.status();
  return connection.ok() ? *std::move(connection) : nullptr;
}

TEST(ConnectionTest, CallsAreAnswered) {
  auto server = StartServer(NewCentre());
  auto connection = Connect(server->port());
  const auto opened = connection->Open(absl::Seconds(20));
  ASSERT_EQ(opened.outcome, Outcome::kAnswered);
  ASSERT_TRUE(opened.value.ok()) << opened.value.status();
  EXPECT_EQ(opened.value->ttl, absl::Seconds(20));
  const int64_t session = opened.value->id;
  const auto put = connection->Put(session, "/p/k", "v");
  ASSERT_TRUE(put.value.ok());
  EXPECT_EQ(connection->Get(session, "/p/k").value->version, *put.value);
  EXPECT_TRUE(*connection->Exists(session, "/p/k").value);
  EXPECT_EQ(connection->List(session, "/p").value->size(), 1u);
  EXPECT_TRUE(connection->Bind(session, "/p/b", "b").value.ok());
  EXPECT_TRUE(connection->CompareAndSet(session, "/p/k", "w", *put.value).value.ok());
  const auto aborted = connection->Remove(session, "/p/k", *put.value);
  EXPECT_EQ(aborted.outcome, Outcome::kAnswered);
  EXPECT_TRUE(absl::IsAborted(aborted.value.status()));
  EXPECT_TRUE(connection->Watch(session, 1, true, "/p").value.ok());
  const auto told = connection->Poll(session, 0, absl::Seconds(10), true);
  ASSERT_EQ(told.value->size(), 1u);
  EXPECT_EQ((*told.value)[0].delta.added.size(), 2u);
  EXPECT_TRUE(connection->Unwatch(session, 1).value.ok());
  EXPECT_FALSE(connection->stale());
  EXPECT_TRUE(connection->CloseSession(session).value.ok());
  EXPECT_EQ(connection->Get(session, "/p/k").outcome, Outcome::kUnknownSession);
}

TEST(ConnectionTest, NobodyThereIsNamed) {
  const uint16_t port = FreePort();
  const auto connection = Connection::Connect("127.0.0.1", port, absl::Seconds(1), never);
  ASSERT_FALSE(connection.ok());
  EXPECT_TRUE(absl::IsUnavailable(connection.status()));
  EXPECT_NE(connection.status().message().find(std::to_string(port)), std::string::npos);
}

TEST(ConnectionTest, AnUnknownHostIsNamed) {
  const auto connection = Connection::Connect("256.0.0.1.invalid", 1, absl::Seconds(1), never);
  ASSERT_FALSE(connection.ok());
  EXPECT_NE(connection.status().message().find("256.0.0.1.invalid"), std::string::npos);
}

TEST(ConnectionTest, AStoppedServerIsNoticed) {
  auto server = StartServer(NewCentre());
  auto connection = Connect(server->port());
  const int64_t session = connection->Open(absl::Seconds(20)).value->id;
  server.reset();
  EXPECT_TRUE(WaitUntil([&] { return connection->stale(); }));
  EXPECT_EQ(connection->Put(session, "/k", "v").outcome, Outcome::kBroken);
}

TEST(ConnectionTest, InterruptEndsAWaitingCall) {
  auto server = StartServer(NewCentre());
  auto connection = Connect(server->port());
  const int64_t session = connection->Open(absl::Seconds(20)).value->id;
  auto waiting = std::async(std::launch::async, [&] {
    return connection->Poll(session, 0, absl::Seconds(30), true).outcome;
  });
  connection->Interrupt();
  EXPECT_EQ(waiting.get(), Outcome::kBroken);
}

TEST(ConnectionTest, APollMayWaitBesideTheTimeout) {
  auto server = StartServer(NewCentre());
  auto connection = Connect(server->port());
  const int64_t session = connection->Open(absl::Seconds(20)).value->id;
  auto other = Connect(server->port());
  // A poll is allowed its wait beside the timeout.
  other->set_timeout(absl::Milliseconds(200));
  const auto told = other->Poll(session, 0, absl::Milliseconds(500), true);
  EXPECT_EQ(told.outcome, Outcome::kAnswered);
  EXPECT_TRUE(told.value->empty());
}

}  // namespace
}  // namespace server_internal
}  // namespace signpost

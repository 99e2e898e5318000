#include "signpost/registry/server/server_link.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <vector>

#include "tests/registry/server/server_test.h"
#include "tests/support/tcp_proxy.h"

namespace signpost {
namespace server_internal {
namespace {

class ServerLinkTest : public testing::Test {
 protected:
  ~ServerLinkTest() override {
    if (link_ != nullptr) link_->Close();
  }

  void Open(uint16_t port, absl::Duration session = absl::Seconds(20)) {
    LinkOptions options;
    options.host = "127.0.0.1";
    options.port = port;
    options.session = session;
    ServerLink::Listener listener;
    listener.on_session = [events = events_, ids = ids_](SessionEvent event, int64_t session) {
      ids->Add(session);
      events->Add(event);
    };
    listener.on_events = [](int64_t, std::vector<WatchEvent>) {};
    link_ = std::make_shared<ServerLink>(options, listener, executor_);
    link_->Open();
  }

  std::shared_ptr<Executor> executor_ = NewSerialExecutor("link-test");
  std::shared_ptr<ToldEvents> events_ = std::make_shared<ToldEvents>();
  std::shared_ptr<Told<int64_t>> ids_ = std::make_shared<Told<int64_t>>();
  std::shared_ptr<ServerLink> link_;
};

TEST_F(ServerLinkTest, RequestsRunInOrderWithTheSession) {
  auto server = StartServer(NewCentre());
  Open(server->port());
  auto ran = std::make_shared<Told<int>>();
  for (int i = 0; i < 50; ++i) {
    link_->Enqueue({[ran, i](Connection& connection, int64_t session) {
      ran->Add(i);
      return connection.Put(session, "/k", "v").outcome;
    }});
  }
  ASSERT_TRUE(ran->AwaitSize(50));
  const std::vector<int> order = ran->items();
  for (int i = 0; i < 50; ++i) EXPECT_EQ(order[i], i);
}

TEST_F(ServerLinkTest, WithdrawnRequestsDoNotRun) {
  Open(FreePort());
  std::atomic<bool> ran{false};
  const uint64_t id = link_->Enqueue({[&ran](Connection&, int64_t) {
    ran = true;
    return Outcome::kAnswered;
  }});
  EXPECT_TRUE(link_->Withdraw(id));
  EXPECT_FALSE(link_->Withdraw(id));
  EXPECT_TRUE(absl::IsUnavailable(link_->WhyNotConnected()));
  EXPECT_FALSE(link_->connected());
  link_->Close();
  EXPECT_FALSE(ran);
}

// What the server did not know is done in the next session, repeatable or not.
TEST_F(ServerLinkTest, ARequestOfALostSessionRunsInTheNext) {
  auto centre = NewCentre();
  auto server = StartServer(centre);
  const uint16_t port = server->port();
  Open(port);
  ASSERT_TRUE(ids_->AwaitSize(1));
  server.reset();
  auto sessions = std::make_shared<Told<int64_t>>();
  ServerLink::Request request;
  request.repeatable = false;
  request.run = [sessions](Connection& connection, int64_t session) {
    const Outcome outcome = connection.Put(session, "/k", "v").outcome;
    if (outcome == Outcome::kAnswered) sessions->Add(session);
    return outcome;
  };
  link_->Enqueue(std::move(request));
  server = StartServer(centre, {}, port);
  ASSERT_TRUE(sessions->AwaitSize(1));
  EXPECT_NE(sessions->items()[0], ids_->items()[0]);
  ASSERT_TRUE(
      events_->Await([](const auto& events) { return Has(events, SessionEvent::kNewSession); }));
  EXPECT_EQ(ids_->items().back(), sessions->items()[0]);
}

TEST_F(ServerLinkTest, CloseTellsTheServer) {
  auto server = StartServer(NewCentre());
  Open(server->port());
  ASSERT_TRUE(events_->AwaitSize(1));
  EXPECT_EQ(server->session_count(), 1u);
  EXPECT_TRUE(link_->connected());
  link_->Close();
  link_->Close();
  EXPECT_EQ(server->session_count(), 0u);
  EXPECT_FALSE(link_->connected());
  EXPECT_TRUE(link_->closed());
  // Dropped, not kept.
  link_->Enqueue({[](Connection&, int64_t) { return Outcome::kAnswered; }});
}

// The polls keep the session, however long nothing happens.
TEST_F(ServerLinkTest, AnIdleSessionLives) {
  auto server = StartServer(NewCentre());
  Open(server->port(), absl::Milliseconds(2500));
  ASSERT_TRUE(events_->AwaitSize(1));
  const absl::Duration end = Clock::Real().MonotonicNow() + absl::Seconds(6);
  EXPECT_TRUE(WaitUntil([&] { return Clock::Real().MonotonicNow() > end; }));
  EXPECT_EQ(events_->size(), 1u);
  EXPECT_EQ(server->session_count(), 1u);
}

}  // namespace
}  // namespace server_internal
}  // namespace signpost

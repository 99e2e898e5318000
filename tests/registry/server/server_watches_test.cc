// What watches and session events of a client tell over lost connections, lost sessions and
// restarted servers.
#include "signpost/registry/server/server_watches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/registry/server/server_test.h"
#include "tests/support/tcp_proxy.h"

namespace signpost {
namespace {

bool LastIs(const std::vector<absl::StatusOr<StoreValue>>& told, const std::string& value) {
  return !told.empty() && told.back().ok() && told.back()->value == value;
}

void ExpectTree(ToldDeltas& told, const Tree& want) {
  EXPECT_TRUE(told.Await([&](const auto& deltas) {
    return !deltas.empty() && deltas.back().ok() && Fold(deltas) == want;
  }));
  EXPECT_EQ(Fold(told.items()), want);
}

// One client that watches through a proxy, another beside it.
class ServerWatchesTest : public testing::Test {
 protected:
  void Start(const std::string& parameters = "session=20000", RegistryServerOptions options = {}) {
    options_ = options;
    server_ = StartServer(centre_, options_);
    port_ = server_->port();
    proxy_ = std::make_unique<TcpProxy>(port_);
    fixture_ = std::make_unique<AddressFixture>(proxy_->address(), parameters);
    client_ = std::make_unique<Handle>(*fixture_, "client");
    subscriptions_.push_back(client_->WatchSession(events_));
    subscriptions_.push_back(client_->Watch("/p/k", values_));
    subscriptions_.push_back(client_->WatchTree("/p", deltas_));
    ASSERT_TRUE(events_->AwaitSize(1));
    ASSERT_TRUE(values_->AwaitSize(1));
    ASSERT_TRUE(deltas_->AwaitSize(1));
  }

  // Writes past the client, straight into the centre.
  void Put(const std::string& key, const std::string& value) {
    auto executor = NewSerialExecutor("put");
    const auto store = NewLocalStore(centre_, executor, LocalAnswers::kAtOnce);
    bool good = false;
    store->Put(key, value, CallOptions(), [&](auto version) { good = version.ok(); });
    ASSERT_TRUE(good);
  }

  void Restart(std::shared_ptr<LocalCentre> centre) {
    server_->Stop();
    server_.reset();
    centre_ = std::move(centre);
    server_ = StartServer(centre_, options_, port_);
    ASSERT_NE(server_, nullptr);
  }

  bool AwaitEvent(SessionEvent event) {
    return events_->Await([event](const auto& events) { return Has(events, event); });
  }

  std::shared_ptr<LocalCentre> centre_ = NewCentre();
  RegistryServerOptions options_;
  std::unique_ptr<RegistryServer> server_;
  uint16_t port_ = 0;
  std::unique_ptr<TcpProxy> proxy_;
  std::unique_ptr<AddressFixture> fixture_;
  std::unique_ptr<Handle> client_;
  std::shared_ptr<ToldEvents> events_ = std::make_shared<ToldEvents>();
  std::shared_ptr<ToldValues> values_ = std::make_shared<ToldValues>();
  std::shared_ptr<ToldDeltas> deltas_ = std::make_shared<ToldDeltas>();
  std::vector<Subscription> subscriptions_;
};

TEST_F(ServerWatchesTest, ALostConnectionLosesNothing) {
  Start();
  ASSERT_TRUE(client_->Bind("/p/bound", "b").ok());
  ExpectTree(*deltas_, {{"bound", "b"}});
  for (int round = 0; round < 5; ++round) {
    const std::string value = absl::StrCat("v", round);
    const size_t events = events_->size();
    proxy_->Break();
    ASSERT_TRUE(events_->AwaitSize(events + 1));
    EXPECT_EQ(events_->items()[events], SessionEvent::kDisconnected);
    EXPECT_FALSE(client_->store().IsAvailable());
    Put("/p/k", value);
    Put(absl::StrCat("/p/n", round), "new");
    proxy_->Restore();
    ASSERT_TRUE(events_->AwaitSize(events + 2));
    EXPECT_EQ(events_->items()[events + 1], SessionEvent::kConnected);
    EXPECT_TRUE(values_->Await([&](const auto& told) { return LastIs(told, value); }));
    EXPECT_TRUE(deltas_->Await([&](const auto& told) {
      const Tree tree = Fold(told);
      return tree.count("k") > 0 && tree.at("k") == value &&
             tree.count(absl::StrCat("n", round)) > 0;
    }));
  }
  // The same session: nothing was lost, and no error was told.
  EXPECT_FALSE(Has(events_->items(), SessionEvent::kExpired));
  EXPECT_TRUE(client_->Get("/p/bound")->owned);
  for (const auto& delta : deltas_->items()) EXPECT_TRUE(delta.ok()) << delta.status();
}

TEST_F(ServerWatchesTest, CallsGoOnOverALostConnection) {
  Start();
  for (int round = 0; round < 5; ++round) {
    proxy_->Break();
    ASSERT_TRUE(WaitUntil([&] { return !client_->store().IsAvailable(); }));
    proxy_->Restore();
    CallOptions options;
    options.timeout = absl::Seconds(20);
    // What was never sent, or found its connection closed, is no error.
    EXPECT_TRUE(client_->Bind("/p/bound", "b").ok());
    const auto put = client_->Put("/p/k", "v", options);
    EXPECT_TRUE(put.ok()) << put.status();
    EXPECT_TRUE(client_->Get("/p/k", options).ok());
  }
}

TEST_F(ServerWatchesTest, ARestartedServerWithTheSameDataChangesNothing) {
  Put("/p/k", "v");
  Put("/p/x", "1");
  Start();
  ExpectTree(*deltas_, {{"k", "v"}, {"x", "1"}});
  const size_t values = values_->size();
  const size_t deltas = deltas_->size();
  Restart(centre_);
  ASSERT_TRUE(AwaitEvent(SessionEvent::kNewSession));
  // A server that is stopped may say so, or just be gone.
  std::vector<SessionEvent> events = events_->items();
  events.erase(std::remove(events.begin(), events.end(), SessionEvent::kDisconnected),
               events.end());
  EXPECT_EQ(events, (std::vector<SessionEvent>{SessionEvent::kConnected, SessionEvent::kExpired,
                                               SessionEvent::kNewSession}));
  // Something to wait for; nothing was told before it.
  Put("/p/y", "2");
  ASSERT_TRUE(deltas_->AwaitSize(deltas + 1));
  const auto told = deltas_->items()[deltas];
  ASSERT_TRUE(told.ok()) << told.status();
  ASSERT_EQ(told->added.size(), 1u);
  EXPECT_EQ(told->added[0].name, "y");
  EXPECT_TRUE(told->changed.empty());
  EXPECT_TRUE(told->removed.empty());
  EXPECT_EQ(values_->size(), values);
}

// Versions start anew: the same number does not mean the same value.
TEST_F(ServerWatchesTest, AnEmptyServerIsToldAsWhatDiffers) {
  Put("/p/k", "old");
  Put("/p/gone", "1");
  Start();
  ExpectTree(*deltas_, {{"k", "old"}, {"gone", "1"}});
  const int64_t version = values_->items().back()->version;
  auto empty = NewCentre();
  std::swap(centre_, empty);
  Put("/p/k", "new");
  std::swap(centre_, empty);
  Restart(empty);
  ASSERT_TRUE(values_->Await([](const auto& told) { return LastIs(told, "new"); }));
  EXPECT_EQ(values_->items().back()->version, version);
  ExpectTree(*deltas_, {{"k", "new"}});
  const auto last = deltas_->items().back();
  EXPECT_EQ(last->changed.size(), 1u);
  EXPECT_EQ(last->removed, std::vector<std::string>{"gone"});
  EXPECT_TRUE(last->added.empty());
}

TEST_F(ServerWatchesTest, AnEmptyServerWithNothing) {
  Put("/p/k", "v");
  Start();
  ExpectTree(*deltas_, {{"k", "v"}});
  Restart(NewCentre());
  ExpectTree(*deltas_, {});
  EXPECT_TRUE(
      values_->Await([](const auto& told) { return absl::IsNotFound(told.back().status()); }));
}

// Without a connection for `timeout`: told once. What it knew holds again afterwards.
TEST_F(ServerWatchesTest, NoConnectionIsToldOnce) {
  Put("/p/k", "v");
  Start("session=20000&timeout=1000");
  const size_t values = values_->size();
  const size_t deltas = deltas_->size();
  proxy_->Break();
  ASSERT_TRUE(values_->AwaitSize(values + 1));
  ASSERT_TRUE(deltas_->AwaitSize(deltas + 1));
  const absl::Status told = values_->items().back().status();
  EXPECT_TRUE(absl::IsUnavailable(told)) << told;
  EXPECT_NE(told.message().find("/p/k"), std::string::npos) << told;
  EXPECT_TRUE(absl::IsUnavailable(deltas_->items().back().status()));
  // A new watch is told at once.
  auto late = std::make_shared<ToldValues>();
  subscriptions_.push_back(client_->Watch("/p/k", late));
  ASSERT_TRUE(late->AwaitSize(1));
  EXPECT_TRUE(absl::IsUnavailable(late->items()[0].status()));
  proxy_->Restore();
  ASSERT_TRUE(values_->AwaitSize(values + 2));
  ASSERT_TRUE(deltas_->AwaitSize(deltas + 2));
  EXPECT_TRUE(LastIs(values_->items(), "v"));
  EXPECT_TRUE(deltas_->items().back().ok());
  EXPECT_TRUE(late->Await([](const auto& items) { return LastIs(items, "v"); }));
  ExpectTree(*deltas_, {{"k", "v"}});
  // Once for each time.
  EXPECT_EQ(values_->size(), values + 2);
  proxy_->Break();
  ASSERT_TRUE(values_->AwaitSize(values + 3));
  EXPECT_TRUE(absl::IsUnavailable(values_->items().back().status()));
}

TEST_F(ServerWatchesTest, AWatchBegunWithoutAServerIsToldAndGoesOn) {
  const uint16_t port = FreePort();
  AddressFixture fixture(absl::StrCat("127.0.0.1:", port), "session=20000&timeout=200");
  Handle handle(fixture, "early");
  subscriptions_.push_back(handle.Watch("/p/k", values_));
  subscriptions_.push_back(handle.WatchTree("/p", deltas_));
  subscriptions_.push_back(handle.WatchSession(events_));
  ASSERT_TRUE(values_->AwaitSize(1));
  ASSERT_TRUE(deltas_->AwaitSize(1));
  EXPECT_TRUE(absl::IsUnavailable(values_->items()[0].status()));
  EXPECT_TRUE(absl::IsUnavailable(deltas_->items()[0].status()));
  EXPECT_EQ(events_->size(), 0u);
  Put("/p/k", "v");
  server_ = StartServer(centre_, {}, port);
  EXPECT_TRUE(values_->Await([](const auto& told) { return LastIs(told, "v"); }));
  ExpectTree(*deltas_, {{"k", "v"}});
  ASSERT_TRUE(events_->AwaitSize(1));
  EXPECT_EQ(events_->items()[0], SessionEvent::kConnected);
  subscriptions_.clear();
}

TEST_F(ServerWatchesTest, SubscribersOfOneKeyShareItsWatch) {
  Start();
  const size_t watches = centre_->watch_count();
  std::vector<std::shared_ptr<ToldValues>> told;
  for (int i = 0; i < 10; ++i) {
    told.push_back(std::make_shared<ToldValues>());
    subscriptions_.push_back(client_->Watch("/p/k", told.back()));
    ASSERT_TRUE(told.back()->AwaitSize(1));
  }
  EXPECT_EQ(centre_->watch_count(), watches);
  Put("/p/k", "v");
  for (const auto& each : told) {
    EXPECT_TRUE(each->Await([](const auto& items) { return LastIs(items, "v"); }));
  }
}

TEST_F(ServerWatchesTest, TooManyWatchesAreToldSo) {
  RegistryServerOptions options;
  options.max_watches = 2;
  Start("session=20000", options);
  auto third = std::make_shared<ToldValues>();
  subscriptions_.push_back(client_->Watch("/other", third));
  ASSERT_TRUE(third->AwaitSize(1));
  EXPECT_TRUE(absl::IsResourceExhausted(third->items()[0].status())) << third->items()[0].status();
  // The others are none the worse.
  Put("/p/k", "v");
  EXPECT_TRUE(values_->Await([](const auto& told) { return LastIs(told, "v"); }));
}

// A tree that is told in many pieces arrives as one delta.
TEST_F(ServerWatchesTest, ALargeTreeIsOneDelta) {
  for (int i = 0; i < 60; ++i) Put(absl::StrCat("/p/", i), std::string(200'000, 'x'));
  Start();
  ASSERT_EQ(deltas_->size(), 1u);
  ASSERT_TRUE(deltas_->items()[0].ok());
  EXPECT_EQ(deltas_->items()[0]->added.size(), 60u);
}

// The executor is held up for longer than the session's time to live.
TEST_F(ServerWatchesTest, ASlowExecutorKeepsTheSession) {
  Start("session=2000");
  ASSERT_TRUE(client_->Bind("/p/bound", "b").ok());
  client_->OnExecutor([&] {
    const absl::Duration end = Clock::Real().MonotonicNow() + absl::Milliseconds(4500);
    for (int i = 0; Clock::Real().MonotonicNow() < end; ++i) {
      Put("/p/k", absl::StrCat(i));
      poll(nullptr, 0, 20);
    }
  });
  Put("/p/k", "end");
  EXPECT_TRUE(values_->Await([](const auto& told) { return LastIs(told, "end"); }));
  EXPECT_FALSE(Has(events_->items(), SessionEvent::kExpired));
  EXPECT_TRUE(client_->Get("/p/bound").ok());
  // What it had no time for became few changes.
  EXPECT_LT(values_->size(), 20u);
}

}  // namespace
}  // namespace signpost

#include "signpost/registry/server/registry_server.h"

#include <gtest/gtest.h>
#include <thrift/transport/TSocket.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "signpost/common/manual_executor.h"
#include "signpost/common/thrift/frames.h"
#include "signpost/registry/server/wire.h"
#include "tests/registry/server/server_test.h"

namespace signpost {
namespace {

using apache::thrift::transport::TSocket;

// The protocol without the library's client.
class WireClient {
 public:
  explicit WireClient(uint16_t port)
      : socket_(std::make_shared<TSocket>("127.0.0.1", port)),
        client_(NewThriftProtocol(NewThriftFrames(socket_, 1 << 20), 1 << 20)) {
    socket_->open();
    socket_->setRecvTimeout(20000);
  }
  int64_t Open(int64_t ttl_ms = 20000) {
    server_wire::Opened opened;
    client_.open(opened, server_internal::kProtocolVersion, ttl_ms);
    return opened.session;
  }
  // One that lives for all of `ttl_ms`: without a poll it ends soon.
  int64_t OpenAndPoll(int64_t ttl_ms) {
    const int64_t session = Open(ttl_ms);
    std::vector<server_wire::Event> events;
    client_.poll(events, session, 0, 0, /*fetch=*/false);
    return session;
  }
  server_wire::RegistryServiceClient* operator->() { return &client_; }
  TSocket& socket() { return *socket_; }

 private:
  std::shared_ptr<TSocket> socket_;
  server_wire::RegistryServiceClient client_;
};

// Whether the server still answers.
void ExpectAlive(RegistryServer& server) {
  WireClient client(server.port());
  const int64_t session = client.Open();
  EXPECT_GT(client->put(session, "/alive", "v"), 0);
  client->close(session);
}

std::string Frame(const std::string& body) {
  std::string frame;
  for (int shift = 24; shift >= 0; shift -= 8) {
    frame.push_back(static_cast<char>(body.size() >> shift));
  }
  return frame + body;
}

TEST(RegistryServerTest, TellsItsPortAndIsOnTheLoopback) {
  auto server = StartServer(NewCentre());
  EXPECT_NE(server->port(), 0);
  EXPECT_EQ(server->address(), absl::StrCat("127.0.0.1:", server->port()));
  ExpectAlive(*server);
}

TEST(RegistryServerTest, ATakenPortIsNamed) {
  auto server = StartServer(NewCentre());
  RegistryServerOptions options;
  options.port = server->port();
  const auto second = RegistryServer::Start(NewCentre(), options);
  ASSERT_FALSE(second.ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(second.status())) << second.status();
  EXPECT_NE(second.status().message().find(server->address()), std::string::npos);
  ExpectAlive(*server);
}

TEST(RegistryServerTest, AnotherVersionIsRefused) {
  auto server = StartServer(NewCentre());
  WireClient client(server->port());
  server_wire::Opened opened;
  try {
    client->open(opened, 99, 20000);
    ADD_FAILURE() << "version 99 was taken";
  } catch (const server_wire::Refused& refused) {
    const absl::Status status = server_internal::FromWire(refused);
    EXPECT_TRUE(absl::IsFailedPrecondition(status));
    EXPECT_NE(status.message().find("version 1"), std::string::npos) << status;
    EXPECT_NE(status.message().find("99"), std::string::npos) << status;
  }
  EXPECT_EQ(server->session_count(), 0u);
  // The connection is good for another try.
  EXPECT_GT(client.Open(), 0);
}

TEST(RegistryServerTest, AnUnknownSessionIsSaidSo) {
  auto server = StartServer(NewCentre());
  WireClient client(server->port());
  std::vector<server_wire::Event> events;
  server_wire::Value value;
  EXPECT_THROW(client->poll(events, 42, 0, 0, true), server_wire::UnknownSession);
  EXPECT_THROW(client->get(value, 42, "/k"), server_wire::UnknownSession);
  EXPECT_THROW(client->watch(42, 1, true, "/"), server_wire::UnknownSession);
  client->close(42);
  const int64_t session = client.Open();
  client->close(session);
  EXPECT_THROW(client->bind(session, "/k", "v"), server_wire::UnknownSession);
}

TEST(RegistryServerTest, TimeToLiveIsKeptInBounds) {
  RegistryServerOptions options;
  options.min_ttl = absl::Seconds(2);
  options.max_ttl = absl::Seconds(5);
  auto server = StartServer(NewCentre(), options);
  WireClient client(server->port());
  server_wire::Opened opened;
  for (const auto& [asked, granted] : std::vector<std::pair<int64_t, int64_t>>{
           {-5, 2000}, {0, 2000}, {3000, 3000}, {INT64_MAX, 5000}, {INT64_MIN, 2000}}) {
    client->open(opened, server_internal::kProtocolVersion, asked);
    EXPECT_EQ(opened.ttl_ms, granted) << asked;
  }
}

// A client that is gone: its keys stay for its time to live and no longer.
TEST(RegistryServerTest, ASessionWithoutPollsEnds) {
  SimulatedClock clock;
  auto timers = std::make_shared<ManualExecutor>(clock);
  RegistryServerOptions options;
  options.timers = timers;
  auto server = StartServer(NewCentre(), options);
  WireClient other(server->port());
  const int64_t reader = other.OpenAndPoll(3600000);
  {
    WireClient client(server->port());
    client->bind(client.OpenAndPoll(10000), "/bound", "v");
  }
  timers->AdvanceAndRun(absl::Seconds(9));
  EXPECT_TRUE(other->exists(reader, "/bound"));
  timers->AdvanceAndRun(absl::Seconds(2));
  EXPECT_FALSE(other->exists(reader, "/bound"));
  EXPECT_EQ(server->session_count(), 1u);
}

// After a kill: what the clients of the process before had bound.
TEST(RegistryServerTest, LeftBehindKeysStayUntilTheirOwnersHadTimeToComeBack) {
  KeyValue::Record record;
  record.value = "v";
  record.version = 5;
  auto data = std::make_unique<MapKeyValue>();
  ASSERT_TRUE(data->Write({{"/kept", record}}, 5).ok());
  record.session = 1;
  ASSERT_TRUE(data->Write({{"/back", record}, {"/dead", record}}, 5).ok());
  SimulatedClock clock;
  auto timers = std::make_shared<ManualExecutor>(clock);
  RegistryServerOptions options;
  options.timers = timers;
  auto server =
      StartServer(std::make_shared<LocalCentre>(std::move(data), LocalCentre::Options()), options);
  WireClient client(server->port());
  const int64_t session = client.OpenAndPoll(3600000);
  EXPECT_TRUE(client->exists(session, "/back"));
  EXPECT_TRUE(client->exists(session, "/dead"));
  client->bind(session, "/back", "w");
  timers->AdvanceAndRun(options.left_behind - absl::Milliseconds(1));
  EXPECT_TRUE(client->exists(session, "/dead"));
  timers->AdvanceAndRun(absl::Milliseconds(1));
  EXPECT_FALSE(client->exists(session, "/dead"));
  EXPECT_TRUE(client->exists(session, "/kept"));
  server_wire::Value value;
  client->get(value, session, "/back");
  EXPECT_TRUE(value.owned);
}

TEST(RegistryServerTest, AStartThatFailedLeavesWhatClientsHaveBound) {
  KeyValue::Record record;
  record.value = "v";
  record.version = 5;
  record.session = 1;
  auto data = std::make_unique<MapKeyValue>();
  ASSERT_TRUE(data->Write({{"/bound", record}}, 5).ok());
  auto centre = std::make_shared<LocalCentre>(std::move(data), LocalCentre::Options());
  auto other = StartServer(NewCentre());
  SimulatedClock clock;
  auto timers = std::make_shared<ManualExecutor>(clock);
  RegistryServerOptions options;
  options.timers = timers;
  options.port = other->port();
  ASSERT_FALSE(RegistryServer::Start(centre, options).ok());
  timers->AdvanceAndRun(options.left_behind);
  auto server = StartServer(centre, options);
  WireClient client(server->port());
  const int64_t session = client.OpenAndPoll(3600000);
  EXPECT_TRUE(client->exists(session, "/bound"));
  timers->AdvanceAndRun(options.left_behind);
  EXPECT_FALSE(client->exists(session, "/bound"));
}

TEST(RegistryServerTest, SessionsAreBounded) {
  RegistryServerOptions options;
  options.max_sessions = 2;
  auto server = StartServer(NewCentre(), options);
  WireClient client(server->port());
  const int64_t first = client.Open();
  client.Open();
  EXPECT_THROW(client.Open(), server_wire::Refused);
  client->close(first);
  EXPECT_GT(client.Open(), 0);
}

// A disk that hangs: the first write after `fail` fails, the next waits.
class HangingKeyValue final : public KeyValue {
 public:
  struct Switch {
    std::atomic<bool> fail{false};
    std::atomic<bool> hang{false};
    std::promise<void> hangs;
    std::promise<void> go_on;
  };
  explicit HangingKeyValue(std::shared_ptr<Switch> how) : how_(std::move(how)) {}
  int64_t last_version() const override { return map_.last_version(); }
  absl::StatusOr<std::optional<Record>> Get(const std::string& key) const override {
    return map_.Get(key);
  }
  absl::Status Write(const std::vector<Change>& changes, int64_t last_version) override {
    if (how_->fail.exchange(false)) return absl::UnavailableError("disk full");
    if (how_->hang.exchange(false)) {
      how_->hangs.set_value();
      how_->go_on.get_future().wait_for(std::chrono::seconds(20));
    }
    return map_.Write(changes, last_version);
  }
  absl::Status Scan(const std::string& prefix, Visitor visit) const override {
    return map_.Scan(prefix, visit);
  }

 private:
  const std::shared_ptr<Switch> how_;
  MapKeyValue map_;
};

TEST(RegistryServerTest, OpeningWaitsForTheCentreAlone) {
  auto disk = std::make_shared<HangingKeyValue::Switch>();
  auto server = StartServer(std::make_shared<LocalCentre>(std::make_unique<HangingKeyValue>(disk),
                                                          LocalCentre::Options()));
  WireClient client(server->port());
  const int64_t session = client.Open();
  WireClient dead(server->port());
  const int64_t bound = dead.Open();
  dead->bind(bound, "/bound", "v");
  disk->fail = true;
  dead->close(bound);
  // Drops the key that stayed.
  disk->hang = true;
  auto opening = std::async(std::launch::async, [&] { return dead.Open(); });
  disk->hangs.get_future().wait();
  auto polled = std::async(std::launch::async, [&] {
    std::vector<server_wire::Event> events;
    client->poll(events, session, 0, 0, /*fetch=*/false);
  });
  EXPECT_EQ(polled.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  disk->go_on.set_value();
  EXPECT_GT(opening.get(), 0);
  EXPECT_EQ(server->session_count(), 2u);
}

TEST(RegistryServerTest, KeysThatAFullDiskKeptGoThoughNobodyWrites) {
  auto disk = std::make_shared<HangingKeyValue::Switch>();
  SimulatedClock clock;
  auto timers = std::make_shared<ManualExecutor>(clock);
  RegistryServerOptions options;
  options.timers = timers;
  auto server = StartServer(std::make_shared<LocalCentre>(std::make_unique<HangingKeyValue>(disk),
                                                          LocalCentre::Options()),
                            options);
  WireClient client(server->port());
  const int64_t reader = client.OpenAndPoll(3600000);
  const int64_t bound = client.Open();
  client->bind(bound, "/bound", "v");
  disk->fail = true;
  client->close(bound);
  EXPECT_TRUE(client->exists(reader, "/bound"));
  disk->fail = true;
  timers->AdvanceAndRun(absl::Seconds(5));
  EXPECT_TRUE(client->exists(reader, "/bound"));
  timers->AdvanceAndRun(absl::Seconds(5));
  EXPECT_FALSE(client->exists(reader, "/bound"));
}

TEST(RegistryServerTest, ConnectionsAreBounded) {
  RegistryServerOptions options;
  options.max_connections = 2;
  auto server = StartServer(NewCentre(), options);
  auto first = std::make_unique<RawConnection>(server->port());
  RawConnection second(server->port());
  ASSERT_TRUE(WaitUntil([&] { return server->connection_count() == 2; }));
  RawConnection third(server->port());
  EXPECT_TRUE(third.Closed());
  first.reset();
  ASSERT_TRUE(WaitUntil([&] { return server->connection_count() == 1; }));
  ExpectAlive(*server);
}

TEST(RegistryServerTest, WhoSaysNothingIsCutOff) {
  RegistryServerOptions options;
  options.idle_timeout = absl::Milliseconds(200);
  auto server = StartServer(NewCentre(), options);
  RawConnection silent(server->port());
  EXPECT_TRUE(silent.Closed());
  // In the middle of a frame, and of its length.
  RawConnection half(server->port());
  EXPECT_TRUE(half.Send(std::string("\0\0\0\x64half", 8)));
  EXPECT_TRUE(half.Closed());
  RawConnection less(server->port());
  EXPECT_TRUE(less.Send(std::string("\0\0", 2)));
  EXPECT_TRUE(less.Closed());
  EXPECT_TRUE(WaitUntil([&] { return server->connection_count() == 0; }));
  ExpectAlive(*server);
}

TEST(RegistryServerTest, AWaitingPollIsNotIdle) {
  RegistryServerOptions options;
  options.idle_timeout = absl::Milliseconds(100);
  auto server = StartServer(NewCentre(), options);
  WireClient client(server->port());
  const int64_t session = client.Open();
  std::vector<server_wire::Event> events;
  client->poll(events, session, 0, 500, true);
  EXPECT_TRUE(events.empty());
}

TEST(RegistryServerTest, HostileBytesEndTheirConnectionOnly) {
  RegistryServerOptions options;
  options.max_frame_bytes = 64 << 10;
  options.idle_timeout = absl::Seconds(1);
  auto server = StartServer(NewCentre(), options);
  const std::string call("\x80\x01\x00\x01", 4);
  std::vector<std::string> hostile = {
      "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
      std::string("\x7f\xff\xff\xff", 4),
      std::string("\xff\xff\xff\xff", 4),
      std::string("\x80\x00\x00\x00", 4),
      std::string("\x00\x01\x00\x01", 4),  // one byte above the limit
      std::string(4, '\0'),
      Frame("\x01"),
      Frame(std::string(1000, '\0')),
      Frame(std::string(1000, '\xff')),
      Frame(call),
      // A method name of 2 GiB.
      Frame(call + std::string("\x7f\xff\xff\xff", 4)),
      Frame(call + std::string("\xff\xff\xff\xff", 4)),
      // put: its key, field 2, has 2 GiB.
      Frame(call + std::string("\0\0\0\x03put\0\0\0\1\x0b\0\2\x7f\xff\xff\xff", 18)),
      // open: an unknown field, a list of lists of 2^31 structs.
      Frame(call + std::string("\0\0\0\x04open\0\0\0\1\x0f\0\x09\x0c\x7f\xff\xff\xff", 20)),
      // open: structs in structs without end.
      Frame(call + std::string("\0\0\0\x04open\0\0\0\1", 12) +
            [] {
              std::string deep;
              for (int i = 0; i < 20000; ++i) deep += std::string("\x0c\0\x09", 3);
              return deep;
            }()),
  };
  std::mt19937 random(4711);
  for (int i = 0; i < 200; ++i) {
    std::string bytes(random() % 300, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    hostile.push_back(i % 2 == 0 ? bytes : Frame(call + bytes));
  }
  std::vector<std::unique_ptr<RawConnection>> connections;
  for (const std::string& bytes : hostile) {
    connections.push_back(std::make_unique<RawConnection>(server->port()));
    ASSERT_TRUE(connections.back()->connected());
    connections.back()->Send(bytes);
  }
  ExpectAlive(*server);
  // None hangs: what is no end by itself is idle soon.
  for (auto& connection : connections) EXPECT_TRUE(connection->Closed());
  EXPECT_TRUE(WaitUntil([&] { return server->connection_count() == 0; }));
  ExpectAlive(*server);
}

// Half a request and then the end, many times.
TEST(RegistryServerTest, BrokenOffRequestsLeaveNothing) {
  auto server = StartServer(NewCentre());
  const std::string request =
      Frame(std::string("\x80\x01\x00\x01\0\0\0\x04open\0\0\0\1\x08\0\1\0\0\0\1\0", 24));
  for (size_t length = 0; length < request.size(); ++length) {
    RawConnection connection(server->port());
    connection.Send(request.substr(0, length));
  }
  EXPECT_TRUE(WaitUntil([&] { return server->connection_count() == 0; }));
  EXPECT_EQ(server->session_count(), 0u);
  ExpectAlive(*server);
}

TEST(RegistryServerTest, ARequestAboveTheFrameLimitEndsItsConnection) {
  RegistryServerOptions options;
  options.max_frame_bytes = 64 << 10;
  auto server = StartServer(NewCentre(), options);
  WireClient client(server->port());
  const int64_t session = client.Open();
  EXPECT_GT(client->put(session, "/k", std::string(60 << 10, 'x')), 0);
  EXPECT_ANY_THROW(client->put(session, "/k", std::string(65 << 10, 'x')));
  ExpectAlive(*server);
}

// The limit is one of a request, not of all of a connection.
TEST(RegistryServerTest, AConnectionLastsHoweverMuchWentOverIt) {
  RegistryServerOptions options;
  options.max_frame_bytes = 64 << 10;
  auto server = StartServer(NewCentre(), options);
  WireClient client(server->port());
  const int64_t session = client.Open();
  const std::string value(40 << 10, 'x');
  server_wire::Value read;
  for (int i = 0; i < 50; ++i) {
    client->put(session, "/k", value);
    client->get(read, session, "/k");
    ASSERT_EQ(read.value.size(), value.size());
  }
}

TEST(RegistryServerTest, StopEndsSessionsAndConnections) {
  auto centre = NewCentre();
  auto server = StartServer(centre);
  WireClient client(server->port());
  const int64_t session = client.Open();
  client->bind(session, "/bound", "v");
  client->put(session, "/kept", "v");
  RawConnection idle(server->port());
  ASSERT_TRUE(WaitUntil([&] { return server->connection_count() == 2; }));
  auto waiting = std::async(std::launch::async, [&] {
    std::vector<server_wire::Event> events;
    try {
      client->poll(events, session, 0, 30000, true);
      return false;
    } catch (const std::exception&) {
      return true;
    }
  });
  server->Stop();
  server->Stop();
  EXPECT_TRUE(waiting.get());
  EXPECT_TRUE(idle.Closed());
  EXPECT_EQ(server->session_count(), 0u);
  EXPECT_FALSE(RawConnection(server->port()).connected());
  // What was persistent is there for the next, and what was bound until its owner had time.
  SimulatedClock clock;
  auto timers = std::make_shared<ManualExecutor>(clock);
  RegistryServerOptions options;
  options.timers = timers;
  auto next = StartServer(centre, options);
  WireClient again(next->port());
  const int64_t other = again.OpenAndPoll(3600000);
  EXPECT_TRUE(again->exists(other, "/kept"));
  EXPECT_TRUE(again->exists(other, "/bound"));
  timers->AdvanceAndRun(options.left_behind);
  EXPECT_TRUE(again->exists(other, "/kept"));
  EXPECT_FALSE(again->exists(other, "/bound"));
}

TEST(RegistryServerTest, ChildrenAboveTheAnswerLimitAreRefused) {
  auto server = StartServer(NewCentre());
  WireClient client(server->port());
  const int64_t session = client.Open();
  const std::string value(4 << 20, 'x');
  for (int i = 0; i < 17; ++i) client->put(session, absl::StrCat("/p/", i), value);
  std::vector<server_wire::Child> children;
  try {
    client->children(children, session, "/p");
    ADD_FAILURE() << "answered with " << children.size();
  } catch (const server_wire::Refused& refused) {
    EXPECT_TRUE(absl::IsResourceExhausted(server_internal::FromWire(refused)));
  }
}

}  // namespace
}  // namespace signpost

// The server against sockets that behave well, badly or not at all.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/json.h"
#include "signpost/common/tcp.h"
#include "signpost/metadata/dubbo/dubbo_metadata.h"
#include "signpost/metadata/published_metadata.h"
#include "tests/metadata/dubbo/frames.h"
#include "tests/support/raw_connection.h"

namespace signpost {
namespace {

using metadata_dubbo_internal::EncodeHeartbeat;
using metadata_dubbo_internal::EncodeHeartbeatAnswer;
using metadata_dubbo_internal::EncodeInvocation;
using metadata_dubbo_internal::FirstFrame;
using metadata_dubbo_internal::InfoIn;
using metadata_dubbo_internal::InfoOf;
using metadata_dubbo_internal::kDubboPayloadBytes;
using metadata_dubbo_internal::Parsed;
using metadata_dubbo_internal::QuestionFor;

constexpr absl::Duration kLong = absl::Seconds(20);
const std::atomic<bool> never{false};

std::string Question(uint64_t id, const std::string& revision) {
  return EncodeInvocation(id, QuestionFor(revision));
}

// A peer that speaks the protocol.
class Peer {
 public:
  explicit Peer(uint16_t port) {
    auto connection = TcpConnection::Connect("127.0.0.1", port, kLong, never);
    EXPECT_TRUE(connection.ok()) << connection.status();
    if (connection.ok()) connection_ = *std::move(connection);
  }
  bool Send(const std::string& bytes) {
    return connection_ != nullptr &&
           connection_->Send(bytes, Clock::Real().MonotonicNow() + kLong).ok();
  }
  // The next frame, whole; empty: the server has closed.
  std::string Next() {
    while (connection_ != nullptr) {
      const auto frame = FirstFrame(bytes_, kDubboPayloadBytes);
      if (!frame.ok()) return "";
      if (frame->has_value()) {
        std::string whole = bytes_.substr(0, (*frame)->bytes());
        bytes_.erase(0, whole.size());
        return whole;
      }
      const auto more = connection_->Receive(bytes_, Clock::Real().MonotonicNow() + kLong);
      if (!more.ok() || !*more) return "";
    }
    return "";
  }

 private:
  std::unique_ptr<TcpConnection> connection_;
  std::string bytes_;
};

class DubboMetadataServerTest : public testing::Test {
 protected:
  void Start(DubboMetadataOptions options = DubboMetadataOptions()) {
    options.host = "127.0.0.1";
    auto server = ServeDubboMetadata(published_, options);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    const auto params =
        Json::Parse(server_->InstanceMetadata()["dubbo.metadata-service.url-params"]);
    ASSERT_TRUE(params.ok());
    int32_t port = 0;
    ASSERT_TRUE(absl::SimpleAtoi((*params)["port"].AsString(), &port));
    port_ = static_cast<uint16_t>(port);
    EXPECT_NE(port_, 0);
  }
  // Large enough that the kernel does not take some of its answers off the server's hands.
  void PublishLarge(const std::string& revision) {
    MetadataInfo large = InfoOf(revision);
    large.services.begin()->second.params["text"] = std::string(7 << 20, 'x');
    published_->Publish(large, {});
  }
  bool Answers() {
    Peer peer(port_);
    return peer.Send(EncodeHeartbeat(1)) && !peer.Next().empty();
  }

  std::shared_ptr<PublishedMetadata> published_ =
      std::make_shared<PublishedMetadata>("shop", Clock::Real());
  std::unique_ptr<MetadataServer> server_;
  uint16_t port_ = 0;
};

TEST_F(DubboMetadataServerTest, TheInstanceSaysWhereItIs) {
  Start();
  auto metadata = server_->InstanceMetadata();
  EXPECT_EQ(metadata["meta-v"], "1.0.0");
  const auto params = Json::Parse(metadata["dubbo.metadata-service.url-params"]);
  ASSERT_TRUE(params.ok());
  EXPECT_EQ((*params)["protocol"].AsString(), "dubbo");
  EXPECT_EQ((*params)["version"].AsString(), "1.0.0");
  EXPECT_EQ((*params)["serialization"].AsString(), "hessian2");
  // Java and Go read texts only.
  for (const auto& [key, value] : params->AsObject()) EXPECT_TRUE(value.is_string()) << key;
}

TEST_F(DubboMetadataServerTest, AnswersOneAfterTheOther) {
  published_->Publish(InfoOf("r1"), {});
  published_->Publish(InfoOf("r2"), {});
  Start();
  Peer peer(port_);
  for (uint64_t id = 1; id < 50; ++id) {
    const std::string revision = absl::StrCat("r", id % 2 + 1);
    ASSERT_TRUE(peer.Send(Question(id, revision)));
    const std::string response = peer.Next();
    EXPECT_EQ(Parsed(response).id, id);
    const auto info = InfoIn(response);
    ASSERT_TRUE(info.ok()) << info.status();
    EXPECT_EQ(info->revision, revision);
    EXPECT_EQ(info->services, InfoOf(revision).services);
  }
}

TEST_F(DubboMetadataServerTest, RequestsMayComeOneBehindTheOther) {
  published_->Publish(InfoOf("r1"), {});
  Start();
  Peer peer(port_);
  std::string one_way = Question(3, "r1");
  one_way[2] = '\x82';
  ASSERT_TRUE(peer.Send(absl::StrCat(Question(1, "r1"), EncodeHeartbeat(2), one_way,
                                     Question(4, "unknown"), Question(5, "r1"))));
  EXPECT_TRUE(InfoIn(peer.Next()).ok());
  const std::string beat = EncodeHeartbeat(2);
  EXPECT_EQ(peer.Next(), EncodeHeartbeatAnswer(Parsed(beat)));
  const std::string unknown = peer.Next();
  EXPECT_EQ(Parsed(unknown).id, 4u);
  EXPECT_EQ(Parsed(unknown).status, metadata_dubbo_internal::kServiceError);
  const std::string last = peer.Next();
  EXPECT_EQ(Parsed(last).id, 5u);
  EXPECT_TRUE(InfoIn(last).ok());
}

TEST_F(DubboMetadataServerTest, ThousandsAtOnce) {
  Start();
  Peer peer(port_);
  std::string all;
  for (uint64_t id = 0; id < 2000; ++id) all += EncodeHeartbeat(id);
  ASSERT_TRUE(peer.Send(all));
  for (uint64_t id = 0; id < 2000; ++id) {
    const std::string response = peer.Next();
    ASSERT_FALSE(response.empty()) << id;
    ASSERT_EQ(Parsed(response).id, id);
  }
}

TEST_F(DubboMetadataServerTest, AFrameMayComeByteByByte) {
  published_->Publish(InfoOf("r1"), {});
  Start();
  Peer peer(port_);
  for (const char byte : Question(1, "r1")) ASSERT_TRUE(peer.Send(std::string(1, byte)));
  EXPECT_TRUE(InfoIn(peer.Next()).ok());
}

TEST_F(DubboMetadataServerTest, WhoSendsNoMoreGetsItsAnswer) {
  published_->Publish(InfoOf("r1"), {});
  Start();
  auto socket = ConnectTcp("127.0.0.1", port_, kLong, never);
  ASSERT_TRUE(socket.ok()) << socket.status();
  const std::string question = Question(1, "r1");
  ASSERT_EQ(send(socket->get(), question.data(), question.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(question.size()));
  ASSERT_EQ(shutdown(socket->get(), SHUT_WR), 0);
  std::string response;
  for (;;) {
    pollfd waiting{socket->get(), POLLIN, 0};
    ASSERT_EQ(poll(&waiting, 1, 20000), 1);
    char buffer[4096];
    const ssize_t received = recv(socket->get(), buffer, sizeof(buffer), 0);
    if (received <= 0) break;
    response.append(buffer, static_cast<size_t>(received));
  }
  EXPECT_TRUE(InfoIn(response).ok());
}

TEST_F(DubboMetadataServerTest, HostileBytesHarmOnlyTheirConnection) {
  published_->Publish(InfoOf("r1"), {});
  DubboMetadataOptions options;
  options.max_frame_bytes = 1024;
  Start(options);
  const std::string header("\xda\xbb\xc2\0\0\0\0\0\0\0\0\1", 12);
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string("ls\n"), std::string("\xda\xbc", 2),
        header + std::string("\0\0\4\1", 4), header + std::string("\x7f\xff\xff\xff", 4),
        header + std::string("\xff\xff\xff\xff", 4), Question(1, "r1") + "garbage"}) {
    RawConnection hostile(port_);
    EXPECT_TRUE(hostile.Send(bytes));
    EXPECT_TRUE(hostile.Closed()) << testing::PrintToString(bytes);
  }
  RawConnection half(port_);
  EXPECT_TRUE(half.Send(header + std::string("\0\0\1\0half", 8)));
  // A body that is none is answered, and the connection goes on.
  Peer peer(port_);
  EXPECT_TRUE(peer.Send(header + std::string("\0\0\0\3\xff\xff\xff", 7) + Question(2, "r1")));
  EXPECT_EQ(Parsed(peer.Next()).status, metadata_dubbo_internal::kBadRequest);
  EXPECT_TRUE(InfoIn(peer.Next()).ok());
}

TEST_F(DubboMetadataServerTest, SilentConnectionsAreClosed) {
  DubboMetadataOptions options;
  options.idle_timeout = absl::Milliseconds(200);
  Start(options);
  EXPECT_TRUE(RawConnection(port_).Closed());
  RawConnection half(port_);
  EXPECT_TRUE(half.Send("\xda\xbb"));
  EXPECT_TRUE(half.Closed());
}

TEST_F(DubboMetadataServerTest, BytesThatDripAreNoFrame) {
  DubboMetadataOptions options;
  options.idle_timeout = absl::Milliseconds(300);
  Start(options);
  RawConnection dripping(port_);
  EXPECT_TRUE(dripping.Send(std::string("\xda\xbb\xc2\0\0\0\0\0\0\0\0\1\0\0\x10\0", 16)));
  bool closed = false;
  for (int i = 0; i < 1000 && !closed; ++i) {
    closed = dripping.Closed(absl::Milliseconds(20)) || !dripping.Send("x");
  }
  EXPECT_TRUE(closed);
}

TEST_F(DubboMetadataServerTest, WhoDoesNotReadIsCutAndHoldsUpNobody) {
  PublishLarge("large");
  Start();
  auto lazy = ConnectTcp("127.0.0.1", port_, kLong, never);
  ASSERT_TRUE(lazy.ok()) << lazy.status();
  std::string questions;
  for (uint64_t id = 0; id < 10; ++id) questions += Question(id, "large");
  ASSERT_EQ(send(lazy->get(), questions.data(), questions.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(questions.size()));
  EXPECT_TRUE(Answers());
  pollfd cut{lazy->get(), POLLRDHUP, 0};
  EXPECT_EQ(poll(&cut, 1, 20000), 1);
  EXPECT_TRUE(Answers());
}

TEST_F(DubboMetadataServerTest, AnswersThatNobodyReadsAreBoundedTogether) {
  PublishLarge("large");
  DubboMetadataOptions options;
  options.max_unsent_bytes = 1 << 20;  // one of them is more
  Start(options);
  auto lazy = ConnectTcp("127.0.0.1", port_, kLong, never);
  ASSERT_TRUE(lazy.ok()) << lazy.status();
  std::string questions;
  for (uint64_t id = 0; id < 10; ++id) questions += Question(id, "large");
  ASSERT_EQ(send(lazy->get(), questions.data(), questions.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(questions.size()));
  // Others are told so until it is cut.
  const auto status = [&] {
    Peer peer(port_);
    EXPECT_TRUE(peer.Send(Question(7, "large")));
    const std::string response = peer.Next();
    return response.size() > 3 ? static_cast<int>(static_cast<uint8_t>(response[3])) : -1;
  };
  const absl::Duration end = Clock::Real().MonotonicNow() + kLong;
  int last = status();
  while (last != 100 && Clock::Real().MonotonicNow() < end) last = status();
  EXPECT_EQ(last, 100);
  while (last != 20 && Clock::Real().MonotonicNow() < end) last = status();
  EXPECT_EQ(last, 20);
}

TEST_F(DubboMetadataServerTest, MoreConnectionsThanTheBoundAreClosed) {
  DubboMetadataOptions options;
  options.max_connections = 2;
  Start(options);
  {
    Peer first(port_);
    Peer second(port_);
    for (Peer* peer : {&first, &second}) {
      ASSERT_TRUE(peer->Send(EncodeHeartbeat(1)));
      ASSERT_FALSE(peer->Next().empty());
    }
    EXPECT_TRUE(RawConnection(port_).Closed());
    ASSERT_TRUE(first.Send(EncodeHeartbeat(2)));
    EXPECT_FALSE(first.Next().empty());
  }
  // They have left: soon there is room again.
  const absl::Duration end = Clock::Real().MonotonicNow() + kLong;
  bool room = Answers();
  while (!room && Clock::Real().MonotonicNow() < end) room = Answers();
  EXPECT_TRUE(room);
}

TEST_F(DubboMetadataServerTest, AHundredConnectionsAreServed) {
  published_->Publish(InfoOf("r1"), {});
  Start();
  std::vector<std::unique_ptr<Peer>> peers;
  for (int i = 0; i < 100; ++i) peers.push_back(std::make_unique<Peer>(port_));
  for (uint64_t round = 0; round < 3; ++round) {
    for (const auto& peer : peers) ASSERT_TRUE(peer->Send(Question(round, "r1")));
    for (const auto& peer : peers) {
      const std::string response = peer->Next();
      ASSERT_FALSE(response.empty());
      EXPECT_EQ(Parsed(response).id, round);
      EXPECT_TRUE(InfoIn(response).ok());
    }
  }
}

TEST_F(DubboMetadataServerTest, ManyAskWhileItChanges) {
  published_->Publish(InfoOf("r0"), {});
  Start();
  std::vector<std::thread> askers;
  for (int i = 0; i < 4; ++i) {
    askers.emplace_back([this] {
      Peer peer(port_);
      for (uint64_t k = 0; k < 50; ++k) {
        EXPECT_TRUE(peer.Send(Question(k, "r0")));
        EXPECT_EQ(Parsed(peer.Next()).id, k);
      }
    });
  }
  for (int i = 1; i < 10; ++i) published_->Publish(InfoOf(absl::StrCat("r", i)), {});
  for (std::thread& asker : askers) asker.join();
}

TEST_F(DubboMetadataServerTest, ClosesDuringRequests) {
  published_->Publish(InfoOf("r1"), {});
  Start();
  std::atomic<int> answered{0};
  std::vector<std::unique_ptr<Peer>> peers;
  for (int i = 0; i < 4; ++i) peers.push_back(std::make_unique<Peer>(port_));
  std::vector<std::thread> askers;
  for (const auto& each : peers) {
    askers.emplace_back([&answered, &peer = *each] {
      for (uint64_t id = 0; peer.Send(Question(id, "r1")); ++id) {
        const std::string response = peer.Next();
        if (response.empty()) return;  // whole answers or none
        EXPECT_TRUE(InfoIn(response).ok());
        ++answered;
      }
    });
  }
  while (answered < 100) std::this_thread::yield();
  std::thread other([this] { server_->Close(); });
  server_->Close();
  other.join();
  for (std::thread& asker : askers) asker.join();
  const auto after = ConnectTcp("127.0.0.1", port_, kLong, never);
  EXPECT_TRUE(absl::IsUnavailable(after.status())) << after.status();
}

TEST_F(DubboMetadataServerTest, ClosesWithConnectionsOpen) {
  Start();
  RawConnection idle(port_);
  RawConnection half(port_);
  EXPECT_TRUE(half.Send("\xda"));
  EXPECT_TRUE(Answers());
  const absl::Duration start = Clock::Real().MonotonicNow();
  server_->Close();
  EXPECT_LT(Clock::Real().MonotonicNow() - start, absl::Seconds(4));
  EXPECT_TRUE(idle.Closed());
  EXPECT_TRUE(half.Closed());
}

// The end of a client is bounded, and this is only a part of it.
TEST_F(DubboMetadataServerTest, ClosesSoonWhileAPeerDoesNotReadItsAnswer) {
  PublishLarge("large");
  Start();
  RawConnection lazy(port_);
  for (uint64_t id = 0; id < 10; ++id) ASSERT_TRUE(lazy.Send(Question(id, "large")));
  EXPECT_TRUE(Answers());
  const absl::Duration start = Clock::Real().MonotonicNow();
  server_->Close();
  EXPECT_LT(Clock::Real().MonotonicNow() - start, absl::Seconds(4));
}

TEST_F(DubboMetadataServerTest, APortInUseIsAnError) {
  Start();
  DubboMetadataOptions options;
  options.host = "127.0.0.1";
  options.port = port_;
  const auto second = ServeDubboMetadata(published_, options);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition) << second.status();
}

}  // namespace
}  // namespace signpost

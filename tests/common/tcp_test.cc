#include "signpost/common/tcp.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "signpost/common/clock.h"
#include "tests/support/loopback.h"
#include "tests/support/raw_connection.h"
#include "tests/support/silent_port.h"

namespace signpost {
namespace {

const std::atomic<bool> never{false};

absl::Duration In(absl::Duration time) { return Clock::Real().MonotonicNow() + time; }
const absl::Duration kLong = absl::Seconds(20);

// Both ends of one connection.
struct Pair {
  Pair() {
    auto mine = TcpConnection::Connect("127.0.0.1", port.port(), kLong, never);
    EXPECT_TRUE(mine.ok()) << mine.status();
    connection = *std::move(mine);
    peer = FileDescriptor(accept(port.fd(), nullptr, nullptr));
    EXPECT_TRUE(static_cast<bool>(peer));
  }
  void Say(const std::string& text) {
    EXPECT_EQ(send(peer.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  SilentPort port;
  std::unique_ptr<TcpConnection> connection;
  FileDescriptor peer;
};

TEST(FileDescriptorTest, ClosesWhatItHas) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  FileDescriptor kept(ends[0]);
  FileDescriptor other(ends[1]);
  EXPECT_EQ(kept.get(), ends[0]);
  kept = std::move(other);
  EXPECT_FALSE(static_cast<bool>(other));
  EXPECT_EQ(kept.get(), ends[1]);
  // The other end of it is gone.
  char byte = 0;
  EXPECT_EQ(recv(kept.get(), &byte, 1, 0), 0);
  EXPECT_EQ(kept.Release(), ends[1]);
  EXPECT_FALSE(static_cast<bool>(kept));
  close(ends[1]);
}

TEST(FileDescriptorTest, KeepsErrnoForWhoTellsIt) {
  errno = EADDRINUSE;
  { const FileDescriptor invalid(1 << 20); }
  EXPECT_EQ(errno, EADDRINUSE);
}

TEST(TcpTest, KnowsHostsThatNeedNoLookUp) {
  EXPECT_TRUE(IsNumericHost("192.0.2.1"));
  EXPECT_TRUE(IsNumericHost("::1"));
  for (const char* name : {"localhost", "", "1.2.3", "[::1]"}) {
    EXPECT_FALSE(IsNumericHost(name)) << name;
  }
}

TEST(TcpTest, SendsAndReceives) {
  Pair pair;
  ASSERT_TRUE(pair.connection->Send("question", In(kLong)).ok());
  char buffer[16];
  ASSERT_EQ(recv(pair.peer.get(), buffer, sizeof(buffer), 0), 8);
  EXPECT_EQ(std::string(buffer, 8), "question");
  pair.Say("answer");
  std::string answer = "the ";
  const auto more = pair.connection->Receive(answer, In(kLong));
  ASSERT_TRUE(more.ok()) << more.status();
  EXPECT_TRUE(*more);
  EXPECT_EQ(answer, "the answer");
}

TEST(TcpTest, TheEndOfThePeerIsNoError) {
  Pair pair;
  pair.Say("last");
  pair.peer = FileDescriptor();
  std::string answer;
  ASSERT_TRUE(pair.connection->Receive(answer, In(kLong)).ok());
  EXPECT_EQ(answer, "last");
  const auto more = pair.connection->Receive(answer, In(kLong));
  ASSERT_TRUE(more.ok()) << more.status();
  EXPECT_FALSE(*more);
  EXPECT_EQ(answer, "last");
}

TEST(TcpTest, WaitsNoLongerThanTheDeadline) {
  Pair pair;
  std::string answer;
  const auto late = pair.connection->Receive(answer, In(absl::Milliseconds(20)));
  EXPECT_TRUE(absl::IsDeadlineExceeded(late.status())) << late.status();
  // Nobody reads, so the buffers are full some time.
  const absl::Status full =
      pair.connection->Send(std::string(64 << 20, 'x'), In(absl::Milliseconds(200)));
  EXPECT_TRUE(absl::IsDeadlineExceeded(full)) << full;
}

TEST(TcpTest, InterruptEndsAWait) {
  Pair pair;
  std::thread other([&] { pair.connection->Interrupt(); });
  std::string answer;
  const auto interrupted = pair.connection->Receive(answer, In(kLong));
  other.join();
  EXPECT_TRUE(absl::IsUnavailable(interrupted.status())) << interrupted.status();
  EXPECT_TRUE(absl::IsUnavailable(pair.connection->Receive(answer, In(kLong)).status()));
  EXPECT_TRUE(absl::IsUnavailable(pair.connection->Send("more", In(kLong))));
}

TEST(TcpTest, NobodyThereIsNamed) {
  const uint16_t port = FreePort();
  const auto refused = ConnectTcp("127.0.0.1", port, kLong, never);
  EXPECT_TRUE(absl::IsUnavailable(refused.status())) << refused.status();
  EXPECT_NE(refused.status().message().find(absl::StrCat("127.0.0.1:", port)), std::string::npos);
  EXPECT_NE(refused.status().message().find("refused"), std::string::npos);
  const auto unknown = ConnectTcp("256.0.0.1.invalid", 1, kLong, never);
  EXPECT_TRUE(absl::IsUnavailable(unknown.status()));
  EXPECT_NE(unknown.status().message().find("256.0.0.1.invalid"), std::string::npos);
}

TEST(TcpTest, AStoppedConnectEnds) {
  const SilentPort port;
  const std::atomic<bool> stop{true};
  EXPECT_TRUE(absl::IsUnavailable(ConnectTcp("127.0.0.1", port.port(), kLong, stop).status()));
}

TEST(TcpTest, ListensOnAFreePort) {
  for (const char* host : {"127.0.0.1", ""}) {
    const auto listening = ListenTcp(host, 0);
    ASSERT_TRUE(listening.ok()) << listening.status();
    const uint16_t port = ListeningPort(*listening);
    ASSERT_NE(port, 0);
    // By IPv4 too.
    const RawConnection client(port);
    EXPECT_TRUE(client.connected());
    pollfd comes{listening->get(), POLLIN, 0};
    EXPECT_EQ(poll(&comes, 1, 20000), 1);
  }
  EXPECT_EQ(ListeningPort(FileDescriptor()), 0);
}

TEST(TcpTest, APortInUseIsNamed) {
  const auto first = ListenTcp("127.0.0.1", 0);
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = ListenTcp("127.0.0.1", ListeningPort(*first));
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition) << second.status();
  EXPECT_NE(second.status().message().find(absl::StrCat("127.0.0.1:", ListeningPort(*first))),
            std::string::npos);
  EXPECT_EQ(ListenTcp("192.0.2.1", 0).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ListenTcp("no.such.invalid", 0).status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace signpost

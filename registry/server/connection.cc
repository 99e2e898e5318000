#include "signpost/registry/server/connection.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <thrift/transport/TSocket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "signpost/common/clock.h"
#include "signpost/common/url.h"
#include "signpost/registry/server/wire.h"

namespace signpost {
namespace server_internal {
namespace {

using apache::thrift::transport::TSocket;

// How often a connect looks whether it is to stop.
constexpr absl::Duration kStopPoll = absl::Milliseconds(50);

int Milliseconds(absl::Duration time) {
  return static_cast<int>(
      std::clamp<int64_t>(absl::ToInt64Milliseconds(time), 1, int64_t{24} * 3600 * 1000));
}

// 0, or what went wrong.
int AwaitConnect(int fd, absl::Duration timeout, const std::atomic<bool>& stop) {
  const absl::Duration end = Clock::Real().MonotonicNow() + timeout;
  for (;;) {
    if (stop) return ECANCELED;
    const absl::Duration left = end - Clock::Real().MonotonicNow();
    if (left <= absl::ZeroDuration()) return ETIMEDOUT;
    pollfd waiting{fd, POLLOUT, 0};
    if (poll(&waiting, 1, Milliseconds(std::min(left, kStopPoll))) <= 0) continue;
    int error = 0;
    socklen_t length = sizeof(error);
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) return errno;
    return error;
  }
}

// Thrift's own connect writes each failure to stderr and cannot be stopped. A descriptor, or
// -errno.
int ConnectTo(const addrinfo& address, absl::Duration timeout, const std::atomic<bool>& stop) {
  const int fd = socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  int error = 0;
  if (connect(fd, address.ai_addr, address.ai_addrlen) != 0) {
    error = errno == EINPROGRESS ? AwaitConnect(fd, timeout, stop) : errno;
  }
  // Blocking from now on, with the timeouts that TSocket sets.
  int blocking = 0;
  if (error == 0 && ioctl(fd, FIONBIO, &blocking) != 0) error = errno;
  if (error == 0) return fd;
  close(fd);
  return -error;
}

}  // namespace

class Connection::Wire {
 public:
  // Takes both descriptors of the one socket.
  Wire(int fd, int copy, std::string name, absl::Duration timeout)
      : fd_(copy),
        name_(std::move(name)),
        timeout_(timeout),
        socket_(std::make_shared<TSocket>(fd)),
        client_(NewProtocol(NewFrames(socket_, kFrameBytes), kFrameBytes)) {
    socket_->setNoDelay(true);
    socket_->setSendTimeout(Milliseconds(timeout));
    socket_->setRecvTimeout(Milliseconds(timeout));
  }
  ~Wire() { close(fd_); }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  int fd() const { return fd_; }
  const std::string& name() const { return name_; }
  absl::Duration timeout() const { return timeout_; }
  void set_timeout(absl::Duration timeout) { timeout_ = timeout; }
  void WaitAtMost(absl::Duration time) { socket_->setRecvTimeout(Milliseconds(time)); }
  server_wire::RegistryServiceClient& client() { return client_; }

 private:
  // The largest answer and what is round it.
  static constexpr size_t kFrameBytes = kMaxAnswerBytes * 2;

  // Thrift may close its own after an error, and the number may be another file's then.
  const int fd_;
  const std::string name_;
  absl::Duration timeout_;
  const std::shared_ptr<TSocket> socket_;
  server_wire::RegistryServiceClient client_;
};

absl::StatusOr<std::unique_ptr<Connection>> Connection::Connect(const std::string& host,
                                                                uint16_t port,
                                                                absl::Duration timeout,
                                                                const std::atomic<bool>& stop) {
  const std::string name = absl::StrCat("signpost://", JoinHostPort(host, port));
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int unknown = getaddrinfo(host.c_str(), absl::StrCat(port).c_str(), &hints, &found);
  if (unknown != 0) {
    return absl::UnavailableError(absl::StrCat(name, ": ", gai_strerror(unknown)));
  }
  int fd = -EADDRNOTAVAIL;
  for (const addrinfo* at = found; at != nullptr && fd < 0 && !stop; at = at->ai_next) {
    fd = ConnectTo(*at, timeout, stop);
  }
  freeaddrinfo(found);
  int copy = -1;
  if (fd >= 0 && (copy = fcntl(fd, F_DUPFD_CLOEXEC, 0)) < 0) {
    const int error = errno;
    close(fd);
    fd = -error;
  }
  if (fd < 0) {
    return absl::UnavailableError(absl::StrCat(name, ": cannot connect: ", std::strerror(-fd)));
  }
  return std::unique_ptr<Connection>(
      new Connection(std::make_unique<Wire>(fd, copy, name, timeout)));
}

Connection::Connection(std::unique_ptr<Wire> wire) : wire_(std::move(wire)) {}

Connection::~Connection() = default;

bool Connection::stale() const {
  pollfd idle{wire_->fd(), POLLIN | POLLRDHUP, 0};
  return poll(&idle, 1, 0) != 0;
}

void Connection::Interrupt() { shutdown(wire_->fd(), SHUT_RDWR); }

void Connection::set_timeout(absl::Duration timeout) {
  wire_->set_timeout(timeout);
  wire_->WaitAtMost(timeout);
}

template <typename T, typename Fn>
Answer<T> Connection::Do(Fn fn) {
  try {
    return {Outcome::kAnswered, fn(wire_->client())};
  } catch (const server_wire::Refused& refused) {
    return {Outcome::kAnswered, FromWire(refused)};
  } catch (const server_wire::UnknownSession&) {
    return {Outcome::kUnknownSession,
            absl::UnavailableError(absl::StrCat(wire_->name(), ": the session has ended"))};
  } catch (const std::exception& e) {
    return {Outcome::kBroken, absl::UnavailableError(absl::StrCat(
                                  wire_->name(), ": the connection broke: ", e.what()))};
  }
}

Answer<OpenedSession> Connection::Open(absl::Duration ttl) {
  return Do<OpenedSession>([&](auto& client) {
    server_wire::Opened opened;
    client.open(opened, kProtocolVersion, absl::ToInt64Milliseconds(ttl));
    return OpenedSession{opened.session, absl::Milliseconds(opened.ttl_ms)};
  });
}

Answer<bool> Connection::CloseSession(int64_t session) {
  return Do<bool>([&](auto& client) {
    client.close(session);
    return true;
  });
}

Answer<StoreValue> Connection::Get(int64_t session, const std::string& key) {
  return Do<StoreValue>([&](auto& client) {
    server_wire::Value value;
    client.get(value, session, key);
    return FromWire(std::move(value));
  });
}

Answer<int64_t> Connection::Put(int64_t session, const std::string& key, const std::string& value) {
  return Do<int64_t>([&](auto& client) { return client.put(session, key, value); });
}

Answer<int64_t> Connection::Bind(int64_t session, const std::string& key,
                                 const std::string& value) {
  return Do<int64_t>([&](auto& client) { return client.bind(session, key, value); });
}

Answer<int64_t> Connection::CompareAndSet(int64_t session, const std::string& key,
                                          const std::string& value, int64_t expected) {
  return Do<int64_t>(
      [&](auto& client) { return client.compareAndSet(session, key, value, expected); });
}

Answer<bool> Connection::Remove(int64_t session, const std::string& key, int64_t expected) {
  return Do<bool>([&](auto& client) {
    client.remove(session, key, expected);
    return true;
  });
}

Answer<bool> Connection::Exists(int64_t session, const std::string& key) {
  return Do<bool>([&](auto& client) { return client.exists(session, key); });
}

Answer<std::vector<StoreChild>> Connection::List(int64_t session, const std::string& prefix) {
  return Do<std::vector<StoreChild>>([&](auto& client) {
    std::vector<server_wire::Child> children;
    client.children(children, session, prefix);
    std::vector<StoreChild> result;
    result.reserve(children.size());
    for (server_wire::Child& child : children) result.push_back(FromWire(std::move(child)));
    return result;
  });
}

Answer<bool> Connection::Watch(int64_t session, int64_t id, bool tree, const std::string& key) {
  return Do<bool>([&](auto& client) {
    client.watch(session, id, tree, key);
    return true;
  });
}

Answer<bool> Connection::Unwatch(int64_t session, int64_t id) {
  return Do<bool>([&](auto& client) {
    client.unwatch(session, id);
    return true;
  });
}

Answer<std::vector<WatchEvent>> Connection::Poll(int64_t session, int64_t acknowledged,
                                                 absl::Duration wait, bool fetch) {
  wire_->WaitAtMost(wait + wire_->timeout());
  return Do<std::vector<WatchEvent>>([&](auto& client) {
    std::vector<server_wire::Event> events;
    client.poll(events, session, acknowledged, absl::ToInt64Milliseconds(wait), fetch);
    std::vector<WatchEvent> result;
    result.reserve(events.size());
    for (server_wire::Event& event : events) result.push_back(FromWire(std::move(event)));
    return result;
  });
}

}  // namespace server_internal
}  // namespace signpost

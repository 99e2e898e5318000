#include "signpost/common/tcp.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "signpost/common/clock.h"
#include "signpost/common/url.h"

namespace signpost {
namespace {

// How often a connect looks whether it is to stop.
constexpr absl::Duration kStopPoll = absl::Milliseconds(50);
constexpr size_t kReceiveBytes = 64 << 10;

// For poll: at least one, so that nothing spins.
int Milliseconds(absl::Duration time) {
  return static_cast<int>(
      std::clamp<int64_t>(absl::ToInt64Milliseconds(time), 1, int64_t{24} * 3600 * 1000));
}

struct FreeAddresses {
  void operator()(addrinfo* found) const { freeaddrinfo(found); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

// 0, or getaddrinfo's error.
int LookUp(const char* host, uint16_t port, int flags, int family, Addresses* found) {
  addrinfo hints{};
  hints.ai_family = family;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* list = nullptr;
  const int unknown = getaddrinfo(host, absl::StrCat(port).c_str(), &hints, &list);
  if (unknown == 0) found->reset(list);
  return unknown;
}

FileDescriptor NewSocket(const addrinfo& address) {
  return FileDescriptor(
      socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
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

// 0, or what went wrong.
int ConnectTo(const addrinfo& address, absl::Duration timeout, const std::atomic<bool>& stop,
              FileDescriptor* connected) {
  FileDescriptor fd = NewSocket(address);
  if (!fd) return errno;
  if (connect(fd.get(), address.ai_addr, address.ai_addrlen) != 0) {
    const int error = errno == EINPROGRESS ? AwaitConnect(fd.get(), timeout, stop) : errno;
    if (error != 0) return error;
  }
  *connected = std::move(fd);
  return 0;
}

// 0, or what went wrong.
int ListenOn(const addrinfo& address, FileDescriptor* listening) {
  FileDescriptor fd = NewSocket(address);
  if (!fd) return errno;
  const int yes = 1;
  const int no = 0;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (address.ai_family == AF_INET6) {
    setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
  }
  if (bind(fd.get(), address.ai_addr, address.ai_addrlen) != 0) return errno;
  if (listen(fd.get(), SOMAXCONN) != 0) return errno;
  *listening = std::move(fd);
  return 0;
}

}  // namespace

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  const int mine = std::exchange(fd_, other.Release());
  if (mine >= 0) close(mine);
  return *this;
}

FileDescriptor::~FileDescriptor() {
  if (fd_ < 0) return;
  const int before = errno;  // who closes on an error wants to tell which
  close(fd_);
  errno = before;
}

int FileDescriptor::Release() { return std::exchange(fd_, -1); }

bool IsNumericHost(const std::string& host) {
  in6_addr address;
  return inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

absl::StatusOr<FileDescriptor> ConnectTcp(const std::string& host, uint16_t port,
                                          absl::Duration timeout, const std::atomic<bool>& stop) {
  const std::string name = JoinHostPort(host, port);
  Addresses found;
  const int unknown = LookUp(host.c_str(), port, 0, AF_UNSPEC, &found);
  if (unknown != 0) {
    return absl::UnavailableError(absl::StrCat(name, ": ", gai_strerror(unknown)));
  }
  FileDescriptor fd;
  int error = EADDRNOTAVAIL;
  for (const addrinfo* at = found.get(); at != nullptr && !stop; at = at->ai_next) {
    error = ConnectTo(*at, timeout, stop, &fd);
    if (error == 0) return fd;
  }
  return absl::UnavailableError(absl::StrCat(name, ": cannot connect: ", std::strerror(error)));
}

absl::StatusOr<FileDescriptor> ListenTcp(const std::string& host, uint16_t port) {
  const std::string name = JoinHostPort(host.empty() ? "::" : host, port);
  FileDescriptor fd;
  int error = EADDRNOTAVAIL;
  // A machine may have no IPv6; an IPv6 socket takes IPv4 too.
  for (const int family : {AF_INET6, AF_INET}) {
    if (!host.empty() && family == AF_INET) break;
    Addresses found;
    const int unknown = LookUp(host.empty() ? nullptr : host.c_str(), port, AI_PASSIVE,
                               host.empty() ? family : AF_UNSPEC, &found);
    if (unknown != 0) {
      if (host.empty()) continue;
      return absl::FailedPreconditionError(
          absl::StrCat("cannot listen on ", name, ": ", gai_strerror(unknown)));
    }
    for (const addrinfo* at = found.get(); at != nullptr; at = at->ai_next) {
      error = ListenOn(*at, &fd);
      if (error == 0) return fd;
    }
    if (error == EADDRINUSE) break;
  }
  return absl::FailedPreconditionError(
      absl::StrCat("cannot listen on ", name, ": ", std::strerror(error)));
}

uint16_t ListeningPort(const FileDescriptor& socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

absl::StatusOr<std::unique_ptr<TcpConnection>> TcpConnection::Connect(
    const std::string& host, uint16_t port, absl::Duration timeout, const std::atomic<bool>& stop) {
  auto socket = ConnectTcp(host, port, timeout, stop);
  if (!socket.ok()) return socket.status();
  return std::unique_ptr<TcpConnection>(new TcpConnection(*std::move(socket)));
}

TcpConnection::TcpConnection(FileDescriptor socket) : socket_(std::move(socket)) {
  const int yes = 1;
  setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
}

absl::Status TcpConnection::Await(short events, absl::Duration deadline) const {
  for (;;) {
    if (interrupted_) return absl::UnavailableError("interrupted");
    const absl::Duration left = deadline - Clock::Real().MonotonicNow();
    if (left <= absl::ZeroDuration()) {
      return absl::DeadlineExceededError("no answer in time");
    }
    pollfd waiting{socket_.get(), events, 0};
    if (poll(&waiting, 1, Milliseconds(left)) > 0) return absl::OkStatus();
  }
}

absl::Status TcpConnection::Send(absl::string_view bytes, absl::Duration deadline) {
  while (!bytes.empty()) {
    if (absl::Status status = Await(POLLOUT, deadline); !status.ok()) return status;
    const ssize_t sent = send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (errno != EAGAIN && errno != EINTR) {
      return absl::UnavailableError(absl::StrCat("cannot send: ", std::strerror(errno)));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> TcpConnection::Receive(std::string& to, absl::Duration deadline) {
  for (;;) {
    if (absl::Status status = Await(POLLIN, deadline); !status.ok()) return status;
    const size_t before = to.size();
    to.resize(before + kReceiveBytes);
    const ssize_t received = recv(socket_.get(), &to[before], kReceiveBytes, 0);
    const int error = errno;
    to.resize(before + static_cast<size_t>(std::max<ssize_t>(received, 0)));
    if (received > 0) return true;
    if (interrupted_) return absl::UnavailableError("interrupted");
    if (received == 0) return false;
    if (error != EAGAIN && error != EINTR) {
      return absl::UnavailableError(absl::StrCat("cannot receive: ", std::strerror(error)));
    }
  }
}

void TcpConnection::Interrupt() {
  interrupted_ = true;
  shutdown(socket_.get(), SHUT_RDWR);
}

}  // namespace signpost

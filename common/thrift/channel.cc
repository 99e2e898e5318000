#include "signpost/common/thrift/channel.h"

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

#include "absl/strings/str_cat.h"
#include "signpost/common/clock.h"
#include "signpost/common/thrift/frames.h"
#include "signpost/common/url.h"

namespace signpost {
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

absl::StatusOr<std::unique_ptr<ThriftChannel>> ThriftChannel::Connect(
    const std::string& host, uint16_t port, absl::Duration timeout, size_t max_frame_bytes,
    const std::atomic<bool>& stop) {
  const std::string name = JoinHostPort(host, port);
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
  return std::unique_ptr<ThriftChannel>(new ThriftChannel(fd, copy, timeout, max_frame_bytes));
}

ThriftChannel::ThriftChannel(int fd, int copy, absl::Duration timeout, size_t max_frame_bytes)
    : copy_(copy),
      socket_(std::make_shared<TSocket>(fd)),
      protocol_(NewThriftProtocol(NewThriftFrames(socket_, max_frame_bytes), max_frame_bytes)) {
  socket_->setNoDelay(true);
  socket_->setSendTimeout(Milliseconds(timeout));
  socket_->setRecvTimeout(Milliseconds(timeout));
}

ThriftChannel::~ThriftChannel() { close(copy_); }

bool ThriftChannel::stale() const {
  pollfd idle{copy_, POLLIN | POLLRDHUP, 0};
  return poll(&idle, 1, 0) != 0;
}

void ThriftChannel::Interrupt() { shutdown(copy_, SHUT_RDWR); }

void ThriftChannel::set_timeout(absl::Duration timeout) {
  socket_->setRecvTimeout(Milliseconds(timeout));
}

}  // namespace signpost

#include "signpost/common/thrift/channel.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <thrift/transport/TSocket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "signpost/common/tcp.h"
#include "signpost/common/thrift/frames.h"
#include "signpost/common/url.h"

namespace signpost {
namespace {

using apache::thrift::transport::TSocket;

int Milliseconds(absl::Duration time) {
  return static_cast<int>(
      std::clamp<int64_t>(absl::ToInt64Milliseconds(time), 1, int64_t{24} * 3600 * 1000));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ThriftChannel>> ThriftChannel::Connect(
    const std::string& host, uint16_t port, absl::Duration timeout, size_t max_frame_bytes,
    const std::atomic<bool>& stop) {
  // Thrift's own connect writes each failure to stderr and cannot be stopped.
  auto socket = ConnectTcp(host, port, timeout, stop);
  if (!socket.ok()) return socket.status();
  // Blocking from now on, with the timeouts that TSocket sets.
  int blocking = 0;
  FileDescriptor copy(fcntl(socket->get(), F_DUPFD_CLOEXEC, 0));
  if (!copy || ioctl(socket->get(), FIONBIO, &blocking) != 0) {
    return absl::UnavailableError(
        absl::StrCat(JoinHostPort(host, port), ": cannot connect: ", std::strerror(errno)));
  }
  return std::unique_ptr<ThriftChannel>(
      new ThriftChannel(socket->Release(), std::move(copy), timeout, max_frame_bytes));
}

ThriftChannel::ThriftChannel(int fd, FileDescriptor copy, absl::Duration timeout,
                             size_t max_frame_bytes)
    : copy_(std::move(copy)),
      socket_(std::make_shared<TSocket>(fd)),
      protocol_(NewThriftProtocol(NewThriftFrames(socket_, max_frame_bytes), max_frame_bytes)) {
  socket_->setNoDelay(true);
  socket_->setSendTimeout(Milliseconds(timeout));
  socket_->setRecvTimeout(Milliseconds(timeout));
}

ThriftChannel::~ThriftChannel() = default;

bool ThriftChannel::stale() const {
  pollfd idle{copy_.get(), POLLIN | POLLRDHUP, 0};
  return poll(&idle, 1, 0) != 0;
}

void ThriftChannel::Interrupt() { shutdown(copy_.get(), SHUT_RDWR); }

void ThriftChannel::set_timeout(absl::Duration timeout) {
  socket_->setRecvTimeout(Milliseconds(timeout));
}

}  // namespace signpost

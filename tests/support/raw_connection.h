// Bytes to and from a port of the loopback, for what no well-behaved client sends.
#ifndef SIGNPOST_TESTS_SUPPORT_RAW_CONNECTION_H_
#define SIGNPOST_TESTS_SUPPORT_RAW_CONNECTION_H_

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "absl/time/time.h"
#include "signpost/common/clock.h"
#include "tests/support/loopback.h"

namespace signpost {

class RawConnection {
 public:
  explicit RawConnection(uint16_t port) {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = Loopback(port);
    connected_ = connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~RawConnection() { close(fd_); }

  bool connected() const { return connected_; }
  bool Send(const std::string& bytes) {
    return send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  // Whether the other end closes within `timeout`, whatever it says before.
  bool Closed(absl::Duration timeout = absl::Seconds(20)) {
    const absl::Duration end = Clock::Real().MonotonicNow() + timeout;
    for (;;) {
      const absl::Duration left = end - Clock::Real().MonotonicNow();
      if (left <= absl::ZeroDuration()) return false;
      pollfd waiting{fd_, POLLIN, 0};
      if (poll(&waiting, 1, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1) <= 0) continue;
      char buffer[4096];
      if (read(fd_, buffer, sizeof(buffer)) <= 0) return true;
    }
  }

 private:
  int fd_ = -1;
  bool connected_ = false;
};

}  // namespace signpost

#endif  // SIGNPOST_TESTS_SUPPORT_RAW_CONNECTION_H_

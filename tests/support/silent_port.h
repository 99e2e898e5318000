// A port that takes connections, by the kernel alone, and says nothing.
//
// Threads: any.
#ifndef SIGNPOST_TESTS_SUPPORT_SILENT_PORT_H_
#define SIGNPOST_TESTS_SUPPORT_SILENT_PORT_H_

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>

#include "tests/support/loopback.h"

namespace signpost {

class SilentPort {
 public:
  SilentPort() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = Loopback(0);
    socklen_t length = sizeof(address);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(listen(fd_, 16), 0);
    EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &length), 0);
    port_ = ntohs(address.sin_port);
  }
  ~SilentPort() { close(fd_); }
  SilentPort(const SilentPort&) = delete;
  SilentPort& operator=(const SilentPort&) = delete;

  // Whoever wants to accept.
  int fd() const { return fd_; }
  uint16_t port() const { return port_; }

 private:
  const int fd_;
  uint16_t port_ = 0;
};

}  // namespace signpost

#endif  // SIGNPOST_TESTS_SUPPORT_SILENT_PORT_H_

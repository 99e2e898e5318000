#include "tests/support/tcp_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "tests/support/loopback.h"

namespace signpost {
namespace {

// Moves what is there; false when the connection has ended.
bool Move(int from, int to) {
  char buffer[65536];
  const ssize_t got = read(from, buffer, sizeof(buffer));
  for (ssize_t sent = 0; sent < got;) {
    const ssize_t more = send(to, buffer + sent, static_cast<size_t>(got - sent), MSG_NOSIGNAL);
    if (more <= 0) return false;
    sent += more;
  }
  return got > 0;
}

}  // namespace

TcpProxy::TcpProxy(uint16_t target) : target_(target) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t length = sizeof(address);
  if (listener_ < 0 || bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      listen(listener_, 16) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    std::abort();
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Run(); });
}

TcpProxy::~TcpProxy() {
  stop_ = true;
  thread_.join();
  close(listener_);
}

std::string TcpProxy::address() const { return absl::StrCat("127.0.0.1:", port_); }

void TcpProxy::Run() {
  // fds[2k] and [2k + 1] are the two ends of connection k.
  std::vector<int> fds;
  const auto drop = [&fds](size_t first) {
    close(fds[first]);
    close(fds[first + 1]);
    fds.erase(fds.begin() + static_cast<ptrdiff_t>(first),
              fds.begin() + static_cast<ptrdiff_t>(first) + 2);
  };
  while (!stop_) {
    while (broken_ && !fds.empty()) drop(fds.size() - 2);
    std::vector<pollfd> polls = {{listener_, POLLIN, 0}};
    for (size_t i = 0; i < fds.size(); ++i) {
      const bool from_target = i % 2 == 1;
      polls.push_back({fds[i], static_cast<int16_t>(from_target && held_ ? 0 : POLLIN), 0});
    }
    if (poll(polls.data(), polls.size(), 20) <= 0) continue;
    for (size_t i = fds.size(); i >= 2; i -= 2) {
      const bool alive = (polls[i - 1].revents == 0 || Move(fds[i - 2], fds[i - 1])) &&
                         (polls[i].revents == 0 || Move(fds[i - 1], fds[i - 2]));
      if (!alive) drop(i - 2);
    }
    if (polls[0].revents == 0) continue;
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = Loopback(target_);
    if (broken_ || client < 0 ||
        connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      if (client >= 0) close(client);
      close(server);
      continue;
    }
    sockaddr_in local{};
    socklen_t length = sizeof(local);
    if (getsockname(server, reinterpret_cast<sockaddr*>(&local), &length) == 0) {
      upstream_port_ = ntohs(local.sin_port);
    }
    fds.push_back(client);
    fds.push_back(server);
  }
  while (!fds.empty()) drop(fds.size() - 2);
}

}  // namespace signpost

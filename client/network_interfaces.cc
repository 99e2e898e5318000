#include "signpost/client/network_interfaces.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/url.h"

namespace signpost {
namespace {

// "" for what is no IP address.
std::string IpText(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = {};
  const void* bytes = nullptr;
  if (address->sa_family == AF_INET) {
    bytes = &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  } else if (address->sa_family == AF_INET6) {
    bytes = &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  } else {
    return "";
  }
  return inet_ntop(address->sa_family, bytes, text, sizeof(text)) == nullptr ? "" : text;
}

// Connecting a datagram socket only looks the route up.
std::string LocalEndOf(const addrinfo& target) {
  const int fd = socket(target.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return "";
  sockaddr_storage local{};
  socklen_t length = sizeof(local);
  std::string ip;
  if (connect(fd, target.ai_addr, target.ai_addrlen) == 0 &&
      getsockname(fd, reinterpret_cast<sockaddr*>(&local), &length) == 0) {
    ip = IpText(reinterpret_cast<const sockaddr*>(&local));
  }
  close(fd);
  return ip;
}

class System final : public NetworkInterfaces {
 public:
  absl::StatusOr<std::vector<InterfaceAddress>> Addresses() const override {
    ifaddrs* first = nullptr;
    if (getifaddrs(&first) != 0) {
      return absl::UnavailableError(absl::StrCat("network interfaces: ", strerror(errno)));
    }
    std::vector<InterfaceAddress> found;
    for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
      if (at->ifa_addr == nullptr) continue;
      InterfaceAddress address;
      address.interface = at->ifa_name;
      address.ip = IpText(at->ifa_addr);
      if (address.ip.empty()) continue;
      address.up = (at->ifa_flags & IFF_UP) != 0 && (at->ifa_flags & IFF_RUNNING) != 0;
      address.loopback = (at->ifa_flags & IFF_LOOPBACK) != 0;
      address.alias = absl::StrContains(address.interface, ':');
      found.push_back(std::move(address));
    }
    freeifaddrs(first);
    return found;
  }

  absl::StatusOr<std::string> RouteTo(const std::string& host, uint16_t port) const override {
    addrinfo hints{};
    hints.ai_socktype = SOCK_DGRAM;
    hints.ai_flags = AI_NUMERICSERV;
    addrinfo* found = nullptr;
    const std::string service = absl::StrCat(port == 0 ? 1 : port);
    const int error = getaddrinfo(UnbracketHost(host).c_str(), service.c_str(), &hints, &found);
    if (error != 0) {
      return absl::UnavailableError(absl::StrCat("route to ", host, ": ", gai_strerror(error)));
    }
    std::string ip;
    for (const addrinfo* at = found; at != nullptr && ip.empty(); at = at->ai_next) {
      ip = LocalEndOf(*at);
    }
    freeaddrinfo(found);
    if (ip.empty()) return absl::UnavailableError(absl::StrCat("route to ", host, ": none"));
    return ip;
  }
};

}  // namespace

std::shared_ptr<const NetworkInterfaces> SystemNetworkInterfaces() {
  static const auto* const system =
      new std::shared_ptr<const NetworkInterfaces>(std::make_shared<const System>());
  return *system;
}

}  // namespace signpost

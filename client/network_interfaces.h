// The addresses of this machine: what the choice of the registered address looks at.
//
// Threads: all methods from any thread. RouteTo may ask the system's resolver for a name, and so
// block as long as that does.
// Errors: kUnavailable; the message names the host.
#ifndef SIGNPOST_CLIENT_NETWORK_INTERFACES_H_
#define SIGNPOST_CLIENT_NETWORK_INTERFACES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace signpost {

struct InterfaceAddress {
  std::string interface;  // `eth0`
  std::string ip;         // no brackets, no zone
  bool up = true;         // and has a carrier
  bool loopback = false;
  bool alias = false;  // `eth0:1`; Java calls it virtual
};

class NetworkInterfaces {
 public:
  virtual ~NetworkInterfaces() = default;

  // All of them, in the kernel's order.
  virtual absl::StatusOr<std::vector<InterfaceAddress>> Addresses() const = 0;
  // The local IP from which packets to `host` (an IP, or a name) leave. None is sent.
  virtual absl::StatusOr<std::string> RouteTo(const std::string& host, uint16_t port) const = 0;
};

std::shared_ptr<const NetworkInterfaces> SystemNetworkInterfaces();

}  // namespace signpost

#endif  // SIGNPOST_CLIENT_NETWORK_INTERFACES_H_

// NetworkInterfaces that a test makes up.
//
// Threads: filled in before it is used; then any.
#ifndef SIGNPOST_TESTS_SUPPORT_FAKE_NETWORK_INTERFACES_H_
#define SIGNPOST_TESTS_SUPPORT_FAKE_NETWORK_INTERFACES_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "signpost/client/network_interfaces.h"

namespace signpost {

class FakeNetworkInterfaces final : public NetworkInterfaces {
 public:
  absl::StatusOr<std::vector<InterfaceAddress>> Addresses() const override {
    ++asked;
    return addresses;
  }
  absl::StatusOr<std::string> RouteTo(const std::string& host, uint16_t) const override {
    const auto found = routes.find(host);
    if (found == routes.end()) return absl::UnavailableError("route to " + host + ": none");
    return found->second;
  }

  std::vector<InterfaceAddress> addresses;
  std::map<std::string, std::string> routes;  // by host, without brackets
  mutable std::atomic<int> asked{0};
};

}  // namespace signpost

#endif  // SIGNPOST_TESTS_SUPPORT_FAKE_NETWORK_INTERFACES_H_

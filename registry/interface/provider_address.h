// A provider's URL as an address. Private to this folder.
//
// What all providers of a service have in common is one EndpointService; what differs from process
// to process by nature (time of start, token, weight, bind address, ...) is kept apart, so that a
// thousand providers share it.
//
// Threads: one at a time.
#ifndef SIGNPOST_REGISTRY_INTERFACE_PROVIDER_ADDRESS_H_
#define SIGNPOST_REGISTRY_INTERFACE_PROVIDER_ADDRESS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>

#include "absl/status/statusor.h"
#include "signpost/common/address_list.h"
#include "signpost/common/url.h"

namespace signpost::interface_internal {

// One object for equal services, as long as somebody has it.
class ServicePool {
 public:
  std::shared_ptr<const EndpointService> Share(EndpointService service);
  // Services that somebody has; forgets the others.
  size_t size();

 private:
  void Sweep();

  std::unordered_map<std::string, std::weak_ptr<const EndpointService>> services_;
  size_t sweep_at_ = 64;
};

// `protocol`: the one that was chosen. kInvalidArgument: no host, or no port.
absl::StatusOr<EndpointSpec> AddressOf(const Url& provider, const std::string& protocol,
                                       ServicePool& pool);

}  // namespace signpost::interface_internal

#endif  // SIGNPOST_REGISTRY_INTERFACE_PROVIDER_ADDRESS_H_

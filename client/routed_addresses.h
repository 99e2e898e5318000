// One address list, routed to pools and with a picker for each: what a call reads. Private to this
// folder.
//
// Threads: RoutedAddresses is immutable; Pick from any thread, takes no lock, and allocates only
//   for an error. AddressRouting on the control executor.
#ifndef SIGNPOST_CLIENT_ROUTED_ADDRESSES_H_
#define SIGNPOST_CLIENT_ROUTED_ADDRESSES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "signpost/balancer/balancer.h"
#include "signpost/client/directory.h"
#include "signpost/common/request.h"
#include "signpost/registry/notify_listener.h"
#include "signpost/router/router.h"
#include "signpost/router/router_chain.h"

namespace signpost::client_internal {

struct RoutedAddresses {
  struct Pool {
    std::shared_ptr<const Picker> picker;  // null: nothing to pick
    absl::Status error;                    // why there is nothing to pick
  };

  std::string service;
  std::shared_ptr<const RouteTable> table;
  std::vector<Pool> pools;
  ServiceAddresses addresses;
  // What `addresses.delta` leads from: the list of the version before.
  std::shared_ptr<const AddressList> before;
  absl::Status unready;  // OK if some pool has addresses

  absl::StatusOr<PickResult> Pick(const Request& request) const;
};

// Makes RoutedAddresses of each version of one list. The balancer of a pool lives as long as the
// pool is in the table, so that it can reuse what did not change.
class AddressRouting {
 public:
  struct Parts {
    std::string service;  // for error texts
    std::vector<RouterFactory> routers;
    RouterOptions router_options;
    BalancerFactory balancer;
    BalancerOptions balancer_options;
  };
  explicit AddressRouting(const Parts& parts) : parts_(parts) {}

  std::shared_ptr<const RoutedAddresses> Build(const ServiceAddresses& addresses);

 private:
  using Balancers = std::map<std::string, std::unique_ptr<Balancer>>;

  const RouterChain& Chain();
  void LogNotes(const RouteTable& table);

  const Parts& parts_;                        // of the Directory
  std::unique_ptr<const RouterChain> chain_;  // null: there was no list yet
  Balancers balancers_;
  std::shared_ptr<const AddressList> list_ = AddressList::Empty();  // of the last table
  std::vector<std::string> notes_;
};

}  // namespace signpost::client_internal

#endif  // SIGNPOST_CLIENT_ROUTED_ADDRESSES_H_

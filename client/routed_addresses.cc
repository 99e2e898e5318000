#include "signpost/client/routed_addresses.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "signpost/common/log.h"
#include "signpost/common/status.h"

namespace signpost::client_internal {
namespace {

std::vector<PoolMember> Members(const AddressList& list, const Subset& subset) {
  std::vector<PoolMember> members;
  members.reserve(subset.size());
  for (uint32_t i : subset) {
    const EndpointSpec& spec = list.spec(i);
    members.push_back({list.id(i), spec.weight, spec.timestamp_ms});
  }
  return members;
}

// The registry's word for an empty list.
absl::Status NothingThere(const std::string& service, const ServiceAddresses& addresses) {
  if (!addresses.list->empty()) return absl::OkStatus();
  if (!addresses.state.ok()) return Annotate(addresses.state, service);
  return absl::UnavailableError(absl::StrCat(service, ": no address"));
}

absl::Status RuledOut(const std::string& service, const ServiceAddresses& addresses,
                      const RouteTable::Pool& pool) {
  return absl::UnavailableError(absl::StrCat(service, ": rule ", pool.decided_by,
                                             " leaves none of ", addresses.list->size(),
                                             " addresses"));
}

}  // namespace

absl::StatusOr<PickResult> RoutedAddresses::Pick(const Request& request) const {
  const size_t at = table->PoolFor(request);
  const Pool& pool = pools[at];
  if (pool.picker == nullptr) return pool.error;
  const size_t index = pool.picker->Pick(request);
  const Subset& members = table->pools()[at].members;
  if (index >= members.size()) {
    return absl::UnavailableError(absl::StrCat(service, ": the balancer refuses all addresses"));
  }
  PickResult result;
  result.endpoint = table->list()->at(members[index]);
  result.endpoint.BeginCall();
  result.index = index;
  if (pool.picker->wants_feedback()) result.picker = pool.picker;
  return result;
}

std::shared_ptr<const RoutedAddresses> AddressRouting::Build(const ServiceAddresses& addresses) {
  auto routed = std::make_shared<RoutedAddresses>();
  routed->service = parts_.service;
  routed->addresses = addresses;
  routed->before = std::exchange(list_, addresses.list);
  routed->table = Chain().Compile(addresses.list);
  LogNotes(*routed->table);
  routed->unready = NothingThere(parts_.service, addresses);
  Balancers used;
  std::map<std::string, int> same_name;
  bool any = false;
  for (const RouteTable::Pool& pool : routed->table->pools()) {
    RoutedAddresses::Pool built;
    if (pool.members.empty()) {
      built.error = addresses.list->empty() ? NothingThere(parts_.service, addresses)
                                            : RuledOut(parts_.service, addresses, pool);
      if (routed->unready.ok()) routed->unready = built.error;
    } else {
      any = true;
      const std::string key = absl::StrCat(pool.decided_by, "#", same_name[pool.decided_by]++);
      std::unique_ptr<Balancer>& balancer = used[key];
      balancer = std::move(balancers_[key]);
      if (balancer == nullptr) balancer = parts_.balancer(parts_.balancer_options);
      built.picker = balancer->Build(Members(*addresses.list, pool.members));
    }
    routed->pools.push_back(std::move(built));
  }
  if (any) routed->unready = absl::OkStatus();
  balancers_ = std::move(used);
  return routed;
}

const RouterChain& AddressRouting::Chain() {
  if (chain_ == nullptr) {
    std::vector<std::unique_ptr<Router>> routers;
    for (const RouterFactory& new_router : parts_.routers) {
      if (auto router = new_router(parts_.router_options)) routers.push_back(std::move(router));
    }
    chain_ = std::make_unique<const RouterChain>(std::move(routers));
  }
  return *chain_;
}

// What is new only: the same fault would be said at each change of the list.
void AddressRouting::LogNotes(const RouteTable& table) {
  for (const std::string& note : table.notes()) {
    if (std::find(notes_.begin(), notes_.end(), note) != notes_.end()) continue;
    Log(LogLevel::kWarning, absl::StrCat(parts_.service, ": router ", note));
  }
  notes_ = table.notes();
}

}  // namespace signpost::client_internal

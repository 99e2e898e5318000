// Narrows the addresses of a service: target = rn(... r2(r1(all))), decided ahead of the call.
//
// A Router maps one list of ids to pools; the RouterChain runs its routers over every pool and
// gives a RouteTable: disjoint request classes, each with an order of subsets tried in turn, and a
// catch-all. No router: one class, one subset, everything.
//
// Threads: Route on the control (or heavy) executor; a router may be destroyed on any thread.
//   RouteTable is immutable.
// Errors: a router that fails leaves its input as it was and reports why in the table's notes.
#ifndef SIGNPOST_ROUTER_ROUTER_H_
#define SIGNPOST_ROUTER_ROUTER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "signpost/common/address_list.h"
#include "signpost/common/request.h"
#include "signpost/common/url.h"

namespace signpost {

// Indexes into one AddressList, ascending.
using Subset = std::vector<uint32_t>;

// What a router makes of one input: rules tried in order. The first rule whose `matches` holds
// decides; no rule: the input passes unchanged.
struct RouteRule {
  std::string name;  // of the rule, for explain and error texts
  // Null matches every request. Called on the call path: must be fast, must not allocate.
  std::function<bool(const Request&)> matches;
  // Tried in turn until one has addresses.
  std::vector<Subset> subsets;
  // When no subset has addresses: the input unchanged (false), or nothing (true: `force`).
  bool force = false;
};

class Router {
 public:
  virtual ~Router() = default;
  virtual absl::string_view name() const = 0;
  // Lower runs first.
  virtual int priority() const = 0;
  // `input`: what earlier routers left. Rules' subsets must be parts of it.
  virtual absl::StatusOr<std::vector<RouteRule>> Route(const AddressList& list,
                                                       const Subset& input) const = 0;
};

// What a router is made for.
struct RouterOptions {
  Url url;  // of the consumer: interface, group, version, application, ...
};

// Makes the router of one service; null: this service has none. On the control executor, before the
// service's first list is routed.
using RouterFactory = std::function<std::unique_ptr<Router>(const RouterOptions&)>;

}  // namespace signpost

#endif  // SIGNPOST_ROUTER_ROUTER_H_

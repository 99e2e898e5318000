// Which registry centres the text of an option names, and at which levels this process registers
// and looks there: as Dubbo 3 has it, with Dubbo's parameters (docs/options.md has the table).
//
// `zookeeper://a:2181`                     provider: both levels; consumer: both (migration
// decides)
// `...?registry-type=service`, `...?mode=application`, `service-discovery-registry://...?registry=`
//                                          application level only
// `...?registry-type=interface`, `...?mode=interface`, `...?register-mode=interface`
//                                          interface level only
// `...?registry-type=all`, `...?mode=dual`
//                                          both
// `...?register-mode=all|instance|interface`
//                                          the provider's levels, whatever the others say
// `embedded:`, `memory:`, `signpost:`      application level only unless a parameter says otherwise
//
// Threads: values.
#ifndef SIGNPOST_CLIENT_REGISTRY_PLAN_H_
#define SIGNPOST_CLIENT_REGISTRY_PLAN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "signpost/common/url.h"

namespace signpost {

struct ServiceLevels {
  bool application = false;
  bool interface = false;

  bool both() const { return application && interface; }
  friend bool operator==(const ServiceLevels& a, const ServiceLevels& b) {
    return a.application == b.application && a.interface == b.interface;
  }
};

struct RegistryPlan {
  Url centre;  // without the parameters that choose levels
  ServiceLevels provider;
  ServiceLevels consumer;
};

// One URL, or several separated by `|` or `;`. URLs of one centre (scheme, addresses in any order,
// path, user, `group`, `namespace`, `rootPath`) become one plan with the levels of all; its other
// parameters are those of the first. kInvalidArgument names the URL (no secrets) and the parameter.
absl::StatusOr<std::vector<RegistryPlan>> PlanRegistries(absl::string_view text);

// The URLs of `text`, apart by `|` or by a `;` that no parameter follows. kInvalidArgument, naming
// no more than their number and scheme: a separator with no registry before or behind it, and a
// server that is a URL (`zookeeper://a:1,zookeeper://b:2`).
absl::StatusOr<std::vector<absl::string_view>> SplitRegistries(absl::string_view text);

// Whether the host of a registry's URL is one to which there is a route, and no name or folder.
bool IsRemoteRegistry(const Url& url);

}  // namespace signpost

#endif  // SIGNPOST_CLIENT_REGISTRY_PLAN_H_

// What of an exported URL is written, and where. Private to this folder.
//
// Source: DefaultServiceURLCustomizer, RegistryProtocol.DEFAULT_REGISTER_PROVIDER_KEYS,
// DynamicDirectory.setRegisteredConsumerUrl, ZookeeperRegistry.toUrlPath of Dubbo 3.3.
//
// Threads: any.
#ifndef SIGNPOST_REGISTRY_INTERFACE_REGISTERED_URL_H_
#define SIGNPOST_REGISTRY_INTERFACE_REGISTERED_URL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "signpost/common/url.h"
#include "signpost/registry/interface/interface_registry.h"

namespace signpost::interface_internal {

inline constexpr char kProviders[] = "providers";
inline constexpr char kConsumers[] = "consumers";
inline constexpr char kRouters[] = "routers";
inline constexpr char kConfigurators[] = "configurators";

// <root>/<interface>/<category>
std::string CategoryPath(absl::string_view root, absl::string_view interface_name,
                         absl::string_view category);

// False: `register=false`, `isExtra=true`, or a protocol that `accepts` leaves out.
bool ShouldRegister(const Url& url, const InterfaceRegistryOptions& options);

// Providers lose what concerns their process alone, or keep just what consumers need; consumers get
// category and check; other categories are written as they are.
Url RegisteredUrl(const Url& url, const InterfaceRegistryOptions& options);

struct RegisteredNode {
  std::string category;
  Url url;             // as it is written
  std::string folder;  // <root>/<interface>/<category>
  std::string path;    // folder and node name
  bool session_bound = true;
};
// kInvalidArgument: no interface, no protocol or host, or a category that is no name.
absl::StatusOr<RegisteredNode> NodeOf(absl::string_view root, const Url& url,
                                      const InterfaceRegistryOptions& options);

// Parameters in whose place Dubbo Java cuts: it takes out `timestamp` and `pid` by searching the
// node's name for "timestamp%3D" and "pid%3D", and so finds these names first.
std::vector<std::string> MisreadParameters(const Url& registered);

// `text` without the name of `node`, or its beginning: with the URL as people may see it instead.
std::string HideNodeName(absl::string_view text, const RegisteredNode& node);

// A node name that may be no URL, for a log: decoded as far as it can be, secrets hidden.
std::string ShowNodeName(absl::string_view name);

}  // namespace signpost::interface_internal

#endif  // SIGNPOST_REGISTRY_INTERFACE_REGISTERED_URL_H_

// `[group/]interface[:version]`, and how a consumer's key matches a provider's.
//
// Source: BaseServiceMetadata.buildServiceKey, ServiceKey.Matcher, ProtocolServiceKey.Matcher of
// Dubbo 3.3. Version `0.0.0` is kept as it is (dubbo-go drops it, Java does not).
//
// Threads: values.
#ifndef SIGNPOST_COMMON_SERVICE_KEY_H_
#define SIGNPOST_COMMON_SERVICE_KEY_H_

#include <string>
#include <tuple>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "signpost/common/url.h"

namespace signpost {

struct ServiceKey {
  std::string interface_name;
  std::string group;
  std::string version;

  // kInvalidArgument for an empty interface, or one that holds `/`, `,`, blanks or control
  // characters.
  static absl::StatusOr<ServiceKey> Parse(absl::string_view text);
  // From parameters interface (or path), group, version.
  static ServiceKey Of(const Url& url);

  std::string ToString() const;         // [group/]interface[:version]
  std::string ToColonString() const;    // interface:version:group, both colons always (rule keys)
  std::string ToDisplayString() const;  // interface[:version]

  friend bool operator==(const ServiceKey& a, const ServiceKey& b) {
    return std::tie(a.interface_name, a.group, a.version) ==
           std::tie(b.interface_name, b.group, b.version);
  }
  friend bool operator!=(const ServiceKey& a, const ServiceKey& b) { return !(a == b); }
  friend bool operator<(const ServiceKey& a, const ServiceKey& b) {
    return std::tie(a.interface_name, a.group, a.version) <
           std::tie(b.interface_name, b.group, b.version);
  }
};

// `key + ":" + protocol`; without protocol just the key. The key of MetadataInfo's services.
std::string MatchKey(const ServiceKey& key, absl::string_view protocol);

// Group and version: `*` matches all, empty only empty, `a,b` any listed (an empty item matches
// empty), else equality. Interfaces must be equal.
bool Matches(const ServiceKey& consumer, const ServiceKey& provider);

// Empty or `*` matches all, `a,b` any listed.
bool MatchesProtocol(absl::string_view wanted, absl::string_view offered);

}  // namespace signpost

#endif  // SIGNPOST_COMMON_SERVICE_KEY_H_

// What one revision of an application exports.
//
// Format: org.apache.dubbo.metadata.MetadataInfo of Dubbo 3.3 (docs/formats/metadata_info.md).
//
// Threads: values.
#ifndef SIGNPOST_METADATA_METADATA_INFO_H_
#define SIGNPOST_METADATA_METADATA_INFO_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "signpost/common/service_key.h"
#include "signpost/common/url.h"

namespace signpost {

struct ServiceInfo {
  std::string name;  // interface
  std::string group;
  std::string version;
  std::string protocol;
  int32_t port = 0;  // <= 0: the instance's endpoints tell it
  std::string path;
  std::map<std::string, std::string> params;

  ServiceKey key() const { return ServiceKey{name, group, version}; }
  std::string match_key() const;

  friend bool operator==(const ServiceInfo& a, const ServiceInfo& b) {
    return a.name == b.name && a.group == b.group && a.version == b.version &&
           a.protocol == b.protocol && a.port == b.port && a.path == b.path && a.params == b.params;
  }
};

struct MetadataInfo {
  std::string app;
  std::string revision;
  // By match key `[group/]interface[:version]:protocol`.
  std::map<std::string, ServiceInfo> services;
};

// One line, members in Java's order. The revision field is info.revision.
std::string ToJson(const MetadataInfo& info);

// Tolerant as Java and Go are; services without name or protocol are dropped, each named in
// `warnings` if given. kInvalidArgument: no JSON, no object, not UTF-8, too large.
absl::StatusOr<MetadataInfo> MetadataInfoFromJson(absl::string_view text,
                                                  std::vector<std::string>* warnings = nullptr);

// The service that a provider URL exports, with the parameters that Dubbo publishes (process
// details such as pid, timestamp, bind.ip are left out; docs/formats/metadata_info.md has the
// list).
ServiceInfo ServiceInfoFromUrl(const Url& provider);

// Parameters of the URL that belong to the instance instead: timestamp, heartbeat.timeout, ipv6.
std::map<std::string, std::string> InstanceParametersFromUrl(const Url& provider);

}  // namespace signpost

#endif  // SIGNPOST_METADATA_METADATA_INFO_H_

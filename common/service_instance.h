// One process of an application, as it stands in a registry centre.
//
// Format: Curator's ServiceInstance JSON with Dubbo's ZookeeperInstance as payload
// (docs/formats/instance.md); the accessors read the keys of its metadata.
//
// Threads: values.
#ifndef SIGNPOST_COMMON_SERVICE_INSTANCE_H_
#define SIGNPOST_COMMON_SERVICE_INSTANCE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace signpost {

// Keys of ServiceInstance::metadata.
inline constexpr char kRevisionKey[] = "dubbo.metadata.revision";
inline constexpr char kStorageTypeKey[] = "dubbo.metadata.storage-type";
inline constexpr char kEndpointsKey[] = "dubbo.endpoints";
inline constexpr char kTimestampKey[] = "timestamp";
// The revision of a process that exports nothing.
inline constexpr char kNoServicesRevision[] = "0";

struct ServiceInstance {
  std::string app;
  std::string host;  // IPv6 without brackets
  uint16_t port = 0;
  std::map<std::string, std::string> metadata;
  int64_t registration_time_ms = 0;  // since the epoch; 0 = not told

  // `host:port`, IPv6 in brackets: id and node name.
  std::string id() const;
  // Empty if absent.
  absl::string_view revision() const;
  // "local" if absent.
  absl::string_view storage_type() const;
  // Start time in ms, 0 if absent or no number.
  int64_t timestamp_ms() const;
  // (protocol, port) pairs of dubbo.endpoints in their order. Empty if absent or not JSON.
  std::vector<std::pair<std::string, uint16_t>> endpoints() const;
  void SetEndpoints(const std::vector<std::pair<std::string, uint16_t>>& endpoints);

  // What must hold before an instance is written: names, address, port (one bad node blinds every
  // Java consumer of the application). kInvalidArgument names the field.
  absl::Status Validate() const;

  friend bool operator==(const ServiceInstance& a, const ServiceInstance& b) {
    return a.app == b.app && a.host == b.host && a.port == b.port && a.metadata == b.metadata;
  }
  friend bool operator!=(const ServiceInstance& a, const ServiceInstance& b) { return !(a == b); }
};

// The node's data: the fields that Dubbo Java and dubbo-go read, in Java's order. Left out is what
// follows from others (id, payload.id, payload.name) or says nothing (sslPort, uriSpec,
// serviceType), and registrationTimeUTC, for which there is `timestamp`: every instance would have
// it (docs/formats/instance.md).
std::string ToCuratorJson(const ServiceInstance& instance);

// Tolerant: unknown fields, missing @class, numbers as text, bracketed addresses. An error for
// what no consumer could use (no address, port missing or 0, no JSON, not UTF-8, > 1 MiB).
// `app` is the folder's name; an instance that names another one is an error, as for Java and Go.
absl::StatusOr<ServiceInstance> FromCuratorJson(absl::string_view app, absl::string_view bytes);

// Application names: not empty, no `/`, `,`, `:`, blanks or control characters, valid UTF-8.
absl::Status ValidateAppName(absl::string_view app);

}  // namespace signpost

#endif  // SIGNPOST_COMMON_SERVICE_INSTANCE_H_

#include "signpost/common/service_instance.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/json.h"
#include "signpost/common/url.h"

namespace signpost {
namespace {

constexpr size_t kMaxBytes = 1 << 20;
constexpr char kPayloadClass[] = "org.apache.dubbo.registry.zookeeper.ZookeeperInstance";

absl::Status Bad(absl::string_view what) { return absl::InvalidArgumentError(what); }

bool IsValidHost(absl::string_view host) {
  return !host.empty() && IsValidUtf8(host) && std::none_of(host.begin(), host.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return absl::ascii_isspace(byte) || absl::ascii_iscntrl(byte) || c == '/' || c == ',' ||
           c == '[' || c == ']' || c == '@' || c == '?';
  });
}

absl::StatusOr<std::map<std::string, std::string>> ReadMetadata(const Json& metadata) {
  std::map<std::string, std::string> result;
  for (const auto& [key, value] : metadata.AsObject()) {
    if (value.is_array() || value.is_object()) {
      return Bad(absl::StrCat("payload.metadata: '", absl::CHexEscape(key), "' is no text"));
    }
    if (!value.is_null()) result[key] = value.AsText();
  }
  return result;
}

}  // namespace

std::string ServiceInstance::id() const { return JoinHostPort(host, port); }

absl::string_view ServiceInstance::revision() const {
  auto found = metadata.find(kRevisionKey);
  return found == metadata.end() ? absl::string_view() : absl::string_view(found->second);
}

absl::string_view ServiceInstance::storage_type() const {
  auto found = metadata.find(kStorageTypeKey);
  return found == metadata.end() || found->second.empty() ? absl::string_view("local")
                                                          : absl::string_view(found->second);
}

int64_t ServiceInstance::timestamp_ms() const {
  auto found = metadata.find(kTimestampKey);
  int64_t value = 0;
  if (found == metadata.end() || !absl::SimpleAtoi(found->second, &value) || value < 0) return 0;
  return value;
}

std::vector<std::pair<std::string, uint16_t>> ServiceInstance::endpoints() const {
  std::vector<std::pair<std::string, uint16_t>> result;
  auto found = metadata.find(kEndpointsKey);
  if (found == metadata.end()) return result;
  auto json = Json::Parse(found->second);
  if (!json.ok()) return result;
  for (const Json& item : json->AsArray()) {
    const int64_t endpoint_port = item["port"].AsInt();
    const std::string& protocol = item["protocol"].AsString();
    if (protocol.empty() || endpoint_port < 1 || endpoint_port > 65535) continue;
    result.emplace_back(protocol, static_cast<uint16_t>(endpoint_port));
  }
  return result;
}

void ServiceInstance::SetEndpoints(const std::vector<std::pair<std::string, uint16_t>>& endpoints) {
  Json array{Json::Array()};
  for (const auto& [protocol, endpoint_port] : endpoints) {
    Json item;
    item.Set("port", int64_t{endpoint_port});
    item.Set("protocol", protocol);
    array.Append(std::move(item));
  }
  metadata[kEndpointsKey] = array.Print();
}

absl::Status ServiceInstance::Validate() const {
  absl::Status status = ValidateAppName(app);
  if (!status.ok()) return status;
  if (!IsValidHost(host)) {
    return Bad(
        absl::StrCat("instance of ", app, ": host '", absl::CHexEscape(host), "' is no address"));
  }
  if (port == 0) return Bad(absl::StrCat("instance of ", app, " at ", host, ": port 0"));
  for (const auto& [key, value] : metadata) {
    if (key.empty() || !IsValidUtf8(key) || !IsValidUtf8(value)) {
      return Bad(absl::StrCat("instance of ", app, " at ", id(), ": metadata '",
                              absl::CHexEscape(key), "' is not UTF-8"));
    }
  }
  if (ToCuratorJson(*this).size() > kMaxBytes) {
    return Bad(absl::StrCat("instance of ", app, " at ", id(), ": over 1 MiB"));
  }
  return absl::OkStatus();
}

std::string ToCuratorJson(const ServiceInstance& instance) {
  Json payload;
  payload.Set("@class", kPayloadClass);
  payload.Set("metadata", JsonFromStringMap(instance.metadata));
  Json json;
  json.Set("name", instance.app);
  json.Set("address", BracketHost(instance.host));
  json.Set("port", int64_t{instance.port});
  json.Set("payload", std::move(payload));
  return json.Print();
}

absl::StatusOr<ServiceInstance> FromCuratorJson(absl::string_view app, absl::string_view bytes) {
  if (bytes.empty()) return Bad("no data");
  Json::Limits limits;
  limits.max_bytes = kMaxBytes;
  auto json = Json::Parse(bytes, limits);
  if (!json.ok()) return json.status();
  if (!json->is_object()) return Bad("not a JSON object");

  ServiceInstance instance;
  instance.app = std::string(app);
  if ((*json)["name"].AsString() != app) {
    return Bad(absl::StrCat("name is '", absl::CHexEscape((*json)["name"].AsString()),
                            "', not the application's"));
  }
  instance.host = UnbracketHost((*json)["address"].AsString());
  if (instance.host.empty()) return Bad("no address");
  if (!IsValidHost(instance.host)) return Bad("address is no host");
  const Json& port = (*json)["port"];
  if (port.is_null()) return Bad("no port");
  const int64_t number = port.AsInt(-1);
  if (number < 1 || number > 65535) return Bad("port is not from 1 to 65535");
  instance.port = static_cast<uint16_t>(number);
  instance.registration_time_ms = (*json)["registrationTimeUTC"].AsInt(0);
  const Json& payload = (*json)["payload"];
  if (!payload.is_object()) return Bad("no payload");
  if (!payload["metadata"].is_object()) return Bad("no payload.metadata");
  auto metadata = ReadMetadata(payload["metadata"]);
  if (!metadata.ok()) return metadata.status();
  instance.metadata = *std::move(metadata);
  return instance;
}

absl::Status ValidateAppName(absl::string_view app) {
  if (app.empty()) return Bad("application name is empty");
  const bool bad = !IsValidUtf8(app) || app == "." || app == ".." ||
                   std::any_of(app.begin(), app.end(), [](char c) {
                     const auto byte = static_cast<unsigned char>(c);
                     return c == '/' || c == ',' || c == ':' || absl::ascii_isspace(byte) ||
                            absl::ascii_iscntrl(byte);
                   });
  if (bad) {
    return Bad(absl::StrCat("application name '", absl::CHexEscape(app),
                            "' holds one of / , : blanks or control characters, or is not UTF-8"));
  }
  return absl::OkStatus();
}

}  // namespace signpost

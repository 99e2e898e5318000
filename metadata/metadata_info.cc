#include "signpost/metadata/metadata_info.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/json.h"
#include "signpost/common/status.h"

namespace signpost {
namespace {

// DefaultMetadataParamsFilter: not compared by case; also dropped as `<anything>.<name>...`.
constexpr absl::string_view kExcluded[] = {
    "monitor",    "bind.ip",           "bind.port",
    "qos.enable", "qos.host",          "qos.port",
    "pid",        "validation",        "interfaces",
    "timestamp",  "heartbeat.timeout", "qos.accept.foreign.ip",
    "ipv6",
};

// DefaultServiceURLCustomizer: what a provider's URL loses before it reaches any registry.
constexpr absl::string_view kNeverRegistered[] = {
    "register-mode", "file-cache", "executor-management-mode",
    "background",    "anyhost",    "threadname",
    "threadpool",    "alive",      "queues",
    "corethreads",   "threads",
};

constexpr absl::string_view kInstanceParameters[] = {"heartbeat.timeout", "timestamp", "ipv6"};

constexpr int64_t kMaxPort = 65535;

bool IsPublished(absl::string_view key) {
  if (key.empty() || key.front() == '.' || absl::StartsWith(key, "triple.")) return false;
  for (absl::string_view excluded : kExcluded) {
    if (absl::EqualsIgnoreCase(key, excluded)) return false;
    if (absl::StrContains(key, absl::StrCat(".", excluded))) return false;
  }
  return std::find(std::begin(kNeverRegistered), std::end(kNeverRegistered), key) ==
         std::end(kNeverRegistered);
}

Json ServiceToJson(const ServiceInfo& service) {
  // Fastjson2's order: by name. Absent is how Java writes null.
  Json::Object members;
  const auto add = [&members](absl::string_view key, const std::string& value) {
    if (!value.empty()) members.emplace_back(std::string(key), Json(value));
  };
  add("group", service.group);
  add("name", service.name);
  members.emplace_back("params", JsonFromStringMap(service.params));
  add("path", service.path);
  if (service.port > 0) members.emplace_back("port", Json(int64_t{service.port}));
  add("protocol", service.protocol);
  add("version", service.version);
  return Json(std::move(members));
}

// nullopt-like: `fault` is set when no consumer could use the service.
ServiceInfo ServiceFromJson(const Json& json, std::string& fault, std::vector<std::string>& notes) {
  ServiceInfo service;
  if (!json.is_object()) {
    fault = "no object";
    return service;
  }
  service.name = json["name"].AsText();
  service.protocol = json["protocol"].AsText();
  if (service.name.empty()) fault = "no name";
  if (service.protocol.empty()) fault = fault.empty() ? "no protocol" : "no name, no protocol";
  if (!fault.empty()) return service;
  service.group = json["group"].AsText();
  service.version = json["version"].AsText();
  // Dubbo Java drops a service without path, dubbo-go lists it under its name, as here.
  service.path = json["path"].AsText();
  if (service.path.empty()) service.path = service.name;
  const int64_t port = json["port"].AsInt(0);
  if (port > kMaxPort) {
    notes.push_back(absl::StrCat("port ", port, " is out of range and is taken as none"));
  } else if (port > 0) {
    service.port = static_cast<int32_t>(port);
  }
  for (const auto& [key, value] : json["params"].AsObject()) {
    if (value.is_null() || value.is_object() || value.is_array()) continue;
    service.params[key] = value.AsText();
  }
  return service;
}

}  // namespace

std::string ServiceInfo::match_key() const { return MatchKey(key(), protocol); }

std::string ToJson(const MetadataInfo& info) {
  Json::Object services;
  for (const auto& [key, service] : info.services) {
    services.emplace_back(key, ServiceToJson(service));
  }
  Json::Object document;
  document.emplace_back("app", Json(info.app));
  document.emplace_back("revision", Json(info.revision));
  document.emplace_back("services", Json(std::move(services)));
  return Json(std::move(document)).Print();
}

// Of one document.
constexpr size_t kMaxWarnings = 10;

absl::StatusOr<MetadataInfo> MetadataInfoFromJson(absl::string_view text,
                                                  std::vector<std::string>* warnings) {
  if (!IsValidUtf8(text)) return absl::InvalidArgumentError("metadata document: not UTF-8");
  absl::StatusOr<Json> json = Json::Parse(text);
  if (!json.ok()) return Annotate(json.status(), "metadata document");
  if (!json->is_object()) {
    return absl::InvalidArgumentError("metadata document: the JSON is no object");
  }
  size_t more = 0;
  const auto warn = [warnings, &more](std::string warning) {
    if (warnings == nullptr) return;
    if (warnings->size() < kMaxWarnings) {
      warnings->push_back(std::move(warning));
    } else {
      ++more;
    }
  };
  MetadataInfo info;
  info.app = (*json)["app"].AsText();
  info.revision = (*json)["revision"].AsText();
  const Json& services = (*json)["services"];
  if (!services.is_null() && !services.is_object()) warn("services: no object");
  for (const auto& [key, value] : services.AsObject()) {
    std::string fault;
    std::vector<std::string> notes;
    ServiceInfo service = ServiceFromJson(value, fault, notes);
    if (!fault.empty()) {
      warn(absl::StrCat("service ", key, " is dropped: ", fault));
      continue;
    }
    for (const std::string& note : notes) warn(absl::StrCat("service ", key, ": ", note));
    // The key of the document is any text to Dubbo; ours is always the match key.
    std::string match_key = service.match_key();
    const bool is_new = info.services.insert_or_assign(match_key, std::move(service)).second;
    if (!is_new) warn(absl::StrCat("service ", match_key, " is there twice; the last one counts"));
  }
  if (more > 0) warnings->push_back(absl::StrCat("and ", more, " more"));
  return info;
}

ServiceInfo ServiceInfoFromUrl(const Url& provider) {
  const ServiceKey key = ServiceKey::Of(provider);
  ServiceInfo service;
  service.name = key.interface_name;
  service.group = key.group;
  service.version = key.version;
  service.protocol = provider.protocol();
  service.port = provider.port();
  service.path = provider.path().empty() ? key.interface_name : provider.path();
  for (const auto& [name, value] : provider.parameters()) {
    if (IsPublished(name)) service.params.emplace(name, value);
  }
  return service;
}

std::map<std::string, std::string> InstanceParametersFromUrl(const Url& provider) {
  std::map<std::string, std::string> result;
  for (absl::string_view key : kInstanceParameters) {
    const absl::string_view value = provider.Get(key);
    if (!value.empty()) result.emplace(std::string(key), std::string(value));
  }
  return result;
}

}  // namespace signpost

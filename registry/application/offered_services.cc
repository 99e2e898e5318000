#include "signpost/registry/application/offered_services.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "signpost/registry/provider_weight.h"

namespace signpost::application_internal {

using registry_internal::ParseWeight;
using registry_internal::ProviderWeight;

namespace {

absl::string_view Find(const StringMap& map, const char* key) {
  auto it = map.find(key);
  return it == map.end() ? absl::string_view() : absl::string_view(it->second);
}

void SetIfAbsent(StringMap& map, const char* key, const std::string& value) {
  if (!value.empty()) map.try_emplace(key, value);
}

}  // namespace

std::shared_ptr<const OfferedServices> PrepareOffers(const std::string& app,
                                                     const std::string& revision,
                                                     MetadataPtr metadata) {
  auto offers = std::make_shared<OfferedServices>();
  std::map<std::string, std::set<int32_t>> ports;
  for (const auto& [key, info] : metadata->services) {
    if (info.port > 0) ports[info.protocol].insert(info.port);
  }
  for (const auto& [key, info] : metadata->services) {
    OfferedService offer;
    offer.info = &info;
    auto service = std::make_shared<EndpointService>();
    service->name = info.key().ToString();
    service->protocol = info.protocol;
    service->app = app;
    service->revision = revision;
    service->path = info.path.empty() ? info.name : info.path;
    service->params = info.params;
    SetIfAbsent(service->params, "interface", info.name);
    SetIfAbsent(service->params, "group", info.group);
    SetIfAbsent(service->params, "version", info.version);
    offer.weight =
        ProviderWeight(Find(service->params, "weight"), Find(service->params, "release"));
    offer.service = std::move(service);
    offer.several_ports = ports[info.protocol].size() > 1;
    offers->by_interface[info.name].push_back(std::move(offer));
  }
  offers->metadata = std::move(metadata);
  return offers;
}

uint16_t PortOf(const ServiceInstance& instance, const OfferedService& offer) {
  const int32_t own = offer.info->port;
  const bool has_own = own > 0 && own <= std::numeric_limits<uint16_t>::max();
  if (has_own && offer.several_ports) return static_cast<uint16_t>(own);
  for (const auto& [protocol, port] : instance.endpoints()) {
    if (protocol == offer.info->protocol && port != 0) return port;
  }
  return has_own ? static_cast<uint16_t>(own) : instance.port;
}

bool IsEnabled(const ServiceInstance& instance, const OfferedService& offer) {
  const auto get = [&](const char* key) {
    const absl::string_view value = Find(offer.service->params, key);
    return value.empty() ? Find(instance.metadata, key) : value;
  };
  return !absl::EqualsIgnoreCase(get("disabled"), "true") &&
         !absl::EqualsIgnoreCase(get("enabled"), "false");
}

EndpointSpec AddressOf(const InstancePtr& instance, const OfferedService& offer) {
  EndpointSpec spec;
  spec.host = instance->host;
  spec.port = PortOf(*instance, offer);
  spec.weight = ParseWeight(Find(instance->metadata, "weight"), offer.weight);
  spec.timestamp_ms = instance->timestamp_ms();
  spec.service = offer.service;
  // Lives as long as the instance; no copy.
  spec.instance_metadata = std::shared_ptr<const StringMap>(instance, &instance->metadata);
  return spec;
}

}  // namespace signpost::application_internal

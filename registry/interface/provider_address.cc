#include "signpost/registry/interface/provider_address.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/service_key.h"
#include "signpost/registry/provider_weight.h"

namespace signpost::interface_internal {
namespace {

// timestamp and weight have a place of their own.
constexpr absl::string_view kOfProcess[] = {"pid",    "bind.ip",   "bind.port", "anyhost",
                                            "ipv6",   "token",     "qos.host",  "qos.port",
                                            "weight", "timestamp", "instance"};

int64_t TimestampMs(const Url& url) {
  int64_t value = 0;
  if (!absl::SimpleAtoi(url.Get("timestamp"), &value) || value < 0) return 0;
  // dubbo-go writes seconds.
  constexpr int64_t kLatestSeconds = 100'000'000'000;
  return value < kLatestSeconds ? value * 1000 : value;
}

// With the length before each text, so that no two services have the same.
std::string KeyOf(const EndpointService& service) {
  std::string key;
  const auto append = [&key](absl::string_view text) {
    absl::StrAppend(&key, text.size(), ":", text);
  };
  for (const std::string* each :
       {&service.name, &service.protocol, &service.app, &service.revision, &service.path}) {
    append(*each);
  }
  for (const auto& [name, value] : service.params) {
    append(name);
    append(value);
  }
  return key;
}

}  // namespace

std::shared_ptr<const EndpointService> ServicePool::Share(EndpointService service) {
  if (services_.size() >= sweep_at_) Sweep();
  std::weak_ptr<const EndpointService>& slot = services_[KeyOf(service)];
  std::shared_ptr<const EndpointService> shared = slot.lock();
  if (shared == nullptr) {
    shared = std::make_shared<const EndpointService>(std::move(service));
    slot = shared;
  }
  return shared;
}

void ServicePool::Sweep() {
  for (auto it = services_.begin(); it != services_.end();) {
    it = it->second.expired() ? services_.erase(it) : std::next(it);
  }
  sweep_at_ = std::max<size_t>(64, 2 * services_.size());
}

size_t ServicePool::size() {
  Sweep();
  return services_.size();
}

absl::StatusOr<EndpointSpec> AddressOf(const Url& provider, const std::string& protocol,
                                       ServicePool& pool) {
  if (provider.host().empty() || provider.port() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(provider.host().empty() ? "no host" : "no port", " in the provider's URL"));
  }
  EndpointSpec spec;
  spec.host = UnbracketHost(provider.host());
  spec.port = provider.port();
  spec.weight = registry_internal::ProviderWeight(provider.Get("weight"), provider.Get("release"));
  spec.timestamp_ms = TimestampMs(provider);

  EndpointService service;
  const ServiceKey key = ServiceKey::Of(provider);
  service.name = key.ToString();
  service.protocol = protocol;
  service.app = std::string(provider.Get("application"));
  service.path = provider.path().empty() ? key.interface_name : provider.path();
  service.params = provider.parameters();
  // A simplified URL names it by its path alone.
  service.params.try_emplace("interface", key.interface_name);
  StringMap own;
  for (absl::string_view name : kOfProcess) {
    auto it = service.params.find(std::string(name));
    if (it == service.params.end()) continue;
    if (name != "timestamp" && name != "weight") own.insert(*it);
    service.params.erase(it);
  }
  spec.service = pool.Share(std::move(service));
  if (!own.empty()) spec.instance_metadata = std::make_shared<const StringMap>(std::move(own));
  return spec;
}

}  // namespace signpost::interface_internal

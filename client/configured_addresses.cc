#include "signpost/client/configured_addresses.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "signpost/common/log.h"
#include "signpost/common/service_key.h"

namespace signpost::client_internal {
namespace {

bool IsDisabled(const Url& url) {
  return url.GetBool("disabled", false).value_or(false) ||
         !url.GetBool("enabled", true).value_or(true);
}

int32_t WeightOf(const Url& url, int32_t fallback) {
  const auto weight = url.GetInt("weight", fallback);
  if (!weight.ok()) return fallback;
  return static_cast<int32_t>(std::clamp<int64_t>(*weight, 0, std::numeric_limits<int32_t>::max()));
}

}  // namespace

Url ProviderUrlOf(const Endpoint& endpoint) {
  const EndpointService& service = *endpoint->service;
  Url::Parts parts;
  parts.protocol = service.protocol;
  parts.host = BracketHost(endpoint->host);
  parts.port = endpoint->port;
  parts.path = service.path;
  parts.parameters = service.params;
  if (endpoint->instance_metadata != nullptr) {
    parts.parameters.insert(endpoint->instance_metadata->begin(),
                            endpoint->instance_metadata->end());
  }
  // The one that counts: of several that are published, or kept apart from the parameters.
  if (endpoint->weight != EndpointSpec().weight || parts.parameters.count("weight") != 0) {
    parts.parameters["weight"] = absl::StrCat(endpoint->weight);
  }
  // What peers leave out where it follows from elsewhere.
  auto fill = [&parts](const char* name, const std::string& value) {
    if (!value.empty()) parts.parameters.emplace(name, value);
  };
  if (const auto key = ServiceKey::Parse(service.name); key.ok()) {
    fill("interface", key->interface_name);
    fill("group", key->group);
    fill("version", key->version);
  }
  fill("application", service.app);
  fill("side", "provider");
  return Url(std::move(parts));
}

ConfiguredAddresses::ConfiguredAddresses(EndpointTable& table, ConfiguratorTarget target)
    : table_(table), target_(std::move(target)) {
  published_.list = AddressList::Empty();
}

ServiceAddresses ConfiguredAddresses::SetAddresses(const ServiceAddresses& published) {
  const bool follows = published.delta.from_version == published_.list->version();
  published_ = published;
  if (Passes()) {
    AddressDelta delta = published.delta;
    if (list_->version() != delta.from_version) return Rebuild();
    list_ = published.list;
    return Told(std::move(delta));
  }
  if (!follows) return Rebuild();
  AddressDelta delta = Translate(published.delta);
  delta.from_version = list_->version();
  if (!delta.empty()) list_ = list_->Apply(delta);
  delta.to_version = list_->version();
  return Told(std::move(delta));
}

ServiceAddresses ConfiguredAddresses::SetConfigurators(
    std::shared_ptr<const ConfiguratorSet> configurators) {
  configurators_ = std::move(configurators);
  return Rebuild();
}

ServiceAddresses ConfiguredAddresses::Rebuild() {
  configured_.clear();
  changed_.clear();
  std::vector<Endpoint> wanted;
  wanted.reserve(published_.list->size());
  published_.list->ForEach([this, &wanted](const Endpoint& endpoint) {
    if (Passes()) return wanted.push_back(endpoint);
    Endpoint configured = Configure(endpoint);
    configured_.emplace(endpoint.id(), configured);
    if (configured) wanted.push_back(std::move(configured));
  });
  AddressDelta delta = list_->DiffTo(wanted);
  if (Passes()) {
    // The published list itself, so that its next delta applies.
    list_ = published_.list;
  } else if (!delta.empty()) {
    list_ = list_->Apply(delta);
  }
  delta.to_version = list_->version();
  return Told(std::move(delta));
}

ServiceAddresses ConfiguredAddresses::Told(AddressDelta delta) {
  ServiceAddresses told = published_;
  told.list = list_;
  told.delta = std::move(delta);
  if (list_->empty() && !published_.list->empty()) {
    told.state =
        absl::NotFoundError(absl::StrCat("override rules disable all ", published_.list->size(),
                                         " addresses of ", published_.list->spec(0).service->name));
  }
  return told;
}

AddressDelta ConfiguredAddresses::Translate(const AddressDelta& published) {
  AddressDelta delta;
  auto take = [this](const Endpoint& endpoint) {
    auto it = configured_.find(endpoint.id());
    if (it == configured_.end()) return Endpoint();
    Endpoint configured = std::move(it->second);
    configured_.erase(it);
    return configured;
  };
  for (const Endpoint& endpoint : published.removed) {
    if (Endpoint before = take(endpoint)) delta.removed.push_back(std::move(before));
  }
  for (const AddressDelta::Update& update : published.updated) {
    Endpoint before = take(update.before);
    Endpoint after = Configure(update.after);
    configured_.emplace(update.after.id(), after);
    if (before == after) continue;
    if (before && after) {
      delta.updated.push_back({std::move(before), std::move(after)});
    } else if (before) {
      delta.removed.push_back(std::move(before));
    } else {
      delta.added.push_back(std::move(after));
    }
  }
  for (const Endpoint& endpoint : published.added) {
    Endpoint after = Configure(endpoint);
    configured_.emplace(endpoint.id(), after);
    if (after) delta.added.push_back(std::move(after));
  }
  return delta;
}

Endpoint ConfiguredAddresses::Configure(const Endpoint& published) {
  const Url before = ProviderUrlOf(published);
  const Url after = configurators_->Apply(before, target_);
  if (after == before) return published;
  if (IsDisabled(after)) return Endpoint();
  StringMap different;
  for (const auto& [key, value] : after.parameters()) {
    const auto old = before.parameters().find(key);
    if (old == before.parameters().end() || old->second != value) different.emplace(key, value);
  }
  // Those of revisions that went are let go.
  if (changed_.size() > 2 * configured_.size() + 16) {
    for (auto it = changed_.begin(); it != changed_.end();) {
      it = it->second.use_count() == 1 ? changed_.erase(it) : std::next(it);
    }
  }
  EndpointSpec spec = *published;
  std::shared_ptr<const EndpointService>& shared = changed_[{spec.service, different}];
  if (shared == nullptr) {
    auto service = std::make_shared<EndpointService>(*spec.service);
    for (const auto& [key, value] : different) service->params[key] = value;
    shared = std::move(service);
  }
  spec.service = shared;
  if (different.count("weight") != 0) spec.weight = WeightOf(after, spec.weight);
  Endpoint endpoint = table_.Intern(std::move(spec));
  if (endpoint) return endpoint;
  Log(LogLevel::kError, absl::StrCat(published->service->name, " at ", published.address(),
                                     ": override rule not applied: the process holds as many "
                                     "addresses as it can"));
  return published;
}

}  // namespace signpost::client_internal

#include "signpost/metadata/metadata_collector.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/service_key.h"
#include "signpost/metadata/revision.h"

namespace signpost {
namespace {

constexpr char kProtocolVersion[] = "2.0.2";

// Equal exports have equal revisions only if the order of exports does not count; of the times of
// several services the earliest is when the process began to serve.
void MergeInstanceParameters(const Url& url, CollectedMetadata& collected) {
  for (const auto& [key, value] : InstanceParametersFromUrl(url)) {
    const auto [it, is_new] = collected.instance_parameters.emplace(key, value);
    if (is_new || it->second == value) continue;
    if (key == "timestamp") {
      int64_t known = 0;
      int64_t other = 0;
      const bool known_is_number = absl::SimpleAtoi(it->second, &known);
      if (absl::SimpleAtoi(value, &other) && (!known_is_number || other < known)) {
        it->second = value;
      }
      continue;
    }
    collected.warnings.push_back(absl::StrCat("parameter ", key, " is ", it->second, " and ", value,
                                              " in services of one instance; the first counts"));
  }
}

void MergeEndpoint(const Url& url, CollectedMetadata& collected) {
  for (const auto& [protocol, port] : collected.endpoints) {
    if (protocol != url.protocol()) continue;
    if (port != url.port()) {
      collected.warnings.push_back(
          absl::StrCat("protocol ", protocol, " is exported at ports ", port, " and ", url.port(),
                       "; the instance names ", port, " only, so dubbo-go will not find ",
                       ServiceKey::Of(url).ToString(), " at ", url.port()));
    }
    return;
  }
  collected.endpoints.emplace_back(url.protocol(), url.port());
}

// What consumers know without it: Dubbo Java has these from the service itself and the call, before
// it looks at the parameters; dubbo-go does not read them. One document has them
// once for each service, and Java's are a third larger for it.
void LeaveOutImplied(ServiceInfo& service) {
  const std::pair<const char*, std::string> kImplied[] = {
      {"interface", service.name},  {"side", "provider"},   {"group", service.group},
      {"version", service.version}, {"path", service.path}, {"dubbo", kProtocolVersion}};
  for (const auto& [key, value] : kImplied) {
    auto it = service.params.find(key);
    if (it != service.params.end() && it->second == value) service.params.erase(it);
  }
}

}  // namespace

MetadataCollector::MetadataCollector(std::string app) : app_(std::move(app)) {}

absl::Status MetadataCollector::Add(const Url& provider) {
  const auto fault = [&provider](absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat("export ", provider.ToString(), ": ", what, " missing"));
  };
  if (provider.protocol().empty()) return fault("protocol");
  if (provider.host().empty()) return fault("host");
  if (provider.port() == 0) return fault("port");
  if (provider.service_interface().empty()) return fault("interface");
  if (std::find(urls_.begin(), urls_.end(), provider) != urls_.end()) return absl::OkStatus();
  urls_.push_back(provider);
  dirty_ = true;
  return absl::OkStatus();
}

bool MetadataCollector::Remove(const Url& provider) {
  const auto it = std::find(urls_.begin(), urls_.end(), provider);
  if (it == urls_.end()) return false;
  urls_.erase(it);
  dirty_ = true;
  return true;
}

void MetadataCollector::Clear() {
  if (urls_.empty()) return;
  urls_.clear();
  dirty_ = true;
}

CollectedMetadata MetadataCollector::Build() {
  CollectedMetadata collected;
  collected.info.app = app_;
  std::map<std::string, std::string> addresses;  // by match key
  for (const Url& url : urls_) {
    if (collected.host.empty()) collected.host = UnbracketHost(url.host());
    ServiceInfo service = ServiceInfoFromUrl(url);
    // dubbo-go's tag router looks for it there.
    service.params.emplace("application", app_);
    LeaveOutImplied(service);
    const std::string match_key = service.match_key();
    if (service.path != service.name) {
      collected.warnings.push_back(absl::StrCat("service ", match_key, " has path ", service.path,
                                                "; Dubbo Java finds it only by that name"));
    }
    collected.interfaces.insert(service.name);
    MergeInstanceParameters(url, collected);
    MergeEndpoint(url, collected);
    collected.info.services.emplace(match_key, std::move(service));
    // At one address it is one export that changes: what an override rule makes of it is added
    // before the URL that was there is taken off.
    const auto [first, is_new] = addresses.emplace(match_key, url.address());
    if (!is_new && first->second != url.address()) {
      collected.warnings.push_back(absl::StrCat("service ", match_key, " is exported more than ",
                                                "once; the first URL counts, not ",
                                                url.ToString()));
    }
  }
  collected.info.revision = ComputeRevision(collected.info);
  dirty_ = false;
  return collected;
}

}  // namespace signpost

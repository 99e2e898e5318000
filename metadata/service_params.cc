#include "signpost/metadata/service_params.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/json.h"

namespace signpost {

std::string MetadataServiceParams::ToString() const {
  return protocol.empty() ? "" : absl::StrCat(protocol, ":", port);
}

MetadataServiceParams MetadataServiceParamsOf(const ServiceInstance& instance) {
  MetadataServiceParams result;
  const auto found = instance.metadata.find(std::string(kMetadataServiceParamsKey));
  if (found == instance.metadata.end()) return result;
  const auto params = Json::Parse(found->second);
  if (!params.ok()) return result;
  result.protocol = (*params)["protocol"].AsString();
  int32_t port = 0;
  if (absl::SimpleAtoi((*params)["port"].AsText(), &port) && port > 0 && port <= 65535) {
    result.port = static_cast<uint16_t>(port);
  }
  return result;
}

uint16_t MetadataServicePort(const ServiceInstance& instance, absl::string_view protocol) {
  const MetadataServiceParams params = MetadataServiceParamsOf(instance);
  return params.protocol == protocol ? params.port : 0;
}

}  // namespace signpost

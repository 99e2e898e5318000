#include "signpost/metadata/triple/metadata_info_v2.h"

#include <climits>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "signpost/common/url.h"
#include "signpost/metadata/triple/metadata_service_v2.pb.h"

namespace signpost::metadata_triple_internal {
namespace {

namespace v2 = org::apache::dubbo::metadata;

constexpr int32_t kMaxPort = 65535;

bool IsReadable(const ServiceInfo& service) {
  for (const std::string* text :
       {&service.name, &service.group, &service.version, &service.protocol, &service.path}) {
    if (!IsValidUtf8(*text)) return false;
  }
  return true;
}

v2::ServiceInfoV2 ServiceToWire(const ServiceInfo& service) {
  v2::ServiceInfoV2 wire;
  wire.set_name(service.name);
  wire.set_group(service.group);
  wire.set_version(service.version);
  wire.set_protocol(service.protocol);
  if (service.port > 0) wire.set_port(service.port);
  wire.set_path(service.path);
  for (const auto& [key, value] : service.params) {
    if (IsValidUtf8(key) && IsValidUtf8(value)) (*wire.mutable_params())[key] = value;
  }
  return wire;
}

}  // namespace

v2::MetadataInfoV2 ToWire(const MetadataInfo& info) {
  v2::MetadataInfoV2 wire;
  if (IsValidUtf8(info.app)) wire.set_app(info.app);
  if (IsValidUtf8(info.revision)) wire.set_version(info.revision);
  for (const auto& [key, service] : info.services) {
    if (IsReadable(service))
      (*wire.mutable_services())[service.match_key()] = ServiceToWire(service);
  }
  return wire;
}

MetadataInfo FromWire(const v2::MetadataInfoV2& wire) {
  MetadataInfo info;
  info.app = wire.app();
  info.revision = wire.version();
  for (const auto& [key, from] : wire.services()) {
    if (from.name().empty() || from.protocol().empty()) continue;
    ServiceInfo service;
    service.name = from.name();
    service.group = from.group();
    service.version = from.version();
    service.protocol = from.protocol();
    service.path = from.path().empty() ? from.name() : from.path();
    if (from.port() > 0 && from.port() <= kMaxPort) service.port = from.port();
    service.params.insert(from.params().begin(), from.params().end());
    std::string match_key = service.match_key();
    info.services.insert_or_assign(std::move(match_key), std::move(service));
  }
  return info;
}

absl::StatusOr<MetadataInfo> ParseMetadataInfoV2(absl::string_view bytes) {
  v2::MetadataInfoV2 wire;
  if (bytes.size() > INT_MAX ||
      !wire.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError("MetadataInfoV2: the bytes are no such message");
  }
  return FromWire(wire);
}

}  // namespace signpost::metadata_triple_internal

#include "signpost/metadata/thrift/wire.h"

#include <utility>

namespace signpost::metadata_thrift_internal {

metadata_wire::MetadataInfo ToWire(const MetadataInfo& info) {
  metadata_wire::MetadataInfo wire;
  wire.app = info.app;
  wire.revision = info.revision;
  for (const auto& [key, service] : info.services) {
    metadata_wire::ServiceInfo& to = wire.services[key];
    to.name = service.name;
    if (!service.group.empty()) to.__set_group(service.group);
    if (!service.version.empty()) to.__set_version(service.version);
    to.protocol = service.protocol;
    to.path = service.path;
    if (service.port > 0) to.__set_port(service.port);
    to.params = service.params;
  }
  return wire;
}

MetadataInfo FromWire(const metadata_wire::MetadataInfo& wire) {
  MetadataInfo info;
  info.app = wire.app;
  info.revision = wire.revision;
  for (const auto& [key, from] : wire.services) {
    if (from.name.empty() || from.protocol.empty()) continue;
    ServiceInfo service;
    service.name = from.name;
    service.group = from.group;
    service.version = from.version;
    service.protocol = from.protocol;
    service.path = from.path.empty() ? from.name : from.path;
    service.port = from.port;
    service.params = from.params;
    std::string match_key = service.match_key();
    info.services.insert_or_assign(std::move(match_key), std::move(service));
  }
  return info;
}

}  // namespace signpost::metadata_thrift_internal

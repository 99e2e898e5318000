// What a revision offers, prepared once, and the address of one offer on one instance.
// Private to this folder, and to tools that show the addresses that consumers are told.
//
// Threads: values.
#ifndef SIGNPOST_REGISTRY_APPLICATION_OFFERED_SERVICES_H_
#define SIGNPOST_REGISTRY_APPLICATION_OFFERED_SERVICES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "signpost/common/address_list.h"
#include "signpost/metadata/metadata_resolver.h"
#include "signpost/registry/service_discovery.h"

namespace signpost::application_internal {

struct OfferedService {
  const ServiceInfo* info = nullptr;  // of OfferedServices::metadata
  // Shared by all endpoints. Its parameters hold interface, group and version also where the
  // document left them out.
  std::shared_ptr<const EndpointService> service;
  int32_t weight = 100;
  // Services of this protocol have several ports in this document.
  bool several_ports = false;
};

struct OfferedServices {
  MetadataPtr metadata;
  std::map<std::string, std::vector<OfferedService>> by_interface;
};

// `app` and `revision`: what was asked for; a document need not name them.
std::shared_ptr<const OfferedServices> PrepareOffers(const std::string& app,
                                                     const std::string& revision,
                                                     MetadataPtr metadata);

// The port: the service's, except that the instance's dubbo.endpoints count where they name another
// one for the protocol (instances on several ports may share a revision), unless the document
// itself has several for it. Without a service's port: the endpoints' for the protocol, else the
// instance's.
uint16_t PortOf(const ServiceInstance& instance, const OfferedService& offer);

// False: the provider says disabled=true or enabled=false.
bool IsEnabled(const ServiceInstance& instance, const OfferedService& offer);

EndpointSpec AddressOf(const InstancePtr& instance, const OfferedService& offer);

}  // namespace signpost::application_internal

#endif  // SIGNPOST_REGISTRY_APPLICATION_OFFERED_SERVICES_H_

// Where an instance of storage type `local` answers for its metadata.
//
// Format: instance metadata `dubbo.metadata-service.url-params`, as Dubbo 3 writes it
// (docs/formats/metadata_service.md).
//
// Threads: values.
#ifndef SIGNPOST_METADATA_SERVICE_PARAMS_H_
#define SIGNPOST_METADATA_SERVICE_PARAMS_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "signpost/common/service_instance.h"

namespace signpost {

inline constexpr absl::string_view kMetadataServiceParamsKey = "dubbo.metadata-service.url-params";

struct MetadataServiceParams {
  std::string protocol;  // "": the instance names none, or what it says cannot be read
  uint16_t port = 0;     // 0: none
  // `dubbo:20881`, as people read it; "" without a protocol.
  std::string ToString() const;
};

MetadataServiceParams MetadataServiceParamsOf(const ServiceInstance& instance);

// The port at which it answers by this protocol; 0: it does not.
uint16_t MetadataServicePort(const ServiceInstance& instance, absl::string_view protocol);

}  // namespace signpost

#endif  // SIGNPOST_METADATA_SERVICE_PARAMS_H_

// MetadataInfo and the structs of metadata_service.thrift. Private to this folder.
#ifndef SIGNPOST_METADATA_THRIFT_WIRE_H_
#define SIGNPOST_METADATA_THRIFT_WIRE_H_

#include "signpost/metadata/metadata_info.h"
#include "signpost/metadata/thrift/metadata_service_types.h"

namespace signpost::metadata_thrift_internal {

metadata_wire::MetadataInfo ToWire(const MetadataInfo& info);
// Services without name or protocol are left out, as everywhere.
MetadataInfo FromWire(const metadata_wire::MetadataInfo& wire);

}  // namespace signpost::metadata_thrift_internal

#endif  // SIGNPOST_METADATA_THRIFT_WIRE_H_

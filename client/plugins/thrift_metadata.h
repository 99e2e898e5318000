// Metadata asked for and answered over Apache Thrift, between C++ processes.
//
//   options.metadata = "local";
//   options.metadata_protocols = {signpost::ThriftMetadata()};
#ifndef SIGNPOST_CLIENT_PLUGINS_THRIFT_METADATA_H_
#define SIGNPOST_CLIENT_PLUGINS_THRIFT_METADATA_H_

#include "signpost/client/client.h"
#include "signpost/metadata/thrift/thrift_metadata.h"

namespace signpost {

// `options`: where its server listens.
MetadataProtocol ThriftMetadata(const ThriftMetadataOptions& options = ThriftMetadataOptions());

}  // namespace signpost

#endif  // SIGNPOST_CLIENT_PLUGINS_THRIFT_METADATA_H_

// Metadata asked for and answered over Dubbo's own protocol: with Java and Go processes too.
//
//   options.metadata = "local";
//   options.metadata_protocols = {signpost::DubboMetadata()};
#ifndef SIGNPOST_CLIENT_PLUGINS_DUBBO_METADATA_H_
#define SIGNPOST_CLIENT_PLUGINS_DUBBO_METADATA_H_

#include "signpost/client/client.h"
#include "signpost/metadata/dubbo/dubbo_metadata.h"

namespace signpost {

// `options`: where its server listens.
MetadataProtocol DubboMetadata(const DubboMetadataOptions& options = DubboMetadataOptions());

}  // namespace signpost

#endif  // SIGNPOST_CLIENT_PLUGINS_DUBBO_METADATA_H_

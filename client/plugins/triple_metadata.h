// Metadata asked for and answered over Triple, as Java and Go processes do.
//
//   options.metadata = "local";
//   options.metadata_protocols = {signpost::TripleMetadata()};
#ifndef SIGNPOST_CLIENT_PLUGINS_TRIPLE_METADATA_H_
#define SIGNPOST_CLIENT_PLUGINS_TRIPLE_METADATA_H_

#include "signpost/client/client.h"
#include "signpost/metadata/triple/triple_metadata.h"

namespace signpost {

// `options`: where its server listens.
MetadataProtocol TripleMetadata(const TripleMetadataOptions& options = TripleMetadataOptions());

}  // namespace signpost

#endif  // SIGNPOST_CLIENT_PLUGINS_TRIPLE_METADATA_H_

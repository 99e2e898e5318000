#include "signpost/client/plugins/triple_metadata.h"

#include <memory>
#include <utility>

namespace signpost {

MetadataProtocol TripleMetadata(const TripleMetadataOptions& options) {
  MetadataProtocol protocol;
  protocol.fetcher = [](Executor& executor) { return NewTripleMetadataFetcher(executor); };
  protocol.server = [options](std::shared_ptr<const MetadataService> service) {
    return ServeTripleMetadata(std::move(service), options);
  };
  return protocol;
}

}  // namespace signpost

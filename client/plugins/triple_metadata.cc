#include "signpost/client/plugins/triple_metadata.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace signpost {

MetadataProtocol TripleMetadata(const TripleMetadataOptions& options) {
  MetadataProtocol protocol;
  protocol.name = "tri";
  protocol.fetcher = [](Executor& executor) { return NewTripleMetadataFetcher(executor); };
  protocol.server = [options](std::shared_ptr<const MetadataService> service,
                              const std::string& host, uint16_t port) {
    TripleMetadataOptions at = options;
    if (!host.empty()) at.host = host;
    if (port != 0) at.port = port;
    return ServeTripleMetadata(std::move(service), at);
  };
  return protocol;
}

}  // namespace signpost

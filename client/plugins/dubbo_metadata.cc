#include "signpost/client/plugins/dubbo_metadata.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace signpost {

MetadataProtocol DubboMetadata(const DubboMetadataOptions& options) {
  MetadataProtocol protocol;
  protocol.name = "dubbo";
  protocol.fetcher = [](Executor& executor) { return NewDubboMetadataFetcher(executor); };
  protocol.server = [options](std::shared_ptr<const MetadataService> service,
                              const std::string& host, uint16_t port) {
    DubboMetadataOptions at = options;
    if (!host.empty()) at.host = host;
    if (port != 0) at.port = port;
    return ServeDubboMetadata(std::move(service), at);
  };
  return protocol;
}

}  // namespace signpost

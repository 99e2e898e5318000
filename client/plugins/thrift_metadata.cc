#include "signpost/client/plugins/thrift_metadata.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace signpost {

MetadataProtocol ThriftMetadata(const ThriftMetadataOptions& options) {
  MetadataProtocol protocol;
  protocol.name = "thrift";
  protocol.fetcher = [](Executor& executor) { return NewThriftMetadataFetcher(executor); };
  protocol.server = [options](std::shared_ptr<const MetadataService> service,
                              const std::string& host, uint16_t port) {
    ThriftMetadataOptions at = options;
    if (!host.empty()) at.host = host;
    if (port != 0) at.port = port;
    return ServeThriftMetadata(std::move(service), at);
  };
  return protocol;
}

}  // namespace signpost

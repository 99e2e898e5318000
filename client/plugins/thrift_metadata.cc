#include "signpost/client/plugins/thrift_metadata.h"

#include <memory>
#include <utility>

namespace signpost {

MetadataProtocol ThriftMetadata(const ThriftMetadataOptions& options) {
  MetadataProtocol protocol;
  protocol.fetcher = [](Executor& executor) { return NewThriftMetadataFetcher(executor); };
  protocol.server = [options](std::shared_ptr<const MetadataService> service) {
    return ServeThriftMetadata(std::move(service), options);
  };
  return protocol;
}

}  // namespace signpost

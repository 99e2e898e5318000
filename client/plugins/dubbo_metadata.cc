#include "signpost/client/plugins/dubbo_metadata.h"

#include <memory>
#include <utility>

namespace signpost {

MetadataProtocol DubboMetadata(const DubboMetadataOptions& options) {
  MetadataProtocol protocol;
  protocol.fetcher = [](Executor& executor) { return NewDubboMetadataFetcher(executor); };
  protocol.server = [options](std::shared_ptr<const MetadataService> service) {
    return ServeDubboMetadata(std::move(service), options);
  };
  return protocol;
}

}  // namespace signpost

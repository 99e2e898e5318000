#include "signpost/client/plugins/builtins.h"

#include "signpost/client/plugins/dubbo_metadata.h"
#include "signpost/client/plugins/embedded.h"
#include "signpost/client/plugins/memory.h"
#include "signpost/client/plugins/server.h"
#include "signpost/client/plugins/thrift_metadata.h"
#include "signpost/client/plugins/triple_metadata.h"
#include "signpost/client/plugins/zookeeper.h"

namespace signpost {

absl::Status AddBuiltinRegistries(RegistryFactories& factories) {
  absl::Status status = AddMemory(factories);
  status.Update(AddEmbedded(factories));
  status.Update(AddServer(factories));
  status.Update(AddZookeeper(factories));
  return status;
}

std::vector<MetadataProtocol> BuiltinMetadataProtocols() {
  return {DubboMetadata(), TripleMetadata(), ThriftMetadata()};
}

}  // namespace signpost

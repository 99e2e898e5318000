#include "signpost/client/plugins/zookeeper.h"

#include "signpost/registry/zookeeper/zookeeper_store.h"

namespace signpost {

absl::Status AddZookeeper(RegistryFactories& factories) {
  return factories.Add("zookeeper", OpenZookeeperCentre);
}

}  // namespace signpost

// `zookeeper://host:port[,host:port...]`: Apache ZooKeeper, wire-compatible with Apache Dubbo 3.
#ifndef SIGNPOST_CLIENT_PLUGINS_ZOOKEEPER_H_
#define SIGNPOST_CLIENT_PLUGINS_ZOOKEEPER_H_

#include "absl/status/status.h"
#include "signpost/registry/registry_factory.h"

namespace signpost {

absl::Status AddZookeeper(RegistryFactories& factories);

}  // namespace signpost

#endif  // SIGNPOST_CLIENT_PLUGINS_ZOOKEEPER_H_

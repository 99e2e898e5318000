// Every registry and every metadata protocol that this library has. A user who wants one links that
// plug-in alone.
#ifndef SIGNPOST_CLIENT_PLUGINS_BUILTINS_H_
#define SIGNPOST_CLIENT_PLUGINS_BUILTINS_H_

#include <vector>

#include "absl/status/status.h"
#include "signpost/client/metadata_protocol.h"
#include "signpost/registry/registry_factory.h"

namespace signpost {

absl::Status AddBuiltinRegistries(RegistryFactories& factories);

// dubbo, tri, thrift, in this order: a process with metadata `local` answers by the first one
// unless MetadataServiceOptions say otherwise.
std::vector<MetadataProtocol> BuiltinMetadataProtocols();

}  // namespace signpost

#endif  // SIGNPOST_CLIENT_PLUGINS_BUILTINS_H_

// `embedded:///dir`: a registry in a directory of this machine, owned by one process.
#ifndef SIGNPOST_CLIENT_PLUGINS_EMBEDDED_H_
#define SIGNPOST_CLIENT_PLUGINS_EMBEDDED_H_

#include "absl/status/status.h"
#include "signpost/registry/registry_factory.h"

namespace signpost {

absl::Status AddEmbedded(RegistryFactories& factories);

}  // namespace signpost

#endif  // SIGNPOST_CLIENT_PLUGINS_EMBEDDED_H_

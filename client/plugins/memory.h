// `memory://<name>`: a registry inside this process, for tests.
#ifndef SIGNPOST_CLIENT_PLUGINS_MEMORY_H_
#define SIGNPOST_CLIENT_PLUGINS_MEMORY_H_

#include "absl/status/status.h"
#include "signpost/registry/registry_factory.h"

namespace signpost {

absl::Status AddMemory(RegistryFactories& factories);

}  // namespace signpost

#endif  // SIGNPOST_CLIENT_PLUGINS_MEMORY_H_

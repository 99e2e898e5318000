#include "signpost/client/plugins/memory.h"

#include "signpost/registry/memory/memory_store.h"

namespace signpost {

absl::Status AddMemory(RegistryFactories& factories) {
  return factories.Add("memory", OpenMemoryCentre);
}

}  // namespace signpost

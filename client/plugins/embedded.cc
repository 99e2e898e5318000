#include "signpost/client/plugins/embedded.h"

#include "signpost/registry/embedded/embedded_store.h"

namespace signpost {

absl::Status AddEmbedded(RegistryFactories& factories) {
  return factories.Add("embedded", OpenEmbeddedCentre);
}

}  // namespace signpost

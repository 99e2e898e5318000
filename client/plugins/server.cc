#include "signpost/client/plugins/server.h"

#include "signpost/registry/server/server_store.h"

namespace signpost {

absl::Status AddServer(RegistryFactories& factories) {
  return factories.Add("signpost", OpenServerCentre);
}

}  // namespace signpost

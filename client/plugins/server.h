// `signpost://host[:port]`: the registry server of this machine, `signpost serve`.
#ifndef SIGNPOST_CLIENT_PLUGINS_SERVER_H_
#define SIGNPOST_CLIENT_PLUGINS_SERVER_H_

#include "absl/status/status.h"
#include "signpost/registry/registry_factory.h"

namespace signpost {

absl::Status AddServer(RegistryFactories& factories);

}  // namespace signpost

#endif  // SIGNPOST_CLIENT_PLUGINS_SERVER_H_

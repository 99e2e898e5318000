// Every registry that this library has. A user who wants one links that plug-in alone.
#ifndef SIGNPOST_CLIENT_PLUGINS_BUILTINS_H_
#define SIGNPOST_CLIENT_PLUGINS_BUILTINS_H_

#include "absl/status/status.h"
#include "signpost/registry/registry_factory.h"

namespace signpost {

absl::Status AddBuiltinRegistries(RegistryFactories& factories);

}  // namespace signpost

#endif  // SIGNPOST_CLIENT_PLUGINS_BUILTINS_H_

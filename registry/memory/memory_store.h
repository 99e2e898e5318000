// memory://name: a registry centre inside this process, for tests and demos. All that open one name
// share it; it goes, with its keys, when nobody has it any more.
//
// Threads: any. Errors: kInvalidArgument for a URL that is not memory://name.
#ifndef SIGNPOST_REGISTRY_MEMORY_MEMORY_STORE_H_
#define SIGNPOST_REGISTRY_MEMORY_MEMORY_STORE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "signpost/common/url.h"
#include "signpost/registry/registry_factory.h"
#include "signpost/registry/store/local_centre.h"

namespace signpost {

// The centre called `name`, made if there is none. Tests hold it to keep its keys and to end
// sessions.
std::shared_ptr<LocalCentre> MemoryCentre(const std::string& name);

// A RegistryFactory.
absl::StatusOr<std::unique_ptr<RegistryCentre>> OpenMemoryCentre(const Url& url,
                                                                 const CentreOptions& options);

}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_MEMORY_MEMORY_STORE_H_

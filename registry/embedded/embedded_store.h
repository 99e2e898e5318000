// embedded:///dir: a durable registry centre in a directory of this machine, without a server.
//
// One process owns the directory; all that open it in that process share it. Beside a running owner
// another process may open it with read_only: it sees the keys as they were at opening (a watch
// tells them once), its writes end with kFailedPrecondition. Keys outlive kill -9 of the owner,
// session-bound keys do not: the next opening drops them, unless it is a server's (LeftBehind).
//
// Threads: any. Ownership: the directory is given up when the last store and centre are gone.
// Errors of opening: kFailedPrecondition: in use by another process (names its pid);
//   kPermissionDenied, kNotFound (read-only), kDataLoss: the directory; kInvalidArgument: the URL.
#ifndef SIGNPOST_REGISTRY_EMBEDDED_EMBEDDED_STORE_H_
#define SIGNPOST_REGISTRY_EMBEDDED_EMBEDDED_STORE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "signpost/common/url.h"
#include "signpost/registry/registry_factory.h"
#include "signpost/registry/store/local_centre.h"

namespace signpost {

// Session-bound keys that a killed owner left. Kept for LocalCentre::AdoptLeftBehind: of a server
// the clients live on, and come back.
enum class LeftBehind { kDropped, kKept };

// Makes `dir` if it is missing, unless `read_only`. `left_behind` counts when it is not open yet.
absl::StatusOr<std::shared_ptr<LocalCentre>> EmbeddedCentre(
    const std::string& dir, bool read_only, LeftBehind left_behind = LeftBehind::kDropped);

// A RegistryFactory.
absl::StatusOr<std::unique_ptr<RegistryCentre>> OpenEmbeddedCentre(const Url& url,
                                                                   const CentreOptions& options);

}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_EMBEDDED_EMBEDDED_STORE_H_

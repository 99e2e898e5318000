// A registry server of this machine as a registry centre: `signpost://host[:port]` (port 2280),
// what `signpost serve` runs (registry_server.h).
//
// Parameters: `session` (ms, default 30000): without a sign of life for so long the session ends
// and its keys go; the server may grant less or more. `timeout` (ms, default 5000): of an answer; a
// watch that has no connection for so long is told kUnavailable. Opening never waits. After fork()
// a child's calls fail with kFailedPrecondition (told at once on the calling thread).
//
// Threads: two per store; else as registry/store/store.h. Ownership, errors: as there and in
//   registry/registry_factory.h. Reads and session-bound writes are tried again when the connection
//   breaks under them; for other writes the outcome is unknown then: kUnavailable.
#ifndef SIGNPOST_REGISTRY_SERVER_SERVER_STORE_H_
#define SIGNPOST_REGISTRY_SERVER_SERVER_STORE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "signpost/common/executor.h"
#include "signpost/common/url.h"
#include "signpost/registry/registry_factory.h"
#include "signpost/registry/store/store.h"

namespace signpost {

// kInvalidArgument for a bad URL. That nobody answers now is no error.
absl::StatusOr<std::unique_ptr<Store>> OpenServerStore(const Url& url,
                                                       std::shared_ptr<Executor> executor);

// A RegistryFactory.
absl::StatusOr<std::unique_ptr<RegistryCentre>> OpenServerCentre(const Url& url,
                                                                 const CentreOptions& options);

// Whether a registry server that speaks our version answers at `url`, within about `timeout`.
// Blocks. kUnavailable: nobody does; kFailedPrecondition: another version.
absl::Status ProbeRegistryServer(const Url& url, absl::Duration timeout);

}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_SERVER_SERVER_STORE_H_

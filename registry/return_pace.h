// How a process comes back to a centre that was away: what a lost session took is written at once,
// what is probably still there is looked at after a short random delay, for all processes come back
// at the same time; and never more than a window of calls is under way.
#ifndef SIGNPOST_REGISTRY_RETURN_PACE_H_
#define SIGNPOST_REGISTRY_RETURN_PACE_H_

#include <cstddef>

#include "absl/time/time.h"
#include "signpost/common/backoff.h"

namespace signpost::registry_internal {

// Calls that one registrar has under way together.
inline constexpr size_t kCallWindow = 64;

// Of a Backoff: each delay is evenly random within half a second.
inline constexpr BackoffOptions kLookDelay = {absl::Milliseconds(500), absl::Milliseconds(500), 1.0,
                                              1.0};

}  // namespace signpost::registry_internal

#endif  // SIGNPOST_REGISTRY_RETURN_PACE_H_

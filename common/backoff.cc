#include "signpost/common/backoff.h"

#include <algorithm>
#include <cmath>

namespace signpost {

Backoff::Backoff(BackoffOptions options, uint64_t seed)
    : options_(options), random_(seed != 0 ? seed : std::random_device{}()) {}

absl::Duration Backoff::Next() {
  // Bounded so that the power stays finite however long an outage lasts.
  const double factor = std::pow(options_.multiplier, std::min(attempts_, 1000));
  ++attempts_;
  const double nominal = std::min(absl::ToDoubleSeconds(options_.initial) * factor,
                                  absl::ToDoubleSeconds(options_.max));
  std::uniform_real_distribution<double> share(1.0 - options_.jitter, 1.0);
  return absl::Seconds(nominal * share(random_));
}

void Backoff::Reset() { attempts_ = 0; }

}  // namespace signpost

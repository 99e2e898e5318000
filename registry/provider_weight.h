// The weight that a provider says it has. Private to the rooms that implement Registry.
//
// Threads: any.
#ifndef SIGNPOST_REGISTRY_PROVIDER_WEIGHT_H_
#define SIGNPOST_REGISTRY_PROVIDER_WEIGHT_H_

#include <algorithm>
#include <cstdint>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"

namespace signpost::registry_internal {

inline constexpr int32_t kDefaultWeight = 100;

// Not a number: `fallback`. Below 0 is 0.
inline int32_t ParseWeight(absl::string_view text, int32_t fallback) {
  int64_t weight = 0;
  if (!absl::SimpleAtoi(text, &weight)) return fallback;
  return static_cast<int32_t>(std::clamp<int64_t>(weight, 0, std::numeric_limits<int32_t>::max()));
}

// Of parameters `weight` and `release`.
inline int32_t ProviderWeight(absl::string_view weight, absl::string_view release) {
  const int32_t parsed = ParseWeight(weight, kDefaultWeight);
  // dubbo-go writes 0 where nothing was set.
  return parsed == 0 && absl::StartsWith(release, "dubbo-golang") ? kDefaultWeight : parsed;
}

}  // namespace signpost::registry_internal

#endif  // SIGNPOST_REGISTRY_PROVIDER_WEIGHT_H_

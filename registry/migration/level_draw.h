// Which of the two levels one call goes to.
//
// Threads: any; called once per call. No lock, no allocation, no memory that threads share.
#ifndef SIGNPOST_REGISTRY_MIGRATION_LEVEL_DRAW_H_
#define SIGNPOST_REGISTRY_MIGRATION_LEVEL_DRAW_H_

#include <cstdint>

#include "signpost/common/random.h"

namespace signpost {

// How the addresses of a service were found: by its interface, or by the applications that have it.
enum class DiscoveryLevel { kInterface, kApplication };

// The level for a call that drew `random`. `proportion`: percent of calls for the application
// level; below 0 as 0, above 100 as 100.
inline DiscoveryLevel LevelOfDraw(int proportion, uint64_t random) {
  return static_cast<int>(Scale(random, 100)) < proportion ? DiscoveryLevel::kApplication
                                                           : DiscoveryLevel::kInterface;
}

// Draws one. Nothing is drawn when the answer is certain.
inline DiscoveryLevel DrawLevel(int proportion) {
  if (proportion <= 0) return DiscoveryLevel::kInterface;
  if (proportion >= 100) return DiscoveryLevel::kApplication;
  return LevelOfDraw(proportion, ThreadRandom());
}

}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_MIGRATION_LEVEL_DRAW_H_

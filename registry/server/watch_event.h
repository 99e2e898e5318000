// What a watch tells, as it travels between the registry server and its clients. Private to this
// folder.
#ifndef SIGNPOST_REGISTRY_SERVER_WATCH_EVENT_H_
#define SIGNPOST_REGISTRY_SERVER_WATCH_EVENT_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "signpost/registry/store/store.h"

namespace signpost {
namespace server_internal {

// What a child or an event costs beside its texts.
inline constexpr size_t kItemBytes = 64;

struct WatchEvent {
  int64_t sequence = 0;
  int64_t watch = 0;
  absl::Status error;  // not OK: neither value nor delta
  bool tree = false;
  StoreValue value;
  TreeDelta delta;
  bool more = false;  // the next event of this watch goes on with this delta
};

}  // namespace server_internal
}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_SERVER_WATCH_EVENT_H_

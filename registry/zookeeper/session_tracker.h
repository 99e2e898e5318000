// What session events follow from what the client library says, whatever the order it says it in.
//
// The trigger is the change of the session id: "connected" by another id than before means that the
// old session is gone, also when nobody said so; a late "expired" of an older id means nothing.
//
// Threads: one at a time.
#ifndef SIGNPOST_REGISTRY_ZOOKEEPER_SESSION_TRACKER_H_
#define SIGNPOST_REGISTRY_ZOOKEEPER_SESSION_TRACKER_H_

#include <cstdint>
#include <vector>

#include "signpost/registry/store/store.h"

namespace signpost {
namespace zookeeper_internal {

class SessionTracker {
 public:
  // Each answers the events to tell, in order.
  std::vector<SessionEvent> Connected(int64_t session);
  std::vector<SessionEvent> Disconnected();
  std::vector<SessionEvent> Expired(int64_t session);

  bool connected() const { return connected_; }
  // Of the last connect; 0 before the first.
  int64_t session() const { return session_; }

 private:
  int64_t session_ = 0;
  bool connected_ = false;
  bool expired_ = false;
};

}  // namespace zookeeper_internal
}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_ZOOKEEPER_SESSION_TRACKER_H_

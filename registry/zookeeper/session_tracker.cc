#include "signpost/registry/zookeeper/session_tracker.h"

namespace signpost {
namespace zookeeper_internal {

std::vector<SessionEvent> SessionTracker::Connected(int64_t session) {
  std::vector<SessionEvent> events;
  if (session == session_) {
    if (!connected_ && !expired_) events.push_back(SessionEvent::kConnected);
    connected_ = !expired_;
    return events;
  }
  if (session_ == 0) {
    events.push_back(SessionEvent::kConnected);
  } else {
    if (!expired_) events.push_back(SessionEvent::kExpired);
    events.push_back(SessionEvent::kNewSession);
  }
  session_ = session;
  connected_ = true;
  expired_ = false;
  return events;
}

std::vector<SessionEvent> SessionTracker::Disconnected() {
  if (!connected_) return {};
  connected_ = false;
  return {SessionEvent::kDisconnected};
}

std::vector<SessionEvent> SessionTracker::Expired(int64_t session) {
  if (session_ == 0 || session != session_ || expired_) return {};
  connected_ = false;
  expired_ = true;
  return {SessionEvent::kExpired};
}

}  // namespace zookeeper_internal
}  // namespace signpost

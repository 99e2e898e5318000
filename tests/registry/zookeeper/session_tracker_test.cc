#include "signpost/registry/zookeeper/session_tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace signpost {
namespace zookeeper_internal {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kFirst = 0x100;
constexpr int64_t kSecond = 0x200;

TEST(SessionTrackerTest, FirstConnectIsNoNewSession) {
  SessionTracker tracker;
  EXPECT_FALSE(tracker.connected());
  EXPECT_THAT(tracker.Disconnected(), IsEmpty());
  EXPECT_THAT(tracker.Connected(kFirst), ElementsAre(SessionEvent::kConnected));
  EXPECT_TRUE(tracker.connected());
  EXPECT_EQ(tracker.session(), kFirst);
  EXPECT_THAT(tracker.Connected(kFirst), IsEmpty());
}

TEST(SessionTrackerTest, AGapInOneSession) {
  SessionTracker tracker;
  tracker.Connected(kFirst);
  EXPECT_THAT(tracker.Disconnected(), ElementsAre(SessionEvent::kDisconnected));
  EXPECT_THAT(tracker.Disconnected(), IsEmpty());
  EXPECT_FALSE(tracker.connected());
  EXPECT_THAT(tracker.Connected(kFirst), ElementsAre(SessionEvent::kConnected));
}

TEST(SessionTrackerTest, ExpiredThenNew) {
  SessionTracker tracker;
  tracker.Connected(kFirst);
  tracker.Disconnected();
  EXPECT_THAT(tracker.Expired(kFirst), ElementsAre(SessionEvent::kExpired));
  EXPECT_FALSE(tracker.connected());
  EXPECT_THAT(tracker.Expired(kFirst), IsEmpty());
  EXPECT_THAT(tracker.Connected(kSecond), ElementsAre(SessionEvent::kNewSession));
  EXPECT_TRUE(tracker.connected());
}

// The change of the id is what counts: a late "expired" of the old session restores nothing twice.
// TC-15
TEST(SessionTrackerTest, NewSessionThenLateExpired) {
  SessionTracker tracker;
  tracker.Connected(kFirst);
  EXPECT_THAT(tracker.Connected(kSecond),
              ElementsAre(SessionEvent::kExpired, SessionEvent::kNewSession));
  EXPECT_THAT(tracker.Expired(kFirst), IsEmpty());
  EXPECT_TRUE(tracker.connected());
  EXPECT_EQ(tracker.session(), kSecond);
}

TEST(SessionTrackerTest, AnExpiredSessionDoesNotComeBack) {
  SessionTracker tracker;
  tracker.Connected(kFirst);
  tracker.Expired(kFirst);
  EXPECT_THAT(tracker.Connected(kFirst), IsEmpty());
  EXPECT_FALSE(tracker.connected());
}

TEST(SessionTrackerTest, ExpiredBeforeAnySession) {
  SessionTracker tracker;
  EXPECT_THAT(tracker.Expired(0), IsEmpty());
  EXPECT_THAT(tracker.Connected(kFirst), ElementsAre(SessionEvent::kConnected));
}

}  // namespace
}  // namespace zookeeper_internal
}  // namespace signpost

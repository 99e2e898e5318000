// The server's side of one client: a session of the centre that lives as long as its client polls.
// Private to this folder.
//
// Its watches run when a poll fetches, so what a slow client has not fetched is told as one change;
// what was fetched stays until it is acknowledged, so that a broken connection loses nothing.
//
// Threads: any. Ownership: shared; ends by End, or by itself when no poll came for its time to
// live (a server that itself stood still for long gives everyone a whole one anew).
// Errors: kResourceExhausted: too many watches; calls on an ended lease: see ended().
#ifndef SIGNPOST_REGISTRY_SERVER_LEASE_H_
#define SIGNPOST_REGISTRY_SERVER_LEASE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "signpost/common/executor.h"
#include "signpost/common/mutex.h"
#include "signpost/common/subscription.h"
#include "signpost/registry/server/watch_event.h"
#include "signpost/registry/store/local_centre.h"
#include "signpost/registry/store/store.h"

namespace signpost {
namespace server_internal {

struct LeaseOptions {
  absl::Duration ttl = absl::Seconds(30);  // from the beginning of the last poll. Default: 30 s
  // Until the first poll, if it is less than the ttl. Default: 10 s
  absl::Duration unpolled_ttl = absl::Seconds(10);
  size_t max_watches = 10000;     // Default: 10000
  size_t piece_bytes = 1 << 20;   // a larger delta is told in pieces. Default: 1 MiB
  size_t answer_bytes = 4 << 20;  // of one poll, one event at least. Default: 4 MiB
};

class Lease : public std::enable_shared_from_this<Lease> {
 public:
  // `on_end` runs once, on the thread that ends it, without locks. `timers`: for the time to live.
  static std::shared_ptr<Lease> Open(std::shared_ptr<LocalCentre> centre, LeaseOptions options,
                                     std::shared_ptr<Executor> timers,
                                     std::function<void()> on_end);
  ~Lease();

  // Answers calls at once.
  Store& store() { return *store_; }

  // `id` is the client's. Again with the same: no error.
  absl::Status Watch(int64_t id, bool tree, const std::string& key);
  void Unwatch(int64_t id);

  // Forgets what was told up to `acknowledged`, tells what is not; waits up to `wait` (real time)
  // for something to tell, or until another poll takes its place. nullopt: the lease has ended.
  // Without `fetch` it is only the sign of life. A watch that throws (no memory) ends the lease.
  std::optional<std::vector<WatchEvent>> Poll(int64_t acknowledged, absl::Duration wait,
                                              bool fetch);

  // Watches go, polls return; session-bound keys go too, or stay in the centre for the next server.
  // Idempotent. Not from a watch's callback.
  enum class Keys { kDropped, kLeftBehind };
  void End(Keys keys = Keys::kDropped);
  bool ended() const;

 private:
  class Mailbox;

  Lease(std::shared_ptr<LocalCentre> centre, LeaseOptions options, std::shared_ptr<Executor> timers,
        std::function<void()> on_end);
  void Arm();
  void EndIfSilent(absl::Duration due);

  const std::shared_ptr<LocalCentre> centre_;
  const LeaseOptions options_;
  const std::shared_ptr<Executor> timers_;
  const std::shared_ptr<Mailbox> mailbox_;
  std::unique_ptr<Store> store_;
  Mutex mutex_;  // taken before the mailbox's
  std::function<void()> on_end_ ABSL_GUARDED_BY(mutex_);
  Executor::TimerId timer_ ABSL_GUARDED_BY(mutex_) = 0;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<int64_t, Subscription> watches_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace server_internal
}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_SERVER_LEASE_H_

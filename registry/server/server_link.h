// A client's session with the registry server: kept alive by one thread that polls, used by another
// that calls. Private to this folder.
//
// A lost connection is made again; a session that the server does not know is followed by a new
// one. Requests wait for a session meanwhile, for as long as their owners let them.
//
// Threads: methods from any thread; the listener runs on the executor, in the order of what
//   happened. A batch of events is only fetched when the one before was taken, so that a slow
//   executor does not gather them; the session lives on meanwhile.
// Ownership: its threads share it; Close before letting go.
#ifndef SIGNPOST_REGISTRY_SERVER_SERVER_LINK_H_
#define SIGNPOST_REGISTRY_SERVER_SERVER_LINK_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "signpost/common/backoff.h"
#include "signpost/common/executor.h"
#include "signpost/common/mutex.h"
#include "signpost/registry/server/connection.h"
#include "signpost/registry/server/watch_event.h"
#include "signpost/registry/store/store.h"

namespace signpost {
namespace server_internal {

struct LinkOptions {
  std::string host;  // no brackets
  uint16_t port = 0;
  absl::Duration session = absl::Seconds(30);  // time to live. Default: 30 s
  absl::Duration timeout = absl::Seconds(5);   // of an answer. Default: 5 s
};

class ServerLink : public std::enable_shared_from_this<ServerLink> {
 public:
  struct Listener {
    // `session`: the one that is connected or was lost.
    std::function<void(SessionEvent event, int64_t session)> on_session;
    std::function<void(int64_t session, std::vector<WatchEvent> events)> on_events;
  };
  // Runs on the calling thread of the link. kUnknownSession: run again with the next session.
  // kBroken: run again if `repeatable`, else dropped.
  struct Request {
    std::function<Outcome(Connection& connection, int64_t session)> run;
    bool repeatable = true;
  };

  ServerLink(LinkOptions options, Listener listener, std::shared_ptr<Executor> executor);

  // Starts the threads.
  void Open();

  // In their order. Dropped if closed.
  uint64_t Enqueue(Request request);
  // True if it has not begun and now never will.
  bool Withdraw(uint64_t id);

  bool connected() const { return connected_; }
  bool closed() const { return closed_; }
  // kUnavailable.
  absl::Status WhyNotConnected() const;

  // Tells the server, ends the threads; at most 5 s. Idempotent.
  void Close();

 private:
  void PollLoop();
  void CallLoop();
  // Makes a session if there is none. False: not now.
  bool EnsureSession(Connection& connection, Backoff& backoff);
  // Whether the executor has taken the last batch, or does so within `time`.
  bool AwaitTaken(absl::Duration time);
  void TakeEvents(std::vector<WatchEvent> events);
  void Lost(const absl::Status& why);
  void Told(SessionEvent event);
  std::shared_ptr<Connection> Connect(std::shared_ptr<Connection>& slot);
  void Drop(std::shared_ptr<Connection>& slot);
  void Wait(absl::Duration time);
  void SayGoodbye(std::shared_ptr<Connection> connection);

  const LinkOptions options_;
  const Listener listener_;
  const std::shared_ptr<Executor> executor_;
  std::atomic<bool> connected_{false};
  std::atomic<bool> closed_{false};

  // Of the polling thread alone.
  int64_t polled_ = 0;  // session; 0: none
  int64_t lost_ = 0;    // the session before, while there is none
  int64_t acknowledged_ = 0;
  absl::Duration ttl_;

  mutable Mutex mutex_;
  CondVar changed_;
  absl::Status why_ ABSL_GUARDED_BY(mutex_);
  int64_t session_ ABSL_GUARDED_BY(mutex_) = 0;  // what calls use
  bool taking_ ABSL_GUARDED_BY(mutex_) = false;  // the executor has a batch
  int running_ ABSL_GUARDED_BY(mutex_) = 0;      // threads
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  std::map<uint64_t, Request> requests_ ABSL_GUARDED_BY(mutex_);
  // Set under the lock, so that Close can interrupt them; used without it.
  std::shared_ptr<Connection> polling_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Connection> calling_ ABSL_GUARDED_BY(mutex_);
  std::thread poll_thread_;
  std::thread call_thread_;
};

}  // namespace server_internal
}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_SERVER_SERVER_LINK_H_

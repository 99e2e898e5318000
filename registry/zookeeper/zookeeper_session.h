// One session after another to a ZooKeeper ensemble: the only file that speaks to the C client.
//
// The client's threads only post to the executor. One watcher function with one context serves all
// watches (the client calls every distinct pair at each connect and disconnect, and finds them in
// quadratic time); events carry the path. Open requests are kept here, since closing a handle drops
// their callbacks. Handles are opened (names are resolved) and closed on a thread of their own. A
// session that has expired is followed by a new handle.
//
// Threads: everything on the executor, except Prepare, Open, Close, connected, session_id and pid.
// Ownership: shared; whoever starts it calls Close.
// Errors: as StatusCode in Reply; foreign codes end here.
// C++20 (coroutines), private to this folder.
#ifndef SIGNPOST_REGISTRY_ZOOKEEPER_ZOOKEEPER_SESSION_H_
#define SIGNPOST_REGISTRY_ZOOKEEPER_ZOOKEEPER_SESSION_H_

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "signpost/common/backoff.h"
#include "signpost/common/executor.h"
#include "signpost/common/mutex.h"
#include "signpost/registry/store/store.h"
#include "signpost/registry/zookeeper/flow.h"
#include "signpost/registry/zookeeper/node_acl.h"
#include "signpost/registry/zookeeper/session_tracker.h"

namespace signpost {
namespace zookeeper_internal {

// A request above it would be answered by a lost connection, again and again.
inline constexpr size_t kRequestLimit = 1048575 - 1024;
// Reads in flight together.
inline constexpr size_t kReadWindow = 256;

struct NodeStat {
  int64_t created = 0;   // czxid
  int64_t modified = 0;  // mzxid: grows with each write, also over delete and create
  int32_t version = 0;
  int64_t owner = 0;  // session; 0 if persistent
};

struct Reply {
  absl::StatusCode code = absl::StatusCode::kOk;
  std::string text;  // of an error
  std::string value;
  NodeStat stat;
  std::vector<std::string> names;

  bool ok() const { return code == absl::StatusCode::kOk; }
  bool missing() const { return code == absl::StatusCode::kNotFound; }
  absl::Status ToStatus(const std::string& path) const;
};

enum class NodeMode { kPersistent, kContainer, kEphemeral };
enum class NodeEvent { kCreated, kDeleted, kChanged, kChildren };

struct NodeRequest {
  enum class Kind {
    kGet,
    kExists,
    kChildren,
    kCreate,
    kSet,
    kDelete,
    kReplace,  // deletes `version` and creates an ephemeral node with `value`, or neither
    kUnwatchData,
    kUnwatchChildren
  };
  Kind kind = Kind::kGet;
  std::string path;
  std::string value;
  int32_t version = -1;
  NodeMode mode = NodeMode::kPersistent;
  bool watch = false;
};

struct SessionOptions {
  std::string servers;      // host:port,host:port
  std::string credentials;  // user:password, or empty
  // May read what is created with credentials, besides its creator
  std::vector<Reader> readers;
  absl::Duration timeout = absl::Seconds(60);
};

class ZookeeperSession : public std::enable_shared_from_this<ZookeeperSession> {
 public:
  using ReplyCallback = absl::AnyInvocable<void(Reply) &&>;
  struct Events {
    std::function<void(SessionEvent)> session;
    std::function<void(NodeEvent, const std::string& path)> node;
    std::function<void(const absl::Status&)> refused;  // the credentials, by the server
  };

  // Open starts to connect.
  static std::shared_ptr<ZookeeperSession> Prepare(SessionOptions options, Events events,
                                                   std::shared_ptr<Executor> executor);
  void Open() { OpenHandle(); }
  ~ZookeeperSession();

  // `done` runs later on the executor, exactly once.
  void Start(NodeRequest request, ReplyCallback done);
  // Get of each path, kReadWindow at a time; answers in the order of `paths`.
  void StartMany(std::vector<std::string> paths, bool watch,
                 absl::AnyInvocable<void(std::vector<Reply>) &&> done);

  // Awaitable Start.
  class Operation {
   public:
    Operation(std::shared_ptr<ZookeeperSession> session, NodeRequest request)
        : session_(std::move(session)), request_(std::move(request)) {}
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> handle);
    Reply await_resume() { return std::move(reply_); }

   private:
    std::shared_ptr<ZookeeperSession> session_;
    NodeRequest request_;
    Reply reply_;
  };
  // Awaitable StartMany.
  class ReadAll {
   public:
    ReadAll(std::shared_ptr<ZookeeperSession> session, std::vector<std::string> paths, bool watch)
        : session_(std::move(session)), paths_(std::move(paths)), watch_(watch) {}
    bool await_ready() const { return paths_.empty(); }
    void await_suspend(std::coroutine_handle<> handle);
    std::vector<Reply> await_resume() { return std::move(replies_); }

   private:
    std::shared_ptr<ZookeeperSession> session_;
    std::vector<std::string> paths_;
    bool watch_;
    std::vector<Reply> replies_;
  };
  // Until connected (true), or closed or `ended` (false).
  class Connection {
   public:
    Connection(std::shared_ptr<ZookeeperSession> session, std::shared_ptr<const bool> ended)
        : session_(std::move(session)), ended_(std::move(ended)) {}
    bool await_ready() const { return session_->connected() || session_->closed() || Ended(); }
    void await_suspend(std::coroutine_handle<> handle) {
      session_->waiters_.push_back({Resume(handle), ended_});
    }
    bool await_resume() const { return session_->connected() && !Ended(); }

   private:
    bool Ended() const { return ended_ != nullptr && *ended_; }

    std::shared_ptr<ZookeeperSession> session_;
    std::shared_ptr<const bool> ended_;
  };

  Operation Do(NodeRequest request) { return Operation(shared_from_this(), std::move(request)); }
  ReadAll GetMany(std::vector<std::string> paths, bool watch) {
    return ReadAll(shared_from_this(), std::move(paths), watch);
  }
  Connection WhenConnected(std::shared_ptr<const bool> ended = nullptr) {
    return Connection(shared_from_this(), std::move(ended));
  }
  // Resumes those that wait for a connection although they have ended. Executor only.
  void ReleaseEnded();

  // For people: kUnavailable, or kPermissionDenied when refused(). Executor only.
  absl::Status WhyNotConnected() const;
  // The server does not take such credentials at all (it takes any password). Executor only.
  bool refused() const { return refused_; }
  bool connected() const { return connected_.load() && !closed(); }
  bool closed() const { return closed_.load(); }
  int64_t session_id() const { return session_id_.load(); }
  // False in a child of the process that opened the session: its threads are not there.
  bool same_process() const;

  // Ends the session; waits 5 s at most. Idempotent.
  void Close();

 private:
  struct Handle;
  struct Slot;
  struct Callbacks;
  struct Waiting {
    Resume resume;
    std::shared_ptr<const bool> ended;
  };

  ZookeeperSession(SessionOptions options, Events events, std::shared_ptr<Executor> executor);
  void OpenHandle();
  void OnOpened(uint64_t generation);
  void OnState(uint64_t generation, int state, int64_t session);
  void GiveUpLater();
  void KeepOn();
  void Replace();
  void ReleaseWaiters();
  static void CloseHandle(std::unique_ptr<Handle> handle, const char* why);
  void PostReply(ReplyCallback done, Reply reply);

  const SessionOptions options_;
  const NodeAcl acl_;
  const Events events_;
  const std::shared_ptr<Executor> executor_;
  // Opens and closes handles.
  std::shared_ptr<Executor> worker_;
  const int pid_;

  // Executor only.
  SessionTracker tracker_;
  Backoff backoff_;
  Executor::TimerId give_up_ = 0;  // of the gap that is now
  bool refused_ = false;           // the credentials, by the last answer
  std::vector<Waiting> waiters_;

  std::atomic<bool> connected_{false};
  std::atomic<bool> closed_{false};
  std::atomic<int64_t> session_id_{0};
  Mutex mutex_;
  std::unique_ptr<Handle> handle_ ABSL_GUARDED_BY(mutex_);
  uint64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace zookeeper_internal
}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_ZOOKEEPER_ZOOKEEPER_SESSION_H_

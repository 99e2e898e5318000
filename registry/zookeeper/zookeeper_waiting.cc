// Waiting in a ZookeeperSession: for answers, and for a connection, however long it takes.
#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "signpost/common/log.h"
#include "signpost/registry/zookeeper/zookeeper_session.h"

namespace signpost {
namespace zookeeper_internal {
namespace {

// A window of reads that moves over the paths. Executor only.
struct Window {
  std::shared_ptr<ZookeeperSession> session;
  std::vector<std::string> paths;
  bool watch = false;
  std::vector<Reply> replies;
  size_t next = 0;
  size_t finished = 0;
  absl::AnyInvocable<void(std::vector<Reply>) &&> done;
};

void ReadNext(const std::shared_ptr<Window>& window) {
  if (window->next == window->paths.size()) return;
  const size_t index = window->next++;
  NodeRequest request;
  request.path = window->paths[index];
  request.watch = window->watch;
  window->session->Start(std::move(request), [window, index](Reply reply) {
    window->replies[index] = std::move(reply);
    ReadNext(window);
    if (++window->finished == window->paths.size())
      std::move(window->done)(std::move(window->replies));
  });
}

}  // namespace

void ZookeeperSession::StartMany(std::vector<std::string> paths, bool watch,
                                 absl::AnyInvocable<void(std::vector<Reply>) &&> done) {
  auto window = std::make_shared<Window>();
  window->session = shared_from_this();
  window->replies.resize(paths.size());
  window->paths = std::move(paths);
  window->watch = watch;
  window->done = std::move(done);
  for (size_t i = 0; i < kReadWindow; ++i) ReadNext(window);
}

void ZookeeperSession::Operation::await_suspend(std::coroutine_handle<> handle) {
  // Dropping the callback destroys the frame that this lives in.
  auto session = session_;
  session->Start(std::move(request_), [this, resume = Resume(handle)](Reply reply) mutable {
    reply_ = std::move(reply);
    resume.Run();
  });
}

void ZookeeperSession::ReadAll::await_suspend(std::coroutine_handle<> handle) {
  auto session = session_;
  session->StartMany(std::move(paths_), watch_,
                     [this, resume = Resume(handle)](std::vector<Reply> replies) mutable {
                       replies_ = std::move(replies);
                       resume.Run();
                     });
}

void ZookeeperSession::ReleaseWaiters() {
  for (Waiting& waiting : std::exchange(waiters_, {})) waiting.resume.Run();
}

void ZookeeperSession::ReleaseEnded() {
  const auto ended = [](const Waiting& waiting) { return waiting.ended && *waiting.ended; };
  const auto first = std::stable_partition(waiters_.begin(), waiters_.end(),
                                           [&](const Waiting& waiting) { return !ended(waiting); });
  std::vector<Waiting> gone(std::make_move_iterator(first),
                            std::make_move_iterator(waiters_.end()));
  waiters_.erase(first, waiters_.end());
  for (Waiting& waiting : gone) waiting.resume.Run();
}

// The session cannot have outlived such a gap, and a handle may never connect again: one whose
// credentials were refused is dead, and a server that has lost its data refuses one that has seen
// newer writes. A new one starts from nothing.
void ZookeeperSession::GiveUpLater() {
  if (give_up_ != 0) return;
  give_up_ = executor_->PostAfter(options_.timeout, [weak = weak_from_this()] {
    auto self = weak.lock();
    if (self == nullptr || self->closed()) return;
    self->give_up_ = 0;
    Log(LogLevel::kWarning,
        absl::StrCat("zookeeper ", self->options_.servers,
                     ": no connection for the time of a session; starting anew"));
    const std::vector<SessionEvent> events = self->tracker_.Expired(self->tracker_.session());
    self->Replace();
    for (SessionEvent event : events) self->events_.session(event);
  });
}

// The gap has ended: the next one has all of its time.
void ZookeeperSession::KeepOn() {
  executor_->Cancel(give_up_);
  give_up_ = 0;
}

absl::Status ZookeeperSession::WhyNotConnected() const {
  const std::string where = absl::StrCat("zookeeper ", options_.servers);
  if (refused_) {
    return absl::PermissionDeniedError(absl::StrCat(where, ": ", kLoginRefused));
  }
  return absl::UnavailableError(
      absl::StrCat(where, ": not connected; is it there, and reachable?"));
}

}  // namespace zookeeper_internal
}  // namespace signpost

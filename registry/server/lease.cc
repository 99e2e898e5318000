#include "signpost/registry/server/lease.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "signpost/registry/store/store_key.h"

namespace signpost {
namespace server_internal {
namespace {

size_t Bytes(const StoreChild& child) {
  return kItemBytes + child.name.size() + child.data.value.size();
}
size_t Bytes(const std::string& name) { return kItemBytes + name.size(); }

size_t Bytes(const WatchEvent& event) {
  size_t bytes = kItemBytes + event.value.value.size() + event.error.message().size();
  for (const StoreChild& child : event.delta.added) bytes += Bytes(child);
  for (const StoreChild& child : event.delta.changed) bytes += Bytes(child);
  for (const std::string& name : event.delta.removed) bytes += Bytes(name);
  return bytes;
}

// `delta` in events of about `limit` bytes.
std::vector<WatchEvent> Pieces(TreeDelta delta, size_t limit) {
  std::vector<WatchEvent> pieces(1);
  size_t bytes = 0;
  const auto add = [&](auto& items, auto TreeDelta::*where) {
    for (auto& item : items) {
      const size_t more = Bytes(item);
      if (bytes > 0 && bytes + more > limit) {
        pieces.back().more = true;
        pieces.emplace_back();
        bytes = 0;
      }
      bytes += more;
      (pieces.back().delta.*where).push_back(std::move(item));
    }
  };
  add(delta.added, &TreeDelta::added);
  add(delta.changed, &TreeDelta::changed);
  add(delta.removed, &TreeDelta::removed);
  for (WatchEvent& piece : pieces) piece.tree = true;
  return pieces;
}

}  // namespace

// The executor of the lease's watches, whose tasks run inside polls, and what they told.
class Lease::Mailbox final : public Executor, public std::enable_shared_from_this<Mailbox> {
 public:
  Mailbox(const LeaseOptions& options, std::shared_ptr<Executor> timers)
      : options_(options), timers_(std::move(timers)), seen_(timers_->clock().MonotonicNow()) {}

  void Post(Task task) override {
    MutexLock lock(mutex_);
    if (ended_) return;
    tasks_.push_back(std::move(task));
    changed_.SignalAll();
  }
  TimerId PostAfter(absl::Duration delay, Task task) override {
    return timers_->PostAfter(delay, [weak = weak_from_this(), task = std::move(task)]() mutable {
      if (auto self = weak.lock()) self->Post(std::move(task));
    });
  }
  bool Cancel(TimerId id) override { return timers_->Cancel(id); }
  bool IsCurrent() const override {
    return runner_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }
  Clock& clock() const override { return timers_->clock(); }

  void Tell(std::vector<WatchEvent> events) {
    MutexLock lock(mutex_);
    if (ended_) return;
    for (WatchEvent& event : events) {
      event.sequence = ++last_;
      bytes_ += Bytes(event);
      events_.push_back(std::move(event));
    }
  }

  // Watches that come and go unfetched leave a task each.
  bool overfull() {
    MutexLock lock(mutex_);
    return tasks_.size() > 2 * options_.max_watches + 1000;
  }

  absl::Duration ttl() {
    MutexLock lock(mutex_);
    return Ttl();
  }
  // Of it.
  absl::Duration left() {
    MutexLock lock(mutex_);
    return seen_ + Ttl() - clock().MonotonicNow();
  }

  // As a sign of life.
  void Renew() {
    MutexLock lock(mutex_);
    seen_ = clock().MonotonicNow();
  }

  bool ended() {
    MutexLock lock(mutex_);
    return ended_;
  }

  void End() {
    std::deque<Task> dropped;  // destroyed without the lock
    MutexLock lock(mutex_);
    ended_ = true;
    events_.clear();
    dropped.swap(tasks_);
    changed_.SignalAll();
  }

  std::optional<std::vector<WatchEvent>> Poll(int64_t acknowledged, absl::Duration wait,
                                              bool fetch) {
    const Clock& real = Clock::Real();
    const absl::Duration end = real.MonotonicNow() + wait;
    MutexLock lock(mutex_);
    seen_ = clock().MonotonicNow();
    const uint64_t turn = ++turn_;
    changed_.SignalAll();
    while (!events_.empty() && events_.front().sequence <= acknowledged) {
      bytes_ -= Bytes(events_.front());
      events_.pop_front();
    }
    for (;;) {
      if (ended_) return std::nullopt;
      if (!fetch || turn != turn_) return std::vector<WatchEvent>();
      if (events_.empty() && !tasks_.empty() && !running_) RunTasks();
      if (ended_) return std::nullopt;
      if (!events_.empty() && turn == turn_) return First();
      const absl::Duration left = end - real.MonotonicNow();
      if (left <= absl::ZeroDuration()) return std::vector<WatchEvent>();
      changed_.WaitFor(mutex_, left);
    }
  }

 private:
  // Who never polls does not stay for long.
  absl::Duration Ttl() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return turn_ > 0 ? options_.ttl : std::min(options_.ttl, options_.unpolled_ttl);
  }

  // Until there is enough to tell. Gives the lock up meanwhile; has it again when a task throws
  // (no memory), which ends the poll.
  void RunTasks() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    running_ = true;
    std::exception_ptr thrown;
    while (thrown == nullptr && !tasks_.empty() && bytes_ < options_.answer_bytes) {
      Task task = std::move(tasks_.front());
      tasks_.pop_front();
      mutex_.Unlock();
      runner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
      try {
        std::move(task)();
      } catch (...) {
        thrown = std::current_exception();
      }
      task = nullptr;
      runner_.store(std::thread::id(), std::memory_order_relaxed);
      mutex_.Lock();
    }
    running_ = false;
    changed_.SignalAll();
    if (thrown != nullptr) std::rethrow_exception(thrown);
  }

  // Copies: they stay until they are acknowledged.
  std::vector<WatchEvent> First() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::vector<WatchEvent> first;
    size_t bytes = 0;
    for (const WatchEvent& event : events_) {
      bytes += Bytes(event);
      if (!first.empty() && bytes > options_.answer_bytes) break;
      first.push_back(event);
    }
    return first;
  }

  const LeaseOptions options_;
  const std::shared_ptr<Executor> timers_;
  std::atomic<std::thread::id> runner_{};
  Mutex mutex_;
  CondVar changed_;
  absl::Duration seen_ ABSL_GUARDED_BY(mutex_);
  std::deque<Task> tasks_ ABSL_GUARDED_BY(mutex_);
  std::deque<WatchEvent> events_ ABSL_GUARDED_BY(mutex_);  // told, not acknowledged
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;               // of them
  int64_t last_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t turn_ ABSL_GUARDED_BY(mutex_) = 0;  // the newest poll's
  bool running_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

std::shared_ptr<Lease> Lease::Open(std::shared_ptr<LocalCentre> centre, LeaseOptions options,
                                   std::shared_ptr<Executor> timers, std::function<void()> on_end) {
  std::shared_ptr<Lease> lease(
      new Lease(std::move(centre), options, std::move(timers), std::move(on_end)));
  lease->store_ = NewLocalStore(lease->centre_, lease->mailbox_, LocalAnswers::kAtOnce);
  lease->Arm();
  return lease;
}

Lease::Lease(std::shared_ptr<LocalCentre> centre, LeaseOptions options,
             std::shared_ptr<Executor> timers, std::function<void()> on_end)
    : centre_(std::move(centre)),
      options_(options),
      timers_(std::move(timers)),
      mailbox_(std::make_shared<Mailbox>(options_, timers_)),
      on_end_(std::move(on_end)) {}

Lease::~Lease() { End(); }

absl::Status Lease::Watch(int64_t id, bool tree, const std::string& key) {
  absl::Status status = tree ? CheckStorePrefix(key) : CheckStoreKey(key);
  if (!status.ok()) return status;
  if (mailbox_->overfull()) {
    End();
    return absl::ResourceExhaustedError(
        absl::StrCat(key, ": watches come and go and none is fetched; the session has ended"));
  }
  MutexLock lock(mutex_);
  if (ending_ || watches_.count(id) > 0) return absl::OkStatus();
  if (watches_.size() >= options_.max_watches) {
    return absl::ResourceExhaustedError(
        absl::StrCat(key, ": the server takes ", options_.max_watches, " watches of one client"));
  }
  // The mailbox is the store's too: it is there when a watch tells something.
  std::shared_ptr<Mailbox> box = mailbox_;
  if (tree) {
    watches_[id] = store_->WatchTree(
        key, [box, id, limit = options_.piece_bytes](absl::StatusOr<TreeDelta> delta) {
          std::vector<WatchEvent> events(1);
          if (delta.ok()) {
            events = Pieces(*std::move(delta), limit);
          } else {
            events[0].error = delta.status();
          }
          for (WatchEvent& event : events) event.watch = id;
          box->Tell(std::move(events));
        });
  } else {
    watches_[id] = store_->Watch(key, [box, id](absl::StatusOr<StoreValue> value) {
      std::vector<WatchEvent> events(1);
      events[0].watch = id;
      if (value.ok()) {
        events[0].value = *std::move(value);
      } else {
        events[0].error = value.status();
      }
      box->Tell(std::move(events));
    });
  }
  return absl::OkStatus();
}

void Lease::Unwatch(int64_t id) {
  Subscription ended;  // waits for its callback: without the lock
  MutexLock lock(mutex_);
  const auto it = watches_.find(id);
  if (it == watches_.end()) return;
  ended = std::move(it->second);
  watches_.erase(it);
}

std::optional<std::vector<WatchEvent>> Lease::Poll(int64_t acknowledged, absl::Duration wait,
                                                   bool fetch) {
  try {
    return mailbox_->Poll(acknowledged, wait, fetch);
  } catch (const std::exception&) {
    // What a watch was about to tell may be lost, so the client begins anew.
    End();
    return std::nullopt;
  }
}

// Looks in thirds of the time to live, so that a pause of two thirds of it is seen (a client polls
// more often than each third).
void Lease::Arm() {
  const absl::Duration delay = std::min(mailbox_->left(), mailbox_->ttl() / 3);
  const absl::Duration due = timers_->clock().MonotonicNow() + delay;
  MutexLock lock(mutex_);
  if (ending_) return;
  timer_ = timers_->PostAfter(delay, [weak = weak_from_this(), due] {
    if (auto self = weak.lock()) self->EndIfSilent(due);
  });
}

void Lease::EndIfSilent(absl::Duration due) {
  // So late, it was this process that stood still: what clients sent meanwhile is not read yet.
  if (timers_->clock().MonotonicNow() - due > mailbox_->ttl() / 3) mailbox_->Renew();
  if (mailbox_->left() <= absl::ZeroDuration()) {
    End();
  } else {
    Arm();
  }
}

void Lease::End(Keys keys) {
  std::map<int64_t, Subscription> watches;
  std::function<void()> on_end;
  {
    MutexLock lock(mutex_);
    if (std::exchange(ending_, true)) return;
    watches.swap(watches_);
    on_end.swap(on_end_);
    timers_->Cancel(timer_);
  }
  mailbox_->End();
  watches.clear();
  if (store_ != nullptr) {
    if (keys == Keys::kLeftBehind) centre_->LeaveBehind(*store_);
    store_->Close();
  }
  if (on_end != nullptr) on_end();
}

bool Lease::ended() const { return mailbox_->ended(); }

}  // namespace server_internal
}  // namespace signpost

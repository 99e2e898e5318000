#include "signpost/common/manual_executor.h"

#include <algorithm>

namespace signpost {

SimulatedClock::SimulatedClock(absl::Time start) : wall_(start) {}

absl::Time SimulatedClock::WallNow() const {
  MutexLock lock(mutex_);
  return wall_;
}

absl::Duration SimulatedClock::MonotonicNow() const {
  MutexLock lock(mutex_);
  return monotonic_;
}

void SimulatedClock::Advance(absl::Duration by) {
  MutexLock lock(mutex_);
  wall_ += by;
  monotonic_ += by;
}

void SimulatedClock::JumpWall(absl::Duration by) {
  MutexLock lock(mutex_);
  wall_ += by;
}

ManualExecutor::ManualExecutor(SimulatedClock& clock) : clock_(clock) {}

ManualExecutor::~ManualExecutor() {
  // A dropped task may post another one from its destructor.
  for (;;) {
    std::deque<std::pair<TimerId, Task>> queue;
    std::map<std::pair<absl::Duration, TimerId>, Task> timers;
    MutexLock lock(mutex_);
    queue.swap(queue_);
    timers.swap(timers_);
    if (queue.empty() && timers.empty()) return;
  }
}

void ManualExecutor::Post(Task task) {
  MutexLock lock(mutex_);
  queue_.emplace_back(0, std::move(task));
}

Executor::TimerId ManualExecutor::PostAfter(absl::Duration delay, Task task) {
  const absl::Duration due = clock_.MonotonicNow() + delay;
  MutexLock lock(mutex_);
  const TimerId id = next_id_++;
  if (delay <= absl::ZeroDuration()) {
    queue_.emplace_back(id, std::move(task));
  } else {
    timers_.emplace(std::make_pair(due, id), std::move(task));
  }
  return id;
}

bool ManualExecutor::Cancel(TimerId id) {
  if (id == 0) return false;
  Task dropped;  // destroyed after the lock is gone
  MutexLock lock(mutex_);
  auto timer = std::find_if(timers_.begin(), timers_.end(),
                            [id](const auto& each) { return each.first.second == id; });
  if (timer != timers_.end()) {
    dropped = std::move(timer->second);
    timers_.erase(timer);
    return true;
  }
  auto queued = std::find_if(queue_.begin(), queue_.end(),
                             [id](const auto& each) { return each.first == id; });
  if (queued == queue_.end()) return false;
  dropped = std::move(queued->second);
  queue_.erase(queued);
  return true;
}

bool ManualExecutor::IsCurrent() const { return running_.load() == std::this_thread::get_id(); }

Clock& ManualExecutor::clock() const { return clock_; }

bool ManualExecutor::PopNext(Task& task) {
  const absl::Duration now = clock_.MonotonicNow();
  MutexLock lock(mutex_);
  while (!timers_.empty() && timers_.begin()->first.first <= now) {
    auto first = timers_.begin();
    queue_.emplace_back(first->first.second, std::move(first->second));
    timers_.erase(first);
  }
  if (queue_.empty()) return false;
  task = std::move(queue_.front().second);
  queue_.pop_front();
  return true;
}

size_t ManualExecutor::RunUntilIdle() {
  // Restored, not cleared: a task may call this for the work it has just posted.
  const std::thread::id before = running_.exchange(std::this_thread::get_id());
  size_t count = 0;
  for (;;) {
    Task task;
    if (!PopNext(task)) break;
    std::move(task)();
    ++count;
  }
  running_.store(before);
  return count;
}

size_t ManualExecutor::AdvanceAndRun(absl::Duration by) {
  const absl::Duration end = clock_.MonotonicNow() + by;
  size_t count = RunUntilIdle();
  for (;;) {
    absl::Duration next = end;
    {
      MutexLock lock(mutex_);
      if (!timers_.empty()) next = std::min(next, timers_.begin()->first.first);
    }
    const absl::Duration now = clock_.MonotonicNow();
    if (next > now) clock_.Advance(next - now);
    count += RunUntilIdle();
    if (next >= end) return count;
  }
}

size_t ManualExecutor::pending_timers() const {
  MutexLock lock(mutex_);
  return timers_.size();
}

}  // namespace signpost

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
  std::deque<Task> queue;
  std::map<std::pair<absl::Duration, TimerId>, Task> timers;
  MutexLock lock(mutex_);
  queue.swap(queue_);
  timers.swap(timers_);
}

void ManualExecutor::Post(Task task) {
  MutexLock lock(mutex_);
  queue_.push_back(std::move(task));
}

Executor::TimerId ManualExecutor::PostAfter(absl::Duration delay, Task task) {
  const absl::Duration now = clock_.MonotonicNow();
  MutexLock lock(mutex_);
  const TimerId id = next_id_++;
  if (delay <= absl::ZeroDuration()) {
    queue_.push_back(std::move(task));
  } else {
    timers_.emplace(std::make_pair(now + delay, id), std::move(task));
  }
  return id;
}

bool ManualExecutor::Cancel(TimerId id) {
  Task task;
  MutexLock lock(mutex_);
  auto found = std::find_if(timers_.begin(), timers_.end(),
                            [id](const auto& timer) { return timer.first.second == id; });
  if (found == timers_.end()) return false;
  task = std::move(found->second);
  timers_.erase(found);
  return true;
}

bool ManualExecutor::IsCurrent() const { return running_.load() == std::this_thread::get_id(); }

Clock& ManualExecutor::clock() const { return clock_; }

bool ManualExecutor::PopNext(Task& task) {
  const absl::Duration now = clock_.MonotonicNow();
  MutexLock lock(mutex_);
  if (queue_.empty() && !timers_.empty() && timers_.begin()->first.first <= now) {
    queue_.push_back(std::move(timers_.begin()->second));
    timers_.erase(timers_.begin());
  }
  if (queue_.empty()) return false;
  task = std::move(queue_.front());
  queue_.pop_front();
  return true;
}

size_t ManualExecutor::RunUntilIdle() {
  const std::thread::id before = running_.exchange(std::this_thread::get_id());
  size_t ran = 0;
  Task task;
  while (PopNext(task)) {
    std::move(task)();
    task = Task();
    ++ran;
  }
  running_.store(before);
  return ran;
}

size_t ManualExecutor::AdvanceAndRun(absl::Duration by) {
  const absl::Duration end = clock_.MonotonicNow() + by;
  size_t ran = RunUntilIdle();
  for (;;) {
    absl::Duration next = end;
    {
      MutexLock lock(mutex_);
      if (!timers_.empty()) next = std::min(next, timers_.begin()->first.first);
    }
    clock_.Advance(next - clock_.MonotonicNow());
    ran += RunUntilIdle();
    if (next >= end) return ran;
  }
}

size_t ManualExecutor::pending_timers() const {
  MutexLock lock(mutex_);
  return timers_.size();
}

}  // namespace signpost

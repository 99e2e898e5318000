// Simulated time and an executor that a test drives by hand. Public, for users' tests too.
//
// Threads: SimulatedClock may be used from any thread. Post may be called from any thread;
//   tasks run only inside the Run... calls, on the caller's thread.
#ifndef SIGNPOST_COMMON_MANUAL_EXECUTOR_H_
#define SIGNPOST_COMMON_MANUAL_EXECUTOR_H_

#include <atomic>
#include <cstddef>
#include <deque>
#include <map>
#include <thread>
#include <utility>

#include "absl/time/time.h"
#include "signpost/common/clock.h"
#include "signpost/common/executor.h"
#include "signpost/common/mutex.h"

namespace signpost {

class SimulatedClock final : public Clock {
 public:
  // Wall time starts at `start`; monotonic time starts at 0.
  explicit SimulatedClock(absl::Time start = absl::FromUnixSeconds(1700000000));
  absl::Time WallNow() const override;
  absl::Duration MonotonicNow() const override;
  void Advance(absl::Duration by);
  // Moves the wall clock only, as an operator or NTP would.
  void JumpWall(absl::Duration by);

 private:
  mutable Mutex mutex_;
  absl::Time wall_ ABSL_GUARDED_BY(mutex_);
  absl::Duration monotonic_ ABSL_GUARDED_BY(mutex_) = absl::ZeroDuration();
};

class ManualExecutor final : public Executor {
 public:
  // `clock` must outlive this.
  explicit ManualExecutor(SimulatedClock& clock);
  ~ManualExecutor() override;

  void Post(Task task) override;
  TimerId PostAfter(absl::Duration delay, Task task) override;
  bool Cancel(TimerId id) override;
  bool IsCurrent() const override;
  Clock& clock() const override;

  // Runs queued tasks and those they post, until none is left. Timers that are due at the present
  // time run too. Returns how many ran.
  size_t RunUntilIdle();

  // Advances the clock in steps from timer to timer, running each when it is due, by `by` in all.
  size_t AdvanceAndRun(absl::Duration by);

  size_t pending_timers() const;

 private:
  bool PopNext(Task& task);

  SimulatedClock& clock_;
  mutable Mutex mutex_;
  std::deque<std::pair<TimerId, Task>> queue_ ABSL_GUARDED_BY(mutex_);  // 0: not a timer
  std::map<std::pair<absl::Duration, TimerId>, Task> timers_ ABSL_GUARDED_BY(mutex_);
  TimerId next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  std::atomic<std::thread::id> running_{};
};

}  // namespace signpost

#endif  // SIGNPOST_COMMON_MANUAL_EXECUTOR_H_

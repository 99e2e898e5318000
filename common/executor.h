// Where control work runs: one task at a time, in order, never under a lock.
//
// The control plane of a Client is one serial Executor: backends' threads only Post to it.
// A second one takes heavy work (compiling routes, parsing large documents).
//
// Threads: Post, PostAfter and Cancel may be called from any thread, also from a task.
//   Tasks of one executor never run at the same time.
// Ownership: the executor owns queued tasks. Destroying or stopping it drops (destroys)
//   what has not begun, after the running task has ended.
// Errors: tasks must not throw.
#ifndef SIGNPOST_COMMON_EXECUTOR_H_
#define SIGNPOST_COMMON_EXECUTOR_H_

#include <cstdint>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "signpost/common/clock.h"

namespace signpost {

class Executor {
 public:
  using Task = absl::AnyInvocable<void() &&>;
  // 0 is never a timer.
  using TimerId = uint64_t;

  virtual ~Executor() = default;

  // Runs `task` after all tasks posted before.
  virtual void Post(Task task) = 0;

  // Runs `task` once `delay` has passed on clock(). A delay <= 0 acts as Post.
  virtual TimerId PostAfter(absl::Duration delay, Task task) = 0;

  // True if the timer's task had not begun and now never will. Destroys the task.
  virtual bool Cancel(TimerId id) = 0;

  // True on the thread that is running one of this executor's tasks.
  virtual bool IsCurrent() const = 0;

  virtual Clock& clock() const = 0;
};

// A thread of its own, started here. `name` becomes the thread's name (15 characters).
// Dropping the last reference waits for the running task, unless called from it.
std::shared_ptr<Executor> NewSerialExecutor(const char* name, Clock& clock = Clock::Real());

}  // namespace signpost

#endif  // SIGNPOST_COMMON_EXECUTOR_H_

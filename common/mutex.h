// std::mutex with thread-safety annotations (checked by clang, documentation under GCC).
//
// absl::Mutex is not used: the packaged library is not instrumented for ThreadSanitizer.
#ifndef SIGNPOST_COMMON_MUTEX_H_
#define SIGNPOST_COMMON_MUTEX_H_

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"

namespace signpost {

class ABSL_LOCKABLE Mutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_.Lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

class CondVar {
 public:
  // REQUIRES: `mutex` is held. May wake without a reason.
  void Wait(Mutex& mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  // False if `timeout` passed (real time). REQUIRES: `mutex` is held.
  bool WaitFor(Mutex& mutex, absl::Duration timeout) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    // ThreadSanitizer of GCC 12 does not know pthread_cond_clockwait, which steady_clock needs;
    // everywhere else a jump of the wall clock must not stretch the wait.
#if defined(__SANITIZE_THREAD__)
    using WaitClock = std::chrono::system_clock;
#else
    using WaitClock = std::chrono::steady_clock;
#endif
    // A year is forever; more could overflow the deadline.
    const auto wait = absl::ToChronoMicroseconds(std::min(timeout, absl::Hours(24 * 365)));
    const bool woken =
        condition_.wait_until(lock, WaitClock::now() + wait) == std::cv_status::no_timeout;
    lock.release();
    return woken;
  }
  void Signal() { condition_.notify_one(); }
  void SignalAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace signpost

#endif  // SIGNPOST_COMMON_MUTEX_H_

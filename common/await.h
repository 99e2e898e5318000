// Waits for a callback-style call, for threads that are not the executor (tools, start-up, tests).
//
//   auto value = Await<absl::StatusOr<StoreValue>>(absl::Seconds(5), [&](auto done) {
//     store.Get("/services", CallOptions(), std::move(done));
//   });
//
// Threads: never from the executor that the callback runs on.
// Errors: kDeadlineExceeded when `timeout` passes first (a callback that comes later is ignored);
//   kCancelled when the callback is dropped without a call, as an executor that stops does.
#ifndef SIGNPOST_COMMON_AWAIT_H_
#define SIGNPOST_COMMON_AWAIT_H_

#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "signpost/common/clock.h"
#include "signpost/common/mutex.h"

namespace signpost {

// Await in two steps, for calls that are begun under a lock. `Result`: absl::Status or
// absl::StatusOr<T>.
template <typename Result = absl::Status>
class Waiter {
 public:
  // What the call gets as its callback. Once per Waiter.
  auto Callback() {
    // Lives in the callback and its copies, so that it notices when the last of them is dropped.
    struct Guard {
      explicit Guard(std::shared_ptr<State> s) : state(std::move(s)) {}
      ~Guard() { state->Set(absl::CancelledError("given up: the executor has stopped")); }
      std::shared_ptr<State> state;
    };
    return [guard = std::make_shared<Guard>(state_)](Result result) {
      guard->state->Set(std::move(result));
    };
  }

  // Real time. Takes the result: once per Waiter.
  Result Wait(absl::Duration timeout) {
    const Clock& clock = Clock::Real();
    const absl::Duration end = clock.MonotonicNow() + timeout;
    MutexLock lock(state_->mutex);
    while (!state_->result.has_value()) {
      const absl::Duration left = end - clock.MonotonicNow();
      if (left <= absl::ZeroDuration()) {
        return absl::DeadlineExceededError(
            absl::StrCat("no answer in ", absl::FormatDuration(timeout)));
      }
      state_->changed.WaitFor(state_->mutex, left);
    }
    return *std::move(state_->result);
  }

 private:
  struct State {
    Mutex mutex;
    CondVar changed;
    std::optional<Result> result ABSL_GUARDED_BY(mutex);

    // The first one counts.
    void Set(Result value) {
      MutexLock lock(mutex);
      if (result.has_value()) return;
      result.emplace(std::move(value));
      changed.SignalAll();
    }
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

// `start(done)` begins the call.
template <typename Result = absl::Status, typename Start>
Result Await(absl::Duration timeout, Start start) {
  Waiter<Result> waiter;
  start(waiter.Callback());
  // A call ends by its own deadline; the slack lets its own error be the answer.
  return waiter.Wait(timeout + absl::Seconds(1));
}

}  // namespace signpost

#endif  // SIGNPOST_COMMON_AWAIT_H_

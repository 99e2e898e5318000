#include "signpost/client/waiting.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "signpost/common/clock.h"
#include "signpost/common/mutex.h"

namespace signpost::client_internal {

struct Waiting::State {
  Mutex mutex;
  CondVar changed;
  std::optional<absl::Status> result;

  void Set(absl::Status status) {
    MutexLock lock(mutex);
    if (result.has_value()) return;
    result = std::move(status);
    changed.SignalAll();
  }
};

Waiting::Waiting() : state_(std::make_shared<State>()) {}

DoneCallback Waiting::Callback() {
  // Lives in the callback, so that it notices when that is dropped.
  struct Guard {
    explicit Guard(std::shared_ptr<State> s) : state(std::move(s)) {}
    ~Guard() { state->Set(absl::CancelledError("given up: the executor has stopped")); }
    std::shared_ptr<State> state;
  };
  return [guard = std::make_unique<Guard>(state_)](absl::Status status) {
    guard->state->Set(std::move(status));
  };
}

absl::Status Waiting::Wait(absl::Duration timeout) {
  const absl::Duration end = Clock::Real().MonotonicNow() + timeout;
  MutexLock lock(state_->mutex);
  while (!state_->result.has_value()) {
    const absl::Duration left = end - Clock::Real().MonotonicNow();
    if (left <= absl::ZeroDuration()) return absl::DeadlineExceededError("no answer in time");
    // Infinite waits in parts: the condition variable wants a time point.
    state_->changed.WaitFor(state_->mutex, std::min(left, absl::Hours(1)));
  }
  return *state_->result;
}

absl::Status Flush(Executor& executor, absl::Duration timeout) {
  Waiting waiting;
  executor.Post([done = waiting.Callback()]() mutable { std::move(done)(absl::OkStatus()); });
  return waiting.Wait(timeout);
}

}  // namespace signpost::client_internal

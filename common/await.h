// Waits for a callback-style call, for threads that are not the executor (tools, start-up, tests).
//
//   auto value = Await<absl::StatusOr<StoreValue>>(absl::Seconds(5), [&](auto done) {
//     store.Get("/services", CallOptions(), std::move(done));
//   });
//
// Threads: never from the executor that the callback runs on.
// Errors: kDeadlineExceeded when `timeout` passes first; a callback that comes later is ignored.
//   The call's own deadline usually ends it first.
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

// `Result`: absl::Status or absl::StatusOr<T>. `start(done)` begins the call.
template <typename Result = absl::Status, typename Start>
Result Await(absl::Duration timeout, Start start) {
  struct State {
    Mutex mutex;
    CondVar changed;
    std::optional<Result> result ABSL_GUARDED_BY(mutex);
  };
  auto state = std::make_shared<State>();
  start([state](Result result) {
    MutexLock lock(state->mutex);
    state->result.emplace(std::move(result));
    state->changed.SignalAll();
  });
  // A call ends by its own deadline; the slack lets its own error be the answer.
  const Clock& clock = Clock::Real();
  const absl::Duration end = clock.MonotonicNow() + timeout + absl::Seconds(1);
  MutexLock lock(state->mutex);
  while (!state->result.has_value()) {
    const absl::Duration left = end - clock.MonotonicNow();
    if (left <= absl::ZeroDuration()) {
      return absl::DeadlineExceededError(
          absl::StrCat("no answer in ", absl::FormatDuration(timeout)));
    }
    state->changed.WaitFor(state->mutex, left);
  }
  return *std::move(state->result);
}

}  // namespace signpost

#endif  // SIGNPOST_COMMON_AWAIT_H_

// How long a control call may take, and how it is given up early.
//
// Threads: a CancelToken may be copied, cancelled and asked from any thread.
#ifndef SIGNPOST_COMMON_CALL_OPTIONS_H_
#define SIGNPOST_COMMON_CALL_OPTIONS_H_

#include <functional>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "signpost/common/clock.h"

namespace signpost {

// A flag that copies share. Cancel() is final. Work that was given the token ends
// with kCancelled as soon as it notices; its callback still runs exactly once.
class CancelToken {
 public:
  // A token that is never cancelled until Cancel() is called on a copy of it.
  CancelToken();

  void Cancel();
  bool cancelled() const;

  // Runs `fn` once when Cancel() is called, on the cancelling thread; at once if it
  // was called already. Returns an id for RemoveCallback.
  int OnCancel(std::function<void()> fn) const;
  // `fn` is not begun afterwards; does not wait for one that another thread is running.
  void RemoveCallback(int id) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Every control call takes one of these.
struct CallOptions {
  // Counted from the start of the call; afterwards the call ends with kDeadlineExceeded.
  // Default: 5 s.
  absl::Duration timeout = absl::Seconds(5);
  CancelToken cancel;
};

// The end of a call that makes several others.
class Deadline {
 public:
  // `clock` must outlive this.
  Deadline(const Clock& clock, const CallOptions& options)
      : clock_(&clock), end_(clock.MonotonicNow() + options.timeout), cancel_(options.cancel) {}
  // For the next of them: what is left of the time.
  CallOptions Left() const { return {end_ - clock_->MonotonicNow(), cancel_}; }

 private:
  const Clock* clock_;
  absl::Duration end_;
  CancelToken cancel_;
};

// Called exactly once when a control call without a value has ended.
using DoneCallback = absl::AnyInvocable<void(absl::Status) &&>;

}  // namespace signpost

#endif  // SIGNPOST_COMMON_CALL_OPTIONS_H_

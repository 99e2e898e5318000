// Turns a callback into a wait. Not for users.
//
// Threads: Callback from one thread, Wait from another.
#ifndef SIGNPOST_CLIENT_WAITING_H_
#define SIGNPOST_CLIENT_WAITING_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "signpost/common/call_options.h"
#include "signpost/common/executor.h"

namespace signpost::client_internal {

class Waiting {
 public:
  Waiting();

  // Makes Wait end with the status it is called with; with kCancelled when it is dropped uncalled
  // (an executor that stopped). Call it once per Waiting.
  DoneCallback Callback();

  // kDeadlineExceeded after `timeout` of real time.
  absl::Status Wait(absl::Duration timeout);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Waits until everything posted to `executor` before has run, at most `timeout`.
absl::Status Flush(Executor& executor, absl::Duration timeout);

}  // namespace signpost::client_internal

#endif  // SIGNPOST_CLIENT_WAITING_H_

// Calls that wait for something, each ended once: by its answer, its deadline or its cancel token.
// Private to this folder.
//
// Threads: all on the executor, except Close once the guard is closed.
// Ownership: the executor must outlive this.
#ifndef SIGNPOST_REGISTRY_INTERFACE_PENDING_CALLS_H_
#define SIGNPOST_REGISTRY_INTERFACE_PENDING_CALLS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "signpost/common/call_options.h"
#include "signpost/common/executor.h"
#include "signpost/registry/callback_guard.h"

namespace signpost::interface_internal {

template <typename Result>
class PendingCalls {
 public:
  using Done = absl::AnyInvocable<void(Result) &&>;

  PendingCalls(Executor& executor, registry_internal::CallbackGuard guard)
      : executor_(executor), guard_(std::move(guard)) {}

  // `why_late` is asked at the deadline.
  uint64_t Add(const CallOptions& options, Done done, std::function<absl::Status()> why_late) {
    const uint64_t id = next_id_++;
    Call& call = calls_[id];
    call.done = std::move(done);
    call.cancel = options.cancel;
    call.deadline = executor_.PostAfter(
        options.timeout,
        guard_.Wrap([this, id, why_late = std::move(why_late)] { End(id, why_late()); }));
    call.cancel_id = options.cancel.OnCancel([&executor = executor_, guard = guard_, this, id] {
      executor.Post(
          guard.Wrap([this, id] { End(id, absl::CancelledError("the caller gave up")); }));
    });
    return id;
  }

  // One that has ended is ignored.
  void End(uint64_t id, Result result) {
    auto it = calls_.find(id);
    if (it == calls_.end()) return;
    Call call = std::move(it->second);
    calls_.erase(it);
    Release(call);
    std::move(call.done)(std::move(result));
  }

  // Ends all, by tasks of their own.
  void Close(const absl::Status& status) {
    for (auto& [id, call] : calls_) {
      Release(call);
      executor_.Post([done = std::move(call.done), status]() mutable { std::move(done)(status); });
    }
    calls_.clear();
  }

  size_t size() const { return calls_.size(); }

 private:
  struct Call {
    Done done;
    Executor::TimerId deadline = 0;
    CancelToken cancel;
    int cancel_id = 0;
  };

  void Release(Call& call) {
    executor_.Cancel(call.deadline);
    call.cancel.RemoveCallback(call.cancel_id);
  }

  Executor& executor_;
  const registry_internal::CallbackGuard guard_;
  std::map<uint64_t, Call> calls_;
  uint64_t next_id_ = 1;
};

}  // namespace signpost::interface_internal

#endif  // SIGNPOST_REGISTRY_INTERFACE_PENDING_CALLS_H_

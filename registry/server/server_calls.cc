#include "signpost/registry/server/server_calls.h"

#include "absl/strings/str_cat.h"
#include "signpost/common/status.h"

namespace signpost {
namespace server_internal {

void ServerCalls::Remember(std::shared_ptr<CallEnd> call, const std::string& key,
                           const absl::Status& bad_key, const CallOptions& options) {
  call->key = key;
  call->cancel = options.cancel;
  open_.emplace(call.get(), call);
  if (!bad_key.ok()) return call->Fail(bad_key);
  if (link_->closed()) {
    return call->Fail(absl::CancelledError(absl::StrCat(key, ": the store is closed")));
  }
  if (options.cancel.cancelled()) {
    return call->Fail(absl::CancelledError(absl::StrCat(key, ": cancelled")));
  }
  if (options.timeout <= absl::ZeroDuration()) {
    return call->Fail(absl::DeadlineExceededError(absl::StrCat(key, ": no time left")));
  }
  std::weak_ptr<CallEnd> weak = call;
  call->timer = executor_->PostAfter(options.timeout, [weak, link = link_] {
    auto late = weak.lock();
    if (late == nullptr) return;
    late->timer = 0;
    late->Fail(absl::DeadlineExceededError(
        link->connected()
            ? absl::StrCat(late->key, ": no answer in time")
            : absl::StrCat(late->key, ": not connected: ", link->WhyNotConnected().message())));
  });
  call->cancel_id = call->cancel.OnCancel([weak, executor = executor_] {
    executor->Post([weak] {
      if (auto given_up = weak.lock()) {
        given_up->Fail(absl::CancelledError(absl::StrCat(given_up->key, ": cancelled")));
      }
    });
  });
}

void ServerCalls::Forget(CallEnd* call) {
  if (call->timer != 0) executor_->Cancel(call->timer);
  call->cancel.RemoveCallback(call->cancel_id);
  if (call->request != 0) link_->Withdraw(call->request);
  open_.erase(call);
}

void ServerCalls::CancelAll() {
  const auto open = std::exchange(open_, {});
  for (const auto& [raw, call] : open) {
    call->Fail(absl::CancelledError(absl::StrCat(call->key, ": the store is closed")));
  }
}

}  // namespace server_internal
}  // namespace signpost

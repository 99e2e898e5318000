// The Store's single calls on a ServerLink: each waits for its turn, for its deadline at most, and
// is told its end exactly once. Private to this folder.
//
// Threads: everything on the executor, but the functions that ask the server: the link's.
// Errors: as registry/store/store.h.
#ifndef SIGNPOST_REGISTRY_SERVER_SERVER_CALLS_H_
#define SIGNPOST_REGISTRY_SERVER_SERVER_CALLS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "signpost/common/call_options.h"
#include "signpost/common/executor.h"
#include "signpost/registry/server/connection.h"
#include "signpost/registry/server/server_link.h"

namespace signpost {
namespace server_internal {

// What all calls have in common.
class CallEnd {
 public:
  virtual ~CallEnd() = default;
  virtual void Fail(absl::Status status) = 0;

  std::string key;
  CancelToken cancel;
  std::atomic<bool> ended{false};  // read by the link's thread
  Executor::TimerId timer = 0;
  int cancel_id = 0;
  uint64_t request = 0;
};

template <typename T>
class Call final : public CallEnd {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<T>) &&>;
  explicit Call(Done done) : done_(std::move(done)) {}
  void Fail(absl::Status status) override { End(std::move(status)); }
  void End(absl::StatusOr<T> result) {
    if (ended.exchange(true)) return;
    on_end();
    std::move(done_)(std::move(result));
  }
  std::function<void()> on_end;

 private:
  Done done_;
};

class ServerCalls : public std::enable_shared_from_this<ServerCalls> {
 public:
  ServerCalls(std::shared_ptr<ServerLink> link, std::shared_ptr<Executor> executor)
      : link_(std::move(link)), executor_(std::move(executor)) {}

  // `bad_key`: not OK ends the call. `ask` runs on the link's thread, again after a lost connection
  // if `repeatable`.
  template <typename T>
  void Start(const std::string& key, const absl::Status& bad_key, const CallOptions& options,
             bool repeatable, typename Call<T>::Done done,
             std::function<Answer<T>(Connection&, int64_t session)> ask) {
    auto call = std::make_shared<Call<T>>(std::move(done));
    call->on_end = [weak = weak_from_this(), raw = call.get()] {
      if (auto self = weak.lock()) self->Forget(raw);
    };
    Remember(call, key, bad_key, options);
    if (call->ended) return;
    ServerLink::Request request;
    request.repeatable = repeatable;
    request.run = [call, executor = executor_, repeatable, ask = std::move(ask)](
                      Connection& connection, int64_t session) {
      if (call->ended) return Outcome::kAnswered;
      Answer<T> answer = ask(connection, session);
      if (answer.outcome == Outcome::kAnswered ||
          (answer.outcome == Outcome::kBroken && !repeatable)) {
        executor->Post(
            [call, value = std::move(answer.value)]() mutable { call->End(std::move(value)); });
      }
      return answer.outcome;
    };
    call->request = link_->Enqueue(std::move(request));
  }

  // All open calls end with kCancelled.
  void CancelAll();

 private:
  void Remember(std::shared_ptr<CallEnd> call, const std::string& key, const absl::Status& bad_key,
                const CallOptions& options);
  void Forget(CallEnd* call);

  const std::shared_ptr<ServerLink> link_;
  const std::shared_ptr<Executor> executor_;
  std::unordered_map<CallEnd*, std::shared_ptr<CallEnd>> open_;
};

}  // namespace server_internal
}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_SERVER_SERVER_CALLS_H_

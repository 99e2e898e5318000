// The Store's single calls on a ZookeeperSession: each waits for a connection, for its deadline at
// most, and is told its end exactly once.
//
// Threads: everything on the executor.
// Errors: as registry/store/store.h. Reads and session-bound writes are tried again when the
//   connection breaks under them; for other writes the outcome is unknown then: kUnavailable.
#ifndef SIGNPOST_REGISTRY_ZOOKEEPER_ZOOKEEPER_CALLS_H_
#define SIGNPOST_REGISTRY_ZOOKEEPER_ZOOKEEPER_CALLS_H_

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "signpost/common/call_options.h"
#include "signpost/common/executor.h"
#include "signpost/registry/store/store.h"
#include "signpost/registry/zookeeper/zookeeper_session.h"

namespace signpost {
namespace zookeeper_internal {

std::string ParentOf(const std::string& key);
std::string ChildOf(const std::string& prefix, const std::string& name);
StoreValue ToValue(Reply reply, int64_t session);

// What all calls have in common: not ended, deadline, cancelled.
class CallEnd {
 public:
  virtual ~CallEnd() = default;
  virtual void Fail(absl::Status status) = 0;
  bool ended = false;
  Executor::TimerId timer = 0;
  int cancel_id = 0;
  CancelToken cancel;
  std::string key;
};

template <typename T>
class Call : public CallEnd {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<T>) &&>;
  explicit Call(Done done) : done_(std::move(done)) {}
  void Fail(absl::Status status) override { End(std::move(status)); }
  void End(absl::StatusOr<T> result) {
    if (std::exchange(ended, true)) return;
    on_end();
    std::move(done_)(std::move(result));
  }
  std::function<void()> on_end;

 private:
  Done done_;
};

class ZookeeperCalls : public std::enable_shared_from_this<ZookeeperCalls> {
 public:
  ZookeeperCalls(std::shared_ptr<ZookeeperSession> session, std::shared_ptr<Executor> executor)
      : session_(std::move(session)), executor_(std::move(executor)) {}

  template <typename T>
  std::shared_ptr<Call<T>> NewCall(const std::string& key, const CallOptions& options,
                                   typename Call<T>::Done done) {
    auto call = std::make_shared<Call<T>>(std::move(done));
    call->on_end = [weak = weak_from_this(), raw = call.get()] {
      if (auto self = weak.lock()) self->Forget(raw);
    };
    Remember(call, key, options);
    return call;
  }

  // Start only if the call has not ended already (bad key, cancelled).
  Flow Get(std::shared_ptr<Call<StoreValue>> call);
  Flow Exists(std::shared_ptr<Call<bool>> call);
  Flow List(std::shared_ptr<Call<std::vector<StoreChild>>> call);
  Flow Put(std::shared_ptr<Call<int64_t>> call, std::string value);
  Flow CreateSessionBound(std::shared_ptr<Call<int64_t>> call, std::string value,
                          ParentKind parents);
  Flow CompareAndSet(std::shared_ptr<Call<int64_t>> call, std::string value, int64_t expected);
  Flow Delete(std::shared_ptr<Call<bool>> call, int64_t expected);

  // All open calls end with `why`, which their keys are put in front of.
  void FailAll(const absl::Status& why);

 private:
  void Remember(std::shared_ptr<CallEnd> call, const std::string& key, const CallOptions& options);
  void Forget(CallEnd* call);
  // Creates the ancestors of `key`, the direct one in `mode`; then resumes with what came of it.
  Flow MakeParents(std::string key, NodeMode mode, ZookeeperSession::ReplyCallback done);

  class Parents;

  const std::shared_ptr<ZookeeperSession> session_;
  const std::shared_ptr<Executor> executor_;
  std::unordered_map<CallEnd*, std::shared_ptr<CallEnd>> open_;
};

}  // namespace zookeeper_internal
}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_ZOOKEEPER_ZOOKEEPER_CALLS_H_

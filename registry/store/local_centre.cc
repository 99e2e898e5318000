#include "signpost/registry/store/local_centre.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "signpost/registry/store/local_state.h"
#include "signpost/registry/store/store_key.h"

namespace signpost {
namespace {

using store_internal::LocalSession;
using store_internal::LocalWatch;

// As ZooKeeper: what is stored here can be moved there.
absl::Status CheckOptions(const std::string& key, const CallOptions& options) {
  if (options.cancel.cancelled()) return absl::CancelledError(absl::StrCat(key, ": cancelled"));
  if (options.timeout <= absl::ZeroDuration()) {
    return absl::DeadlineExceededError(absl::StrCat(key, ": no time left"));
  }
  return absl::OkStatus();
}

absl::Status CheckCall(const std::string& key, const CallOptions& options, bool prefix = false) {
  absl::Status status = prefix ? CheckStorePrefix(key) : CheckStoreKey(key);
  if (!status.ok()) return status;
  return CheckOptions(key, options);
}

}  // namespace

class LocalStore final : public Store {
 public:
  LocalStore(std::shared_ptr<LocalCentre> centre, std::shared_ptr<LocalCentre::State> state,
             std::shared_ptr<Executor> executor, LocalAnswers answers)
      : centre_(std::move(centre)),
        state_(std::move(state)),
        session_(state_->OpenSession(this, executor)),
        executor_(std::move(executor)),
        answers_(answers) {}
  ~LocalStore() override { Close(); }

  void Get(const std::string& key, const CallOptions& options, ValueCallback done) override {
    absl::Status status = CheckCall(key, options);
    Finish<absl::StatusOr<StoreValue>>(
        status.ok() ? state_->Get(*session_, key) : absl::StatusOr<StoreValue>(status),
        std::move(done));
  }

  void Put(const std::string& key, std::string value, const CallOptions& options,
           VersionCallback done) override {
    Write(key, std::move(value), /*session_bound=*/false, options, std::move(done));
  }

  void CreateSessionBound(const std::string& key, std::string value, absl::Duration,
                          const CallOptions& options, VersionCallback done, ParentKind) override {
    Write(key, std::move(value), /*session_bound=*/true, options, std::move(done));
  }

  void CompareAndSet(const std::string& key, std::string value, int64_t expected_version,
                     const CallOptions& options, VersionCallback done) override {
    absl::Status status = CheckCall(key, options);
    Finish<absl::StatusOr<int64_t>>(
        status.ok() ? state_->CompareAndSet(*session_, key, std::move(value), expected_version)
                    : absl::StatusOr<int64_t>(status),
        std::move(done));
  }

  void Delete(const std::string& key, int64_t expected_version, const CallOptions& options,
              DoneCallback done) override {
    absl::Status status = CheckCall(key, options);
    if (status.ok()) status = state_->Delete(*session_, key, expected_version);
    Finish(std::move(status), std::move(done));
  }

  void Exists(const std::string& key, const CallOptions& options, BoolCallback done) override {
    absl::Status status = CheckCall(key, options);
    if (status.ok()) status = state_->Get(*session_, key).status();
    absl::StatusOr<bool> result = status.ok();
    if (!status.ok() && !absl::IsNotFound(status)) result = status;
    Finish(std::move(result), std::move(done));
  }

  void List(const std::string& prefix, const CallOptions& options, ListCallback done) override {
    absl::Status status = CheckCall(prefix, options, /*prefix=*/true);
    Finish(status.ok() ? state_->List(*session_, prefix)
                       : absl::StatusOr<std::vector<StoreChild>>(status),
           std::move(done));
  }

  Subscription Watch(const std::string& key, WatchCallback on_change) override {
    auto watch = std::make_shared<LocalWatch>(LocalWatch::Kind::kKey, session_, key);
    watch->on_value = std::move(on_change);
    return Start(watch, CheckStoreKey(key));
  }

  Subscription WatchTree(const std::string& prefix, TreeCallback on_change,
                         TreeContent content) override {
    auto watch = std::make_shared<LocalWatch>(LocalWatch::Kind::kTree, session_, prefix);
    watch->content = content;
    watch->on_tree = std::move(on_change);
    return Start(watch, CheckStorePrefix(prefix));
  }

  Subscription WatchSession(SessionCallback on_event) override {
    auto watch = std::make_shared<LocalWatch>(LocalWatch::Kind::kSession, session_, "");
    watch->on_session = std::move(on_event);
    return Start(watch, absl::OkStatus());
  }

  bool IsAvailable() const override { return state_->available(*session_); }

  StoreCapabilities capabilities() const override {
    StoreCapabilities result;
    result.ordered = true;
    result.tree_watch = true;
    result.session = true;
    result.live = state_->live();
    return result;
  }

  void Close() override {
    for (const auto& watch : state_->CloseSession(*session_)) watch->gate.Close();
  }

 private:
  template <typename Result, typename Done>
  void Finish(Result result, Done done) {
    if (answers_ == LocalAnswers::kAtOnce) {
      std::move(done)(std::move(result));
      return;
    }
    executor_->Post([result = std::move(result), done = std::move(done)]() mutable {
      std::move(done)(std::move(result));
    });
  }

  void Write(const std::string& key, std::string value, bool session_bound,
             const CallOptions& options, VersionCallback done) {
    absl::Status status = CheckCall(key, options);
    Finish<absl::StatusOr<int64_t>>(
        status.ok() ? state_->Write(*session_, key, std::move(value), session_bound)
                    : absl::StatusOr<int64_t>(status),
        std::move(done));
  }

  // A watch that cannot be is told so once.
  Subscription Start(const std::shared_ptr<LocalWatch>& watch, absl::Status status) {
    if (status.ok()) status = state_->AddWatch(watch);
    if (!status.ok()) {
      executor_->Post([watch, status] {
        const Gate::Pass pass = watch->gate.Enter();
        if (!pass) return;
        if (watch->on_value) watch->on_value(status);
        if (watch->on_tree) watch->on_tree(status);
      });
    }
    return Subscription([weak = std::weak_ptr<LocalCentre::State>(state_), watch] {
      if (const auto state = weak.lock()) state->RemoveWatch(watch);
      watch->gate.Close();
    });
  }

  const std::shared_ptr<LocalCentre> centre_;
  const std::shared_ptr<LocalCentre::State> state_;
  const std::shared_ptr<LocalSession> session_;
  const std::shared_ptr<Executor> executor_;
  const LocalAnswers answers_;
};

LocalCentre::LocalCentre(std::unique_ptr<KeyValue> data, Options options)
    : state_(std::make_shared<State>(std::move(data), std::move(options))) {}

LocalCentre::~LocalCentre() = default;

absl::Status LocalCentre::AdoptLeftBehind(const Store& store) {
  return state_->AdoptLeftBehind(store);
}

void LocalCentre::LeaveBehind(const Store& store) { state_->LeaveBehind(store); }

void LocalCentre::DropEnded() { state_->DropEnded(); }

void LocalCentre::ExpireSession(const Store& store) { state_->ExpireSession(store); }

void LocalCentre::SetOffline(bool offline) { state_->SetOffline(offline); }

size_t LocalCentre::watch_count() const { return state_->watch_count(); }

std::unique_ptr<Store> NewLocalStore(std::shared_ptr<LocalCentre> centre,
                                     std::shared_ptr<Executor> executor, LocalAnswers answers) {
  std::shared_ptr<LocalCentre::State> state = centre->state_;
  return std::make_unique<LocalStore>(std::move(centre), std::move(state), std::move(executor),
                                      answers);
}

}  // namespace signpost

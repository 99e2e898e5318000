// Callbacks that share one source of events, each under the contract of Subscription.
//
//   WatchSet<std::string> watchers(executor);
//   Subscription s = watchers.Add([](const std::string& event) { ... });
//   watchers.Notify("changed");  // posts; the callbacks run on the executor
//
// Threads: all methods may be called from any thread; callbacks run on the executor, without
//   locks, in the order of Notify. A callback sees what is notified after its Add.
// Ownership: the executor must outlive the set. Destroying the set cancels every watcher: it
//   waits for a running callback unless called from it. A Subscription may outlive the set.
#ifndef SIGNPOST_COMMON_WATCH_SET_H_
#define SIGNPOST_COMMON_WATCH_SET_H_

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "signpost/common/executor.h"
#include "signpost/common/gate.h"
#include "signpost/common/mutex.h"
#include "signpost/common/subscription.h"

namespace signpost {

// One callback that can be switched off for good.
template <typename... Args>
class Watcher {
 public:
  using Callback = std::function<void(const Args&...)>;

  explicit Watcher(Callback callback) : callback_(std::move(callback)) {}

  // Runs the callback unless Cancel was called. Keep a reference to the watcher meanwhile.
  void Run(const Args&... args) {
    if (Gate::Pass pass = gate_.Enter()) callback_(args...);
  }

  // Afterwards the callback does not run, except the call that this is called from.
  void Cancel() { gate_.Close(); }
  bool cancelled() const { return gate_.closed(); }

 private:
  Callback callback_;
  Gate gate_;  // after callback_: closed before that is destroyed
};

template <typename... Args>
class WatchSet {
 public:
  using Callback = typename Watcher<Args...>::Callback;

  explicit WatchSet(Executor& executor) : executor_(executor), state_(std::make_shared<State>()) {}
  ~WatchSet() {
    for (const auto& watcher : state_->Copy()) watcher->Cancel();
  }
  WatchSet(const WatchSet&) = delete;
  WatchSet& operator=(const WatchSet&) = delete;

  Subscription Add(Callback callback) { return Join(MakeWatcher(std::move(callback))); }

  // As Add; the callback is first called with `now`, before anything notified later.
  Subscription AddWith(Callback callback, Args... now) {
    auto watcher = MakeWatcher(std::move(callback));
    MutexLock lock(state_->mutex);
    state_->watchers.push_back(watcher);
    Deliver({watcher}, std::move(now)...);
    return Leave(std::move(watcher));
  }

  void Notify(Args... args) {
    // Posted under the lock: what is notified first is told first.
    MutexLock lock(state_->mutex);
    Deliver({state_->watchers.begin(), state_->watchers.end()}, std::move(args)...);
  }

  size_t size() const {
    MutexLock lock(state_->mutex);
    return state_->watchers.size();
  }
  bool empty() const { return size() == 0; }

 private:
  using WatcherPtr = std::shared_ptr<Watcher<Args...>>;

  struct State {
    std::vector<WatcherPtr> Copy() {
      MutexLock lock(mutex);
      return std::vector<WatcherPtr>(watchers.begin(), watchers.end());
    }
    Mutex mutex;
    std::list<WatcherPtr> watchers ABSL_GUARDED_BY(mutex);
  };

  static WatcherPtr MakeWatcher(Callback callback) {
    return std::make_shared<Watcher<Args...>>(std::move(callback));
  }

  Subscription Join(WatcherPtr watcher) {
    MutexLock lock(state_->mutex);
    state_->watchers.push_back(watcher);
    return Leave(std::move(watcher));
  }

  Subscription Leave(WatcherPtr watcher) {
    return Subscription([weak = std::weak_ptr<State>(state_), watcher = std::move(watcher)] {
      if (auto state = weak.lock()) {
        MutexLock lock(state->mutex);
        state->watchers.remove(watcher);  // `watcher` itself keeps the callback alive
      }
      watcher->Cancel();
    });
  }

  void Deliver(std::vector<WatcherPtr> watchers, Args... args) {
    if (watchers.empty()) return;
    executor_.Post([watchers = std::move(watchers), args...]() mutable {
      for (const auto& watcher : watchers) watcher->Run(args...);
    });
  }

  Executor& executor_;
  std::shared_ptr<State> state_;
};

}  // namespace signpost

#endif  // SIGNPOST_COMMON_WATCH_SET_H_

// A Store as tests use it: calls that wait for their answer, what watches told, and the tree that
// deltas lead to.
#ifndef SIGNPOST_TESTS_CONFORMANCE_STORE_HANDLE_H_
#define SIGNPOST_TESTS_CONFORMANCE_STORE_HANDLE_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "signpost/common/executor.h"
#include "signpost/common/mutex.h"
#include "signpost/registry/store/store.h"

namespace signpost {

// One centre that a test has for itself (or a part of a shared one: then all keys of a test lie
// below root()).
class StoreFixture {
 public:
  virtual ~StoreFixture() = default;
  // A new handle with a session of its own.
  virtual std::unique_ptr<Store> Open(std::shared_ptr<Executor> executor) = 0;
  // "" or a prefix without a final slash that no other test uses.
  virtual std::string root() { return ""; }
  // Ends the session of `store` as the centre would. False: not supported.
  virtual bool ExpireSession(Store& store) = 0;
  // Restarts the centre; all handles were destroyed. False: not supported.
  virtual bool Restart() { return false; }
  // Watches that the centre has now. -1: cannot tell.
  virtual int WatchCount() { return -1; }
};

// What a watch told, in order. Filled on the executor, read by the test.
template <typename T>
class Told {
 public:
  void Add(T item) {
    MutexLock lock(mutex_);
    items_.push_back(std::move(item));
    changed_.SignalAll();
  }
  std::vector<T> items() const {
    MutexLock lock(mutex_);
    return items_;
  }
  size_t size() const { return items().size(); }
  // Until `good(items)`; at most 20 s.
  bool Await(const std::function<bool(const std::vector<T>&)>& good) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    MutexLock lock(mutex_);
    while (!good(items_)) {
      if (std::chrono::steady_clock::now() > end) return false;
      changed_.WaitFor(mutex_, absl::Milliseconds(100));
    }
    return true;
  }
  bool AwaitSize(size_t size) {
    return Await([size](const std::vector<T>& items) { return items.size() >= size; });
  }

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<T> items_;
};

using ToldValues = Told<absl::StatusOr<StoreValue>>;
using ToldDeltas = Told<absl::StatusOr<TreeDelta>>;
using ToldEvents = Told<SessionEvent>;
// name -> value; "-" for a name that only has children.
using Tree = std::map<std::string, std::string>;

// The tree that the deltas lead to. A delta that does not fit what came before fails the test.
inline Tree Fold(const std::vector<absl::StatusOr<TreeDelta>>& deltas) {
  Tree tree;
  const auto value = [](const StoreChild& child) {
    return child.exists ? child.data.value : std::string("-");
  };
  for (const auto& delta : deltas) {
    if (!delta.ok()) continue;
    for (const std::string& name : delta->removed) {
      EXPECT_EQ(tree.erase(name), 1u) << "removed but not there: " << name;
    }
    for (const StoreChild& child : delta->added) {
      EXPECT_TRUE(tree.emplace(child.name, value(child)).second) << "added twice: " << child.name;
    }
    for (const StoreChild& child : delta->changed) {
      EXPECT_EQ(tree.count(child.name), 1u) << "changed but not there: " << child.name;
      tree[child.name] = value(child);
    }
  }
  return tree;
}

// Calls that wait for their answer, on one handle.
class Handle {
 public:
  Handle(StoreFixture& fixture, const char* thread)
      : executor_(NewSerialExecutor(thread)), store_(fixture.Open(executor_)) {}

  Store& store() { return *store_; }
  void Destroy() { store_.reset(); }

  absl::StatusOr<StoreValue> Get(const std::string& key, const CallOptions& options = {}) {
    return Call<absl::StatusOr<StoreValue>>([&](auto done) { store_->Get(key, options, done); });
  }
  absl::StatusOr<int64_t> Put(const std::string& key, std::string value,
                              const CallOptions& options = {}) {
    return Call<absl::StatusOr<int64_t>>(
        [&](auto done) { store_->Put(key, std::move(value), options, done); });
  }
  absl::StatusOr<int64_t> Bind(const std::string& key, std::string value) {
    return Call<absl::StatusOr<int64_t>>([&](auto done) {
      store_->CreateSessionBound(key, std::move(value), absl::Seconds(30), CallOptions(), done);
    });
  }
  absl::StatusOr<int64_t> Cas(const std::string& key, std::string value, int64_t expected) {
    return Call<absl::StatusOr<int64_t>>([&](auto done) {
      store_->CompareAndSet(key, std::move(value), expected, CallOptions(), done);
    });
  }
  absl::Status Delete(const std::string& key, int64_t expected = Store::kAnyVersion) {
    return Call<absl::Status>(
        [&](auto done) { store_->Delete(key, expected, CallOptions(), done); });
  }
  absl::StatusOr<bool> Exists(const std::string& key) {
    return Call<absl::StatusOr<bool>>([&](auto done) { store_->Exists(key, CallOptions(), done); });
  }
  absl::StatusOr<std::vector<StoreChild>> List(const std::string& prefix) {
    return Call<absl::StatusOr<std::vector<StoreChild>>>(
        [&](auto done) { store_->List(prefix, CallOptions(), done); });
  }
  Subscription Watch(const std::string& key, std::shared_ptr<ToldValues> told) {
    return store_->Watch(key, [told](auto value) { told->Add(std::move(value)); });
  }
  Subscription WatchTree(const std::string& prefix, std::shared_ptr<ToldDeltas> told,
                         TreeContent content = TreeContent::kValues) {
    return store_->WatchTree(
        prefix, [told](auto delta) { told->Add(std::move(delta)); }, content);
  }
  Subscription WatchSession(std::shared_ptr<ToldEvents> told) {
    return store_->WatchSession([told](SessionEvent event) { told->Add(event); });
  }
  // Runs `fn` on the executor and waits for it.
  void OnExecutor(std::function<void()> fn) {
    Call<int>([&](auto done) {
      executor_->Post([fn, done]() mutable {
        fn();
        done(0);
      });
    });
  }

 private:
  template <typename Result>
  static Result Call(const std::function<void(std::function<void(Result)>)>& start) {
    auto answer = std::make_shared<std::promise<Result>>();
    std::future<Result> future = answer->get_future();
    // A second call of `done` throws out of set_value and ends the test.
    start([answer](Result result) { answer->set_value(std::move(result)); });
    if (future.wait_for(std::chrono::seconds(30)) != std::future_status::ready) {
      ADD_FAILURE() << "no answer within 30 s";
      std::abort();
    }
    return future.get();
  }

  std::shared_ptr<Executor> executor_;
  std::unique_ptr<Store> store_;
};

}  // namespace signpost

#endif  // SIGNPOST_TESTS_CONFORMANCE_STORE_HANDLE_H_

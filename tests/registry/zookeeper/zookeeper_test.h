// What the tests of the ZooKeeper store share: one real server, calls that wait, and what watches
// say.
#ifndef SIGNPOST_TESTS_REGISTRY_ZOOKEEPER_ZOOKEEPER_TEST_H_
#define SIGNPOST_TESTS_REGISTRY_ZOOKEEPER_ZOOKEEPER_TEST_H_

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/executor.h"
#include "signpost/common/mutex.h"
#include "signpost/common/url.h"
#include "signpost/registry/zookeeper/zookeeper_store.h"
#include "tests/support/zookeeper_server.h"

namespace signpost {

// One server for all tests of a binary; each has its own keys.
inline ZookeeperServer* g_server = nullptr;

class ServerEnvironment : public testing::Environment {
 public:
  void SetUp() override {
    g_server = new ZookeeperServer;
    const absl::Status started = g_server->Start();
    ASSERT_TRUE(started.ok()) << started;
  }
  void TearDown() override {
    delete g_server;
    g_server = nullptr;
  }
};

inline const auto* const g_environment = testing::AddGlobalTestEnvironment(new ServerEnvironment);

// A value that another thread brings.
template <typename T>
class Box {
 public:
  void Put(T value) {
    MutexLock lock(mutex_);
    value_.emplace(std::move(value));
    changed_.SignalAll();
  }
  T Take() {
    MutexLock lock(mutex_);
    for (int i = 0; i < 600 && !value_.has_value(); ++i) {
      changed_.WaitFor(mutex_, absl::Milliseconds(100));
    }
    if (!value_.has_value()) return T(absl::InternalError("the callback was not called"));
    return *std::move(value_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::optional<T> value_;
};

template <typename T>
T Wait(const std::function<void(absl::AnyInvocable<void(T) &&>)>& call) {
  auto box = std::make_shared<Box<T>>();
  call([box](T value) { box->Put(std::move(value)); });
  return box->Take();
}

inline absl::StatusOr<int64_t> Put(Store& store, const std::string& key, const std::string& value) {
  return Wait<absl::StatusOr<int64_t>>(
      [&](auto done) { store.Put(key, value, {absl::Seconds(20)}, std::move(done)); });
}

inline absl::StatusOr<int64_t> Bind(Store& store, const std::string& key,
                                    const std::string& value) {
  return Wait<absl::StatusOr<int64_t>>([&](auto done) {
    store.CreateSessionBound(key, value, absl::Seconds(60), {absl::Seconds(20)}, std::move(done));
  });
}

inline absl::StatusOr<StoreValue> Get(Store& store, const std::string& key) {
  return Wait<absl::StatusOr<StoreValue>>(
      [&](auto done) { store.Get(key, {absl::Seconds(20)}, std::move(done)); });
}

inline absl::Status Delete(Store& store, const std::string& key,
                           int64_t version = Store::kAnyVersion) {
  return Wait<absl::Status>(
      [&](auto done) { store.Delete(key, version, {absl::Seconds(20)}, std::move(done)); });
}

inline absl::StatusOr<int64_t> CompareAndSet(Store& store, const std::string& key,
                                             const std::string& value, int64_t version) {
  return Wait<absl::StatusOr<int64_t>>([&](auto done) {
    store.CompareAndSet(key, value, version, {absl::Seconds(20)}, std::move(done));
  });
}

// What watches say, to wait on.
class Seen {
 public:
  explicit Seen(Store& store, const std::string& prefix) {
    tree_ = store.WatchTree(prefix, [this](absl::StatusOr<TreeDelta> delta) {
      MutexLock lock(mutex_);
      if (!delta.ok()) {
        last_error_ = delta.status();
      } else {
        for (StoreChild& child : delta->added) {
          if (!children_.emplace(child.name, child.data.value).second) ++wrong_;
        }
        for (StoreChild& child : delta->changed) {
          if (children_.count(child.name) == 0) ++wrong_;
          children_[child.name] = child.data.value;
        }
        for (const std::string& name : delta->removed) {
          if (children_.erase(name) == 0) ++wrong_;
          ++removals_;
        }
        known_ = true;
      }
      changed_.SignalAll();
    });
    session_ = store.WatchSession([this](SessionEvent event) {
      MutexLock lock(mutex_);
      events_.push_back(event);
      changed_.SignalAll();
    });
  }

  std::map<std::string, std::string> WaitFor(const std::map<std::string, std::string>& children) {
    MutexLock lock(mutex_);
    for (int i = 0; i < 600 && !(known_ && children_ == children); ++i) {
      changed_.WaitFor(mutex_, absl::Milliseconds(100));
    }
    EXPECT_EQ(wrong_, 0) << "a delta that does not fit what was told before";
    return children_;
  }

  std::vector<SessionEvent> WaitForEvent(SessionEvent last) {
    MutexLock lock(mutex_);
    for (int i = 0; i < 600 && (events_.empty() || events_.back() != last); ++i) {
      changed_.WaitFor(mutex_, absl::Milliseconds(100));
    }
    return events_;
  }
  std::vector<SessionEvent> events() {
    MutexLock lock(mutex_);
    return events_;
  }
  int removals() {
    MutexLock lock(mutex_);
    return removals_;
  }
  absl::Status error() {
    MutexLock lock(mutex_);
    return last_error_;
  }
  absl::Status WaitForError() {
    MutexLock lock(mutex_);
    for (int i = 0; i < 600 && last_error_.ok(); ++i) {
      changed_.WaitFor(mutex_, absl::Milliseconds(100));
    }
    return last_error_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::map<std::string, std::string> children_;
  std::vector<SessionEvent> events_;
  absl::Status last_error_;
  bool known_ = false;
  int wrong_ = 0;
  int removals_ = 0;
  Subscription tree_;
  Subscription session_;
};

class ZookeeperTest : public testing::Test {
 protected:
  ~ZookeeperTest() override {
    // Suites share the server: leave no session behind.
    stores_.clear();
  }

  Store& Open(const std::string& address, const std::string& user = "",
              const std::string& parameters = "session=2000") {
    auto url = Url::Parse(absl::StrCat("zookeeper://", user, address, "?", parameters));
    EXPECT_TRUE(url.ok()) << url.status();
    auto store = OpenZookeeperStore(*url, executor_);
    EXPECT_TRUE(store.ok()) << store.status();
    stores_.push_back(*std::move(store));
    return *stores_.back();
  }
  Store& Open() { return Open(g_server->address()); }

  std::string Root() const {
    return absl::StrCat("/", testing::UnitTest::GetInstance()->current_test_info()->name());
  }

  std::shared_ptr<Executor> executor_ = NewSerialExecutor("control");
  std::vector<std::unique_ptr<Store>> stores_;
};

}  // namespace signpost

#endif  // SIGNPOST_TESTS_REGISTRY_ZOOKEEPER_ZOOKEEPER_TEST_H_

// Clients with both levels over a ZooKeeper of the test, and what looks at them.
//
// Threads: the test's thread; Caller has one of its own, Folder hears on the centre's.
#ifndef SIGNPOST_TESTS_INTEGRATION_DUAL_MODE_H_
#define SIGNPOST_TESTS_INTEGRATION_DUAL_MODE_H_

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "signpost/client/client.h"
#include "signpost/client/plugins/zookeeper.h"
#include "signpost/common/await.h"
#include "signpost/common/mutex.h"
#include "signpost/common/url.h"
#include "tests/integration/live_registry.h"
#include "tests/support/zookeeper_server.h"

namespace signpost {

inline constexpr absl::Duration kBound = absl::Seconds(20 * kSlowness);

class DualModeTest : public testing::Test {
 protected:
  void SetUp() override {
    const absl::Status started = server_.Start();
    ASSERT_TRUE(started.ok()) << started;
    ASSERT_TRUE(AddZookeeper(registries_).ok());
  }

  // `more`: further parameters of the registry's URL, each with its `&`.
  std::string Registry(const std::string& more = "") const {
    return absl::StrCat("zookeeper://", server_.address(), "?session=4000", more);
  }
  std::unique_ptr<Client> Open(const std::string& app, const std::string& registry) {
    ClientOptions options;
    options.app = app;
    options.registry = registry;
    auto client = Client::Create(options, registries_);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }
  std::unique_ptr<Client> Provide(const std::string& app, const std::string& url,
                                  const std::string& registry) {
    auto client = Open(app, registry);
    EXPECT_TRUE(client->provider().Export(url).ok());
    const absl::Status started = client->Start(kBound);
    EXPECT_TRUE(started.ok()) << started;
    return client;
  }

  static std::vector<std::string> Children(Client& client, const std::string& path) {
    auto children = Await<absl::StatusOr<std::vector<StoreChild>>>(
        absl::Seconds(10),
        [&](auto done) { client.centre().store().List(path, CallOptions(), std::move(done)); });
    EXPECT_TRUE(children.ok()) << children.status();
    std::vector<std::string> names;
    if (!children.ok()) return names;
    for (const StoreChild& child : *children) names.push_back(child.name);
    return names;
  }
  static StoreValue Node(Client& client, const std::string& path) {
    auto value = Await<absl::StatusOr<StoreValue>>(absl::Seconds(10), [&](auto done) {
      client.centre().store().Get(path, CallOptions(), std::move(done));
    });
    EXPECT_TRUE(value.ok()) << value.status();
    return value.ok() ? *value : StoreValue();
  }
  static void Write(Client& client, const std::string& path, const std::string& text) {
    auto version = Await<absl::StatusOr<int64_t>>(absl::Seconds(10), [&](auto done) {
      client.centre().store().Put(path, text, CallOptions(), std::move(done));
    });
    EXPECT_TRUE(version.ok()) << version.status();
  }
  static void Delete(Client& client, const std::string& path) {
    const absl::Status status = Await<absl::Status>(absl::Seconds(10), [&](auto done) {
      client.centre().store().Delete(path, Store::kAnyVersion, CallOptions(), std::move(done));
    });
    EXPECT_TRUE(status.ok()) << status;
  }
  static std::string Captured(const std::string& file) {
    std::ifstream in("tests/interop/captures/rules/" + file);
    EXPECT_TRUE(in.good()) << file;
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }

  ZookeeperServer server_;
  RegistryFactories registries_{"registry"};
};

// Picks on a thread of its own until it goes.
class Caller {
 public:
  explicit Caller(Directory& directory) : directory_(directory), thread_([this] { Run(); }) {}
  ~Caller() { Stop(); }
  void Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  int calls() const { return calls_; }
  int failures() const { return failures_; }

 private:
  void Run() {
    while (!stop_) {
      auto pick = directory_.Pick(Request());
      if (pick.ok()) {
        directory_.Done(*pick, CallOutcome());
      } else {
        ++failures_;
      }
      ++calls_;
      std::this_thread::yield();
    }
  }

  Directory& directory_;
  std::atomic<bool> stop_{false};
  std::atomic<int> calls_{0};
  std::atomic<int> failures_{0};
  std::thread thread_;
};

// The names below a folder, and whether there ever was none after there had been one.
class Folder {
 public:
  Folder(Client& client, const std::string& path, TreeContent content = TreeContent::kNames)
      : watch_(client.centre().store().WatchTree(
            path,
            [this](absl::StatusOr<TreeDelta> delta) {
              if (!delta.ok()) return;
              MutexLock lock(mutex_);
              for (const StoreChild& child : delta->added) names_.insert(child.name);
              for (const std::string& name : delta->removed) names_.erase(name);
              if (names_.empty() && seen_) was_empty_ = true;
              seen_ = seen_ || !names_.empty();
              if (!delta->empty()) ++changes_;
            },
            content)) {}

  std::set<std::string> names() {
    MutexLock lock(mutex_);
    return names_;
  }
  bool was_empty() {
    MutexLock lock(mutex_);
    return was_empty_;
  }
  int changes() {
    MutexLock lock(mutex_);
    return changes_;
  }
  // Whether it becomes one name with, and without, these parts of a decoded URL.
  bool BecomesOne(const std::vector<std::string>& with, const std::vector<std::string>& without) {
    return Poll(kBound, [&] {
      const std::set<std::string> now = names();
      if (now.size() != 1) return false;
      const auto url = Url::ParseEncoded(*now.begin());
      if (!url.ok()) return false;
      const std::string text = url->ToFullString();
      for (const std::string& part : with) {
        if (!absl::StrContains(text, part)) return false;
      }
      for (const std::string& part : without) {
        if (absl::StrContains(text, part)) return false;
      }
      return true;
    });
  }

 private:
  Mutex mutex_;
  std::set<std::string> names_;
  bool seen_ = false;
  bool was_empty_ = false;
  int changes_ = 0;
  Subscription watch_;
};

inline bool HasLevel(Directory& directory, const std::string& why) {
  return Poll(kBound, [&] {
    const auto levels = directory.levels();
    return !levels.empty() && absl::StartsWith(levels.front(), why);
  });
}

}  // namespace signpost

#endif  // SIGNPOST_TESTS_INTEGRATION_DUAL_MODE_H_

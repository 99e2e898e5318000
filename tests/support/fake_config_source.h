// A config centre in memory that fails on demand. Put and Delete of ConfigSource do not look at
// versions.
//
// Threads: any; callbacks are posted to the executor, which must outlive this.
#ifndef SIGNPOST_TESTS_SUPPORT_FAKE_CONFIG_SOURCE_H_
#define SIGNPOST_TESTS_SUPPORT_FAKE_CONFIG_SOURCE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/config_source.h"
#include "signpost/common/executor.h"
#include "signpost/common/mutex.h"
#include "signpost/common/watch_set.h"

namespace signpost {

class FakeConfigSource final : public ConfigSource {
 public:
  explicit FakeConfigSource(Executor& executor) : executor_(executor) {}

  // Writes as an operator would. `key`: without the group.
  void Write(const std::string& key, std::string text) {
    MutexLock lock(mutex_);
    Entry& entry = Of(key);
    entry.state = ConfigItem{std::move(text), ++version_};
    entry.watches->Notify(entry.state);
  }
  void Remove(const std::string& key) { Fail(key, absl::NotFoundError(key)); }
  // Tells every watch an error, also those that come later.
  void Fail(const std::string& key, absl::Status error) {
    MutexLock lock(mutex_);
    Entry& entry = Of(key);
    entry.state = std::move(error);
    entry.watches->Notify(entry.state);
  }
  // While silent, a new watch is told nothing until something is written.
  void SetSilent(bool silent) {
    MutexLock lock(mutex_);
    silent_ = silent;
  }
  // Watches that are alive, and those that ever were.
  size_t watches(const std::string& key) {
    MutexLock lock(mutex_);
    return Of(key).watches->size();
  }
  int started() const {
    MutexLock lock(mutex_);
    return started_;
  }

  void Get(const ConfigKey& key, const CallOptions&, ItemCallback done) override {
    MutexLock lock(mutex_);
    executor_.Post([state = Of(key.key).state, done = std::move(done)]() mutable {
      std::move(done)(std::move(state));
    });
  }
  Subscription Watch(const ConfigKey& key, WatchCallback on_change) override {
    auto shared = std::make_shared<WatchCallback>(std::move(on_change));
    auto callback = [shared](const State& state) { (*shared)(state); };
    MutexLock lock(mutex_);
    ++started_;
    Entry& entry = Of(key.key);
    if (silent_) return entry.watches->Add(std::move(callback));
    return entry.watches->AddWith(std::move(callback), entry.state);
  }
  void Put(const ConfigKey& key, std::string text, int64_t, const CallOptions&,
           DoneCallback done) override {
    Write(key.key, std::move(text));
    executor_.Post([done = std::move(done)]() mutable { std::move(done)(absl::OkStatus()); });
  }
  void Delete(const ConfigKey& key, int64_t, const CallOptions&, DoneCallback done) override {
    Remove(key.key);
    executor_.Post([done = std::move(done)]() mutable { std::move(done)(absl::OkStatus()); });
  }
  std::string PathOf(const ConfigKey& key) const override {
    return absl::StrCat("fake:/config/", key.group, "/", key.key);
  }

 private:
  using State = absl::StatusOr<ConfigItem>;
  struct Entry {
    State state;
    std::unique_ptr<WatchSet<State>> watches;
  };

  Entry& Of(const std::string& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Entry& entry = entries_[key];
    if (entry.watches == nullptr) {
      entry.state = absl::NotFoundError(key);
      entry.watches = std::make_unique<WatchSet<State>>(executor_);
    }
    return entry;
  }

  Executor& executor_;
  mutable Mutex mutex_;
  std::map<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);
  int64_t version_ ABSL_GUARDED_BY(mutex_) = 0;
  bool silent_ ABSL_GUARDED_BY(mutex_) = false;
  int started_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace signpost

#endif  // SIGNPOST_TESTS_SUPPORT_FAKE_CONFIG_SOURCE_H_

#include "signpost/metadata/memory_metadata_report.h"

#include "absl/strings/str_cat.h"

namespace signpost {

MemoryMetadataReport::MemoryMetadataReport(Executor& executor) : executor_(executor) {}

bool MemoryMetadataReport::TakeFault(absl::Status& error) {
  if (faults_left_ == 0) return false;
  --faults_left_;
  error = fault_;
  return true;
}

void MemoryMetadataReport::Publish(const MetadataInfo& info, const CallOptions& options,
                                   DoneCallback done) {
  MutexLock lock(mutex_);
  ++publishes_;
  if (silent_) {
    // Counted now, carried out later.
    held_.push_back([this, info, options, done = std::move(done)]() mutable {
      {
        MutexLock held_lock(mutex_);
        --publishes_;
      }
      Publish(info, options, std::move(done));
    });
    return;
  }
  absl::Status result;
  if (!TakeFault(result) && documents_.emplace(Key{info.app, info.revision}, info).second) {
    ++writes_;
  }
  executor_.Post([result = std::move(result), done = std::move(done)]() mutable {
    std::move(done)(std::move(result));
  });
}

void MemoryMetadataReport::Get(const std::string& app, const std::string& revision,
                               const CallOptions& options, GetCallback done) {
  MutexLock lock(mutex_);
  ++gets_;
  if (silent_) {
    held_.push_back([this, app, revision, options, done = std::move(done)]() mutable {
      {
        MutexLock held_lock(mutex_);
        --gets_;
      }
      Get(app, revision, options, std::move(done));
    });
    return;
  }
  absl::Status error;
  absl::StatusOr<MetadataInfo> result =
      absl::NotFoundError(absl::StrCat("memory:", app, "/", revision, ": no such document"));
  if (TakeFault(error)) {
    result = error;
  } else if (const auto it = documents_.find(Key{app, revision}); it != documents_.end()) {
    result = it->second;
  }
  executor_.Post([result = std::move(result), done = std::move(done)]() mutable {
    std::move(done)(std::move(result));
  });
}

void MemoryMetadataReport::Put(const std::string& app, const std::string& revision,
                               MetadataInfo info) {
  MutexLock lock(mutex_);
  documents_[Key{app, revision}] = std::move(info);
}

void MemoryMetadataReport::Remove(const std::string& app, const std::string& revision) {
  MutexLock lock(mutex_);
  documents_.erase(Key{app, revision});
}

void MemoryMetadataReport::FailNext(absl::Status error, int count) {
  MutexLock lock(mutex_);
  fault_ = std::move(error);
  faults_left_ = count;
}

void MemoryMetadataReport::SetSilent(bool silent) {
  std::vector<Task> due;
  {
    MutexLock lock(mutex_);
    silent_ = silent;
    if (!silent) due.swap(held_);
  }
  for (Task& task : due) std::move(task)();
}

int MemoryMetadataReport::gets() const {
  MutexLock lock(mutex_);
  return gets_;
}

int MemoryMetadataReport::publishes() const {
  MutexLock lock(mutex_);
  return publishes_;
}

int MemoryMetadataReport::writes() const {
  MutexLock lock(mutex_);
  return writes_;
}

std::vector<std::pair<std::string, std::string>> MemoryMetadataReport::Keys() const {
  MutexLock lock(mutex_);
  std::vector<Key> keys;
  for (const auto& [key, info] : documents_) keys.push_back(key);
  return keys;
}

}  // namespace signpost

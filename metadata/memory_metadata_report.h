// A MetadataReport in memory, with faults on demand. For tests, also those of users.
//
// Threads: all methods from any thread; callbacks are posted to the executor.
// Ownership: the executor must outlive this. Callbacks that are due when this is destroyed still
//   run.
#ifndef SIGNPOST_METADATA_MEMORY_METADATA_REPORT_H_
#define SIGNPOST_METADATA_MEMORY_METADATA_REPORT_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "signpost/common/executor.h"
#include "signpost/common/mutex.h"
#include "signpost/metadata/metadata_report.h"

namespace signpost {

class MemoryMetadataReport final : public MetadataReport {
 public:
  explicit MemoryMetadataReport(Executor& executor);

  void Publish(const MetadataInfo& info, const CallOptions& options, DoneCallback done) override;
  void Get(const std::string& app, const std::string& revision, const CallOptions& options,
           GetCallback done) override;
  std::vector<std::string> PathsOf(const std::string& app,
                                   const std::string& revision) const override {
    return {"memory/" + app + "/" + revision};
  }

  // Writes a document under a name of its own, whatever its fields say.
  void Put(const std::string& app, const std::string& revision, MetadataInfo info);
  void Remove(const std::string& app, const std::string& revision);
  // The next `count` calls end with `error`.
  void FailNext(absl::Status error, int count = 1);
  // While silent, calls are kept; SetSilent(false) answers them as things stand then.
  void SetSilent(bool silent);

  int gets() const;
  int publishes() const;  // calls
  int writes() const;     // documents written by Publish
  // Keys of all documents, sorted.
  std::vector<std::pair<std::string, std::string>> Keys() const;

 private:
  using Key = std::pair<std::string, std::string>;
  using Task = absl::AnyInvocable<void() &&>;

  // True if the call must end with `error_`.
  bool TakeFault(absl::Status& error) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Executor& executor_;
  mutable Mutex mutex_;
  std::map<Key, MetadataInfo> documents_ ABSL_GUARDED_BY(mutex_);
  std::vector<Task> held_ ABSL_GUARDED_BY(mutex_);
  bool silent_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status fault_ ABSL_GUARDED_BY(mutex_);
  int faults_left_ ABSL_GUARDED_BY(mutex_) = 0;
  int gets_ ABSL_GUARDED_BY(mutex_) = 0;
  int publishes_ ABSL_GUARDED_BY(mutex_) = 0;
  int writes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace signpost

#endif  // SIGNPOST_METADATA_MEMORY_METADATA_REPORT_H_

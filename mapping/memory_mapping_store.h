// A MappingStore in memory that loses races and fails on demand. For tests, also those of users.
//
// Threads: all methods from any thread; callbacks are posted to the executor.
// Ownership: the executor must outlive this. Answers that are due when this is destroyed still
//   come; watches end.
#ifndef SIGNPOST_MAPPING_MEMORY_MAPPING_STORE_H_
#define SIGNPOST_MAPPING_MEMORY_MAPPING_STORE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "signpost/common/executor.h"
#include "signpost/mapping/mapping_store.h"

namespace signpost {

class MemoryMappingStore final : public MappingStore {
 public:
  explicit MemoryMappingStore(Executor& executor);
  ~MemoryMappingStore() override;

  void Get(const std::string& interface_name, const CallOptions& options,
           GetCallback done) override;
  void CompareAndSet(const std::string& interface_name, std::string text, int64_t expected_version,
                     const CallOptions& options, DoneCallback done) override;
  Subscription Watch(const std::string& interface_name, WatchCallback on_change) override;
  void List(const CallOptions& options, ListCallback done) override;
  std::string PathOf(const std::string& interface_name) const override;

  // Writes as another process would, with no regard to versions. Never a lost race.
  void Put(const std::string& interface_name, std::string text);
  void Remove(const std::string& interface_name);
  // "" if there is none.
  std::string TextOf(const std::string& interface_name) const;

  // Runs before each CompareAndSet looks at the version: Put from here and it loses the race.
  void BeforeCompareAndSet(std::function<void(const std::string& interface_name)> hook);
  // The next `count` calls of CompareAndSet end with kAborted, whatever the version.
  void LoseNext(int count);
  // The next `count` calls of Get, CompareAndSet or List end with `error`.
  void FailNext(absl::Status error, int count = 1);
  // While silent, calls are dropped without an answer.
  void SetSilent(bool silent);
  // Tells every watch of the interface an error.
  void BreakWatches(const std::string& interface_name, absl::Status error);

  int gets() const;
  int attempts() const;  // calls of CompareAndSet
  int writes() const;    // those that wrote
  int watches() const;   // alive

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace signpost

#endif  // SIGNPOST_MAPPING_MEMORY_MAPPING_STORE_H_

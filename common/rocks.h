// One thin wrapper over RocksDB: the only place that knows it.
//
// Writes go to the write-ahead log and are not synced each: they outlive the process (kill -9), the
// last ones may be lost with the machine.
//
// Threads: Get, Write and Scan from any thread, also at once; Close when no other call runs.
// Errors: kNotFound: no such key or (read-only) no such database. kFailedPrecondition: another
//   process has it open for writing, or it was closed. kPermissionDenied: the directory cannot be
//   used. kDataLoss: corrupt. kUnavailable: the file system failed. Messages begin with the
//   directory.
#ifndef SIGNPOST_COMMON_ROCKS_H_
#define SIGNPOST_COMMON_ROCKS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace signpost {

struct RocksOptions {
  // kStore: a registry with up to some 100,000 keys. kSmall: a cache in each of many processes
  // (little memory, slower). Default: kStore
  enum class Tuning { kStore, kSmall };
  Tuning tuning = Tuning::kStore;
  // Opens beside a running writer and sees what was there at opening. Reads fail once the writer
  // compacts: open, read all, close. Default: false
  bool read_only = false;
};

// No value: delete.
struct RocksWrite {
  std::string key;
  std::optional<std::string> value;
};

class Rocks {
 public:
  // Called for each key in order. False ends the scan. If it fills `seek`, the scan goes on at the
  // first key not less than that (seek must be greater than `key`). Must not call this Rocks.
  using Visitor =
      absl::FunctionRef<bool(absl::string_view key, absl::string_view value, std::string* seek)>;

  // Makes the database if it is not there (not its parent directories).
  static absl::StatusOr<std::unique_ptr<Rocks>> Open(const std::string& dir,
                                                     const RocksOptions& options = {});
  ~Rocks();  // Close()
  Rocks(const Rocks&) = delete;
  Rocks& operator=(const Rocks&) = delete;

  absl::StatusOr<std::string> Get(absl::string_view key) const;
  // All or none. After a failure the next call works as soon as the file system does (after a full
  // disk within some 5 s): RocksDB, which is read-only then, is told to go on or opened anew.
  // Damage that RocksDB finds when it merges files ends the writing: kDataLoss from then on.
  absl::Status Write(const std::vector<RocksWrite>& writes);
  // The keys that begin with `prefix`, as they were when the scan began.
  absl::Status Scan(absl::string_view prefix, Visitor visit) const;

  // Idempotent.
  absl::Status Close();

 private:
  struct State;
  explicit Rocks(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace signpost

#endif  // SIGNPOST_COMMON_ROCKS_H_

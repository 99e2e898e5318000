// What a LocalCentre keeps its keys in: an ordered map with durable or volatile storage.
//
// Threads: one call at a time (LocalCentre holds its lock).
// Errors: as Rocks; the map in memory has none.
#ifndef SIGNPOST_REGISTRY_STORE_KEY_VALUE_H_
#define SIGNPOST_REGISTRY_STORE_KEY_VALUE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace signpost {

class KeyValue {
 public:
  struct Record {
    std::string value;
    int64_t version = 0;
    uint64_t session = 0;  // 0: persistent
  };
  // No record: delete.
  struct Change {
    std::string key;
    std::optional<Record> record;
  };
  // As Rocks::Visitor.
  using Visitor =
      absl::FunctionRef<bool(absl::string_view key, const Record& record, std::string* seek)>;

  virtual ~KeyValue() = default;

  // The highest version that was ever written.
  virtual int64_t last_version() const = 0;
  virtual absl::StatusOr<std::optional<Record>> Get(const std::string& key) const = 0;
  // All or none; `last_version` with them.
  virtual absl::Status Write(const std::vector<Change>& changes, int64_t last_version) = 0;
  virtual absl::Status Scan(const std::string& prefix, Visitor visit) const = 0;
};

class MapKeyValue final : public KeyValue {
 public:
  MapKeyValue() = default;

  int64_t last_version() const override { return last_version_; }
  absl::StatusOr<std::optional<Record>> Get(const std::string& key) const override;
  absl::Status Write(const std::vector<Change>& changes, int64_t last_version) override;
  absl::Status Scan(const std::string& prefix, Visitor visit) const override;

 private:
  std::map<std::string, Record> records_;
  int64_t last_version_ = 0;
};

}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_STORE_KEY_VALUE_H_

#include "signpost/registry/store/key_value.h"

#include "absl/strings/match.h"

namespace signpost {

absl::StatusOr<std::optional<KeyValue::Record>> MapKeyValue::Get(const std::string& key) const {
  const auto it = records_.find(key);
  if (it == records_.end()) return std::optional<Record>();
  return std::optional<Record>(it->second);
}

absl::Status MapKeyValue::Write(const std::vector<Change>& changes, int64_t last_version) {
  for (const Change& change : changes) {
    if (change.record.has_value()) {
      records_[change.key] = *change.record;
    } else {
      records_.erase(change.key);
    }
  }
  last_version_ = last_version;
  return absl::OkStatus();
}

absl::Status MapKeyValue::Scan(const std::string& prefix, Visitor visit) const {
  std::string seek;
  auto it = records_.lower_bound(prefix);
  while (it != records_.end() && absl::StartsWith(it->first, prefix)) {
    seek.clear();
    if (!visit(it->first, it->second, &seek)) break;
    if (seek.empty()) {
      ++it;
    } else {
      it = records_.lower_bound(seek);
    }
  }
  return absl::OkStatus();
}

}  // namespace signpost

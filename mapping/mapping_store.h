// Port: the text of the interface -> application mapping in a central place.
//
// Threads: all methods from any thread; callbacks on the control executor.
// Errors: kNotFound: no mapping. kAborted / kAlreadyExists: the version was another. Others as
// Store.
#ifndef SIGNPOST_MAPPING_MAPPING_STORE_H_
#define SIGNPOST_MAPPING_MAPPING_STORE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "signpost/common/call_options.h"
#include "signpost/common/subscription.h"

namespace signpost {

struct MappingText {
  std::string text;  // applications, separated by commas
  int64_t version = -1;
};

class MappingStore {
 public:
  using GetCallback = absl::AnyInvocable<void(absl::StatusOr<MappingText>) &&>;
  using ListCallback = absl::AnyInvocable<void(absl::StatusOr<std::vector<std::string>>) &&>;
  using WatchCallback = absl::AnyInvocable<void(absl::StatusOr<MappingText>)>;

  static constexpr int64_t kAbsent = -1;

  virtual ~MappingStore() = default;

  virtual void Get(const std::string& interface_name, const CallOptions& options,
                   GetCallback done) = 0;
  virtual void CompareAndSet(const std::string& interface_name, std::string text,
                             int64_t expected_version, const CallOptions& options,
                             DoneCallback done) = 0;
  // The present state first (kNotFound if none), then each change.
  virtual Subscription Watch(const std::string& interface_name, WatchCallback on_change) = 0;
  // Interfaces that have a mapping, sorted.
  virtual void List(const CallOptions& options, ListCallback done) = 0;

  virtual std::string PathOf(const std::string& interface_name) const = 0;
};

}  // namespace signpost

#endif  // SIGNPOST_MAPPING_MAPPING_STORE_H_

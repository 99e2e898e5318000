// Port: texts by key from a config centre (routing rules, overrides, migration rules).
//
// An item is (group, key); on a tree-like centre it lies at /<namespace>/config/<group>/<key>.
// Implementations: registry/store (any Store).
//
// Threads: all methods from any thread; callbacks on the executor that the implementation was
//   given, no lock held, one at a time per watch; they must not block.
// Ownership: callbacks are kept until the call ended or the Subscription is cancelled.
// Errors: kNotFound: no such item; kAborted: the version was another; retryable ones as in
// status.h.
#ifndef SIGNPOST_COMMON_CONFIG_SOURCE_H_
#define SIGNPOST_COMMON_CONFIG_SOURCE_H_

#include <cstdint>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "signpost/common/call_options.h"
#include "signpost/common/subscription.h"

namespace signpost {

struct ConfigKey {
  std::string group = "dubbo";  // Default: where Dubbo keeps governance rules.
  std::string key;
};

struct ConfigItem {
  std::string text;
  int64_t version = -1;  // Opaque; for compare-and-set.
};

class ConfigSource {
 public:
  // kNotFound when the item went or never was; zero bytes count as "went".
  using ItemCallback = absl::AnyInvocable<void(absl::StatusOr<ConfigItem>) &&>;
  using WatchCallback = absl::AnyInvocable<void(absl::StatusOr<ConfigItem>)>;

  // What Put and Delete expect when the item must not exist.
  static constexpr int64_t kAbsent = -1;

  virtual ~ConfigSource() = default;

  virtual void Get(const ConfigKey& key, const CallOptions& options, ItemCallback done) = 0;

  // The first call tells the present state, then one at each change (the newest state; steps
  // between may be left out).
  virtual Subscription Watch(const ConfigKey& key, WatchCallback on_change) = 0;

  // Writes only if the item still has `expected_version` (kAbsent: only if there is none).
  virtual void Put(const ConfigKey& key, std::string text, int64_t expected_version,
                   const CallOptions& options, DoneCallback done) = 0;
  virtual void Delete(const ConfigKey& key, int64_t expected_version, const CallOptions& options,
                      DoneCallback done) = 0;

  // Where `key` lies, as people see it in the centre's own tools.
  virtual std::string PathOf(const ConfigKey& key) const = 0;
};

}  // namespace signpost

#endif  // SIGNPOST_COMMON_CONFIG_SOURCE_H_

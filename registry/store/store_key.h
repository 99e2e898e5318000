// What may be a key of a Store, the same for all centres: an absolute path of UTF-8 whose parts are
// not empty, "." or "..", without control characters (what ZooKeeper takes), within bounds.
#ifndef SIGNPOST_REGISTRY_STORE_STORE_KEY_H_
#define SIGNPOST_REGISTRY_STORE_STORE_KEY_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"

namespace signpost {

constexpr size_t kMaxStoreKeyBytes = 64 << 10;
// Each part costs a look-up at each write.
constexpr size_t kMaxStoreKeyParts = 128;

// kInvalidArgument, naming the key (the beginning of a long one) and the fault.
absl::Status CheckStoreKey(const std::string& key);
// Of List and WatchTree: "/" too.
absl::Status CheckStorePrefix(const std::string& prefix);

}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_STORE_STORE_KEY_H_

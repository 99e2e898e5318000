// What may be a key of a Store, the same for all centres: an absolute path of UTF-8 whose parts are
// not empty, "." or "..", without control characters (what ZooKeeper takes).
#ifndef SIGNPOST_REGISTRY_STORE_STORE_KEY_H_
#define SIGNPOST_REGISTRY_STORE_STORE_KEY_H_

#include <string>

#include "absl/status/status.h"

namespace signpost {

// kInvalidArgument, naming the key and the fault.
absl::Status CheckStoreKey(const std::string& key);
// Of List and WatchTree: "/" too.
absl::Status CheckStorePrefix(const std::string& prefix);

}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_STORE_STORE_KEY_H_

// ZooKeeper's own C client, call by call: another process as far as the code under test knows.
//
// Threads: one at a time; each call waits for its answer.
#ifndef SIGNPOST_TESTS_SUPPORT_RAW_ZOOKEEPER_H_
#define SIGNPOST_TESTS_SUPPORT_RAW_ZOOKEEPER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

typedef struct _zhandle zhandle_t;  // the C client's

namespace signpost {

// Errors: kPermissionDenied, kNotFound, kAlreadyExists; anything else kInternal.
class RawZookeeper {
 public:
  // `credentials`: user:password of the digest login, or empty.
  explicit RawZookeeper(const std::string& address, const std::string& credentials = "");
  ~RawZookeeper();
  RawZookeeper(const RawZookeeper&) = delete;
  RawZookeeper& operator=(const RawZookeeper&) = delete;

  absl::StatusOr<std::string> Get(const std::string& path);
  absl::StatusOr<std::vector<std::string>> Children(const std::string& path);
  // Whether the node is gone within `timeout`.
  bool AwaitGone(const std::string& path, absl::Duration timeout);
  // As zkCli shows it: `digest:ann:...=:cdrwa`, `world:anyone:r`.
  absl::StatusOr<std::vector<std::string>> Acl(const std::string& path);
  // A persistent node that everybody may do anything with.
  absl::Status Create(const std::string& path, const std::string& value);
  absl::Status Set(const std::string& path, const std::string& value);
  absl::Status Delete(const std::string& path);

 private:
  zhandle_t* const zoo_;
};

}  // namespace signpost

#endif  // SIGNPOST_TESTS_SUPPORT_RAW_ZOOKEEPER_H_

// Says which process owns a directory: a locked file with its pid. The lock goes with the process,
// however it ends, so a pid that was given to another process misleads nobody.
//
// Threads: one at a time. Errors: kFailedPrecondition: another has it (names its pid);
//   kPermissionDenied: the file cannot be made.
#ifndef SIGNPOST_REGISTRY_EMBEDDED_OWNER_FILE_H_
#define SIGNPOST_REGISTRY_EMBEDDED_OWNER_FILE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace signpost::embedded_internal {

class OwnerFile {
 public:
  static absl::StatusOr<std::unique_ptr<OwnerFile>> Acquire(const std::string& dir);
  // OK if nobody owns `dir` now.
  static absl::Status CheckFree(const std::string& dir);

  ~OwnerFile();
  OwnerFile(const OwnerFile&) = delete;
  OwnerFile& operator=(const OwnerFile&) = delete;

 private:
  explicit OwnerFile(int fd) : fd_(fd) {}

  const int fd_;
};

}  // namespace signpost::embedded_internal

#endif  // SIGNPOST_REGISTRY_EMBEDDED_OWNER_FILE_H_

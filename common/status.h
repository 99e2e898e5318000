// What the rest of the tree needs to say about absl::Status.
//
// Errors in this library are absl::Status / absl::StatusOr; the message says *where*
// (path, application, revision) before it says what. No exception crosses a folder.
#ifndef SIGNPOST_COMMON_STATUS_H_
#define SIGNPOST_COMMON_STATUS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace signpost {

// Whether the same call may hold later without anybody changing anything:
// kUnavailable, kDeadlineExceeded, kAborted and kResourceExhausted. Everything else is final.
bool IsRetryable(const absl::Status& status);

// `status` with "where: " put in front of its message; OK stays OK.
absl::Status Annotate(const absl::Status& status, absl::string_view where);

}  // namespace signpost

#endif  // SIGNPOST_COMMON_STATUS_H_

// What routing and balancing may look at of one call.
//
// Threads: a value of the calling thread. All views must live until Pick returns.
#ifndef SIGNPOST_COMMON_REQUEST_H_
#define SIGNPOST_COMMON_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace signpost {

struct Request {
  absl::string_view method;
  absl::Span<const absl::string_view> arguments;  // as text
  absl::Span<const std::pair<absl::string_view, absl::string_view>> attachments;
  uint64_t hash_key = 0;  // 0: none
};

// How a call ended, for balancers that learn.
struct CallOutcome {
  enum class Result { kOk, kError, kTimeout, kCancelled };
  Result result = Result::kOk;
  int64_t latency_ns = 0;
};

}  // namespace signpost

#endif  // SIGNPOST_COMMON_REQUEST_H_

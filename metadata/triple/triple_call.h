// Asks one instance by gRPC, over a connection of its own that ends with the question: an instance
// is asked once per revision, and a connection that others share may be one to a peer that is gone.
// Private to this folder.
//
// Threads: gRPC's call `done`. From the first call on it keeps them until the process ends.
// Errors: kInvalidArgument: an instance or revision that nobody can be asked for. What gRPC says,
//   with its numbers; kUnavailable for kCancelled: here nobody cancelled, or nobody listens.
#ifndef SIGNPOST_METADATA_TRIPLE_TRIPLE_CALL_H_
#define SIGNPOST_METADATA_TRIPLE_TRIPLE_CALL_H_

#include <cstdint>
#include <memory>
#include <string>

#include "signpost/metadata/triple/negotiation.h"

namespace signpost::metadata_triple_internal {

// An answer above this is an error; Dubbo Java has the same limit.
inline constexpr int kMaxAnswerBytes = 8 << 20;

struct TripleTarget {
  std::string host;  // IPv6 without brackets
  uint16_t port = 0;
  std::string app;  // Dubbo's group of its metadata services
  std::string revision;
};

std::shared_ptr<VersionedCall> NewTripleCall(TripleTarget target);

}  // namespace signpost::metadata_triple_internal

#endif  // SIGNPOST_METADATA_TRIPLE_TRIPLE_CALL_H_

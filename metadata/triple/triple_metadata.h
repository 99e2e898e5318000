// MetadataService over Triple, as Dubbo's Java and Go have it: between processes that keep their
// metadata themselves (storage type `local`), so that no metadata centre is needed.
//
// Wire: gRPC over plaintext HTTP/2. MetadataServiceV2 (metadata_service_v2.proto), and
// MetadataService 1.0.0 in Triple's wrapper message with Hessian 2 inside (triple_wrapper.proto).
// The server answers both. An instance is spoken to when its `dubbo.metadata-service.url-params`
// names the protocol `tri` and a port; `meta-v` 2.0.0 says which of the two it has. One that
// answers UNIMPLEMENTED is asked for the other within the same time, and next time for that one at
// once.
//
// Threads: as the ports. Nothing here starts threads but gRPC, which has its own for the process.
//   At most 32 instances are asked at once, each over a connection of its own; the others wait.
//   Those that did not answer in time have at most half of the places.
// Ownership: what a function takes is shared or must outlive what it gives. The end of a fetcher
//   drops the callbacks that have not been posted; it cancels what is under way and does not wait
//   for it.
// Errors: kFailedPrecondition: host and port cannot be listened on. Of the fetcher, besides those
//   of its port: kUnimplemented (it has neither service), kDeadlineExceeded, kCancelled,
//   kResourceExhausted (too many wait; the answer is too large), kInvalidArgument (an instance that
//   cannot be asked, an answer that is none).
#ifndef SIGNPOST_METADATA_TRIPLE_TRIPLE_METADATA_H_
#define SIGNPOST_METADATA_TRIPLE_TRIPLE_METADATA_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "signpost/common/executor.h"
#include "signpost/metadata/metadata_fetcher.h"
#include "signpost/metadata/metadata_service.h"

namespace signpost {

// What is refused with RESOURCE_EXHAUSTED.
struct TripleMetadataLimits {
  size_t max_request_bytes = 64 << 10;  // Default: 64 KiB
  size_t max_answer_bytes = 8 << 20;    // Default: 8 MiB, as much as Dubbo Java reads
  size_t max_concurrent = 64;           // calls whose answers are on their way. Default: 64
};

struct TripleMetadataOptions {
  std::string host;   // to listen on. Default: all addresses of this machine
  uint16_t port = 0;  // Default: any that is free
  TripleMetadataLimits limits;
  // Connections on which nothing is asked for so long are closed.
  absl::Duration idle_timeout = absl::Seconds(30);  // Default: 30 s
};

// Listens when it returns. For a gRPC server that is there already see add_triple_metadata.h.
absl::StatusOr<std::unique_ptr<MetadataServer>> ServeTripleMetadata(
    std::shared_ptr<const MetadataService> service, const TripleMetadataOptions& options);

// `executor` must outlive it; callbacks run there. An answer above 8 MiB is an error.
std::unique_ptr<MetadataFetcher> NewTripleMetadataFetcher(Executor& executor);

}  // namespace signpost

#endif  // SIGNPOST_METADATA_TRIPLE_TRIPLE_METADATA_H_

// MetadataService 1.0.0 over Dubbo's own protocol: what Java and Go consumers of any Dubbo 3 ask an
// instance that keeps its metadata itself (storage type `local`), and what their providers answer
// by default.
//
// Wire: frame.h; bodies in Hessian 2. An instance is spoken to when its
// `dubbo.metadata-service.url-params` names the protocol `dubbo` and a port.
//
// Threads: as the ports. The server has one thread: it answers from memory. The fetcher starts
//   threads as it needs them (metadata/ask_pool.h).
// Ownership: what a function takes is shared or must outlive what it gives. The end of a fetcher
//   drops the callbacks that have not been posted.
// Bounds of the server: connections above the limit are closed at once. So are those that send what
//   is no frame, or one above the limit, or none for `idle_timeout` (10 s for the first; a frame
//   has as long to come in as a whole), and those that do not read an answer in 5 s. Requests may
//   come one behind the other; the next is looked at when the answer before is sent.
// Errors: kFailedPrecondition: host and port cannot be listened on; kResourceExhausted: no thread.
//   Of the fetcher, besides those of its port: kUnavailable: refused, closed before an answer,
//   garbage, an answer above 8 MiB, a status or an exception of the other end, with its text;
//   kNotFound: a null; kDeadlineExceeded, kCancelled.
#ifndef SIGNPOST_METADATA_DUBBO_DUBBO_METADATA_H_
#define SIGNPOST_METADATA_DUBBO_DUBBO_METADATA_H_

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

struct DubboMetadataOptions {
  std::string host;   // to listen on. Default: all addresses of this machine
  uint16_t port = 0;  // Default: any that is free
  // Dubbo's peers send a heartbeat every minute and give a silent connection up after three.
  absl::Duration idle_timeout = absl::Minutes(3);  // Default: 3 min
  size_t max_connections = 256;                    // Default: 256
  size_t max_frame_bytes = 64 << 10;               // of a request's body. Default: 64 KiB
  // Of answers that are not read yet, all together; what comes beyond them is refused with status
  // 100. Default: 32 MiB
  size_t max_unsent_bytes = 32 << 20;
};

// Listens when it returns.
absl::StatusOr<std::unique_ptr<MetadataServer>> ServeDubboMetadata(
    std::shared_ptr<const MetadataService> service, const DubboMetadataOptions& options);

// `executor` must outlive it; callbacks run there.
std::unique_ptr<MetadataFetcher> NewDubboMetadataFetcher(Executor& executor);

}  // namespace signpost

#endif  // SIGNPOST_METADATA_DUBBO_DUBBO_METADATA_H_

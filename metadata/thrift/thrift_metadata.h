// MetadataService over Apache Thrift: between C++ processes that keep their metadata themselves
// (storage type `local`), so that no metadata centre is needed.
//
// Wire: metadata_service.thrift, TFramedTransport, TBinaryProtocol. An instance is spoken to when
// its `dubbo.metadata-service.url-params` names the protocol `thrift` and a port. Java and Go do
// not speak it.
//
// Threads: as the ports. The server has a thread for each connection, at most 64. The fetcher
//   starts them as it needs them, at most 16, of which addresses that did not answer in time and
//   hosts that are names have at most 8.
// Ownership: what a function takes is shared or must outlive what it gives. The end of a fetcher
//   drops the callbacks that have not been posted. It waits for its threads, at most a second, but
//   not for one that looks up a name: that one ends by itself and touches nothing of the others.
// Errors: kFailedPrecondition: host and port cannot be listened on. Of the fetcher, besides those
//   of its port: kDeadlineExceeded, kCancelled, kResourceExhausted (no thread can be started).
#ifndef SIGNPOST_METADATA_THRIFT_THRIFT_METADATA_H_
#define SIGNPOST_METADATA_THRIFT_THRIFT_METADATA_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "signpost/common/executor.h"
#include "signpost/metadata/metadata_fetcher.h"
#include "signpost/metadata/metadata_service.h"

namespace signpost {

struct ThriftMetadataOptions {
  std::string host;   // to listen on. Default: all addresses of this machine
  uint16_t port = 0;  // Default: any that is free
  // Bounds, as ThriftServer's (common/thrift/thrift_server.h).
  absl::Duration idle_timeout = absl::Seconds(30);  // Default: 30 s
  size_t max_connections = 64;                      // Default: 64
  size_t max_frame_bytes = 1 << 20;                 // Default: 1 MiB
};

// Listens when it returns.
absl::StatusOr<std::unique_ptr<MetadataServer>> ServeThriftMetadata(
    std::shared_ptr<const MetadataService> service, const ThriftMetadataOptions& options);

// `executor` must outlive it; callbacks run there. An answer above 4 MiB is an error.
std::unique_ptr<MetadataFetcher> NewThriftMetadataFetcher(Executor& executor);

}  // namespace signpost

#endif  // SIGNPOST_METADATA_THRIFT_THRIFT_METADATA_H_

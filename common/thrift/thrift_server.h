// A Thrift server that answers one processor, within bounds.
//
// Threads: one for accepting, one per connection; methods from any thread. Thrift's own messages go
//   to the log (debug) from the first server on.
// Bounds: connections above the limit are closed at once, so are those that send a frame above the
//   limit, no whole frame for `idle_timeout`, or what is no message, and those for which no thread
//   can be had. Nothing that a client sends ends the server.
// Errors of Start: kFailedPrecondition: cannot listen there (names address and reason);
//   kResourceExhausted: no thread.
#ifndef SIGNPOST_COMMON_THRIFT_THRIFT_SERVER_H_
#define SIGNPOST_COMMON_THRIFT_THRIFT_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace apache {
namespace thrift {
class TProcessor;
}  // namespace thrift
}  // namespace apache

namespace signpost {

struct ThriftServerOptions {
  std::string host = "127.0.0.1";    // no brackets round IPv6; empty: all addresses of this machine
  uint16_t port = 0;                 // Default: a free one
  size_t max_connections = 64;       // Default: 64
  size_t max_frame_bytes = 1 << 20;  // of a request. Default: 1 MiB
  absl::Duration idle_timeout = absl::Seconds(60);  // Default: 60 s
};

class ThriftServer {
 public:
  // Listens when it returns.
  static absl::StatusOr<std::unique_ptr<ThriftServer>> Start(
      std::shared_ptr<apache::thrift::TProcessor> processor, const ThriftServerOptions& options);
  ~ThriftServer();  // Stop()
  ThriftServer(const ThriftServer&) = delete;
  ThriftServer& operator=(const ThriftServer&) = delete;

  uint16_t port() const;
  size_t connection_count() const;

  // Closes all connections; answers that are being sent have `allowance` to end, and are cut off
  // then. Idempotent: the first allowance counts.
  void Stop(absl::Duration allowance = absl::Seconds(5));

 private:
  class Service;
  explicit ThriftServer(std::unique_ptr<Service> service);

  std::unique_ptr<Service> service_;
};

}  // namespace signpost

#endif  // SIGNPOST_COMMON_THRIFT_THRIFT_SERVER_H_

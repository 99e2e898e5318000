// A small registry server: Apache Thrift in front of a LocalCentre, for several processes on one
// machine. Clients open it as `signpost://host:port` (server_store.h).
//
// It has no login: whoever reaches the port may read and write. It listens on the loopback unless
// told otherwise.
//
// Threads: one for accepting, one per connection; methods from any thread. Thrift's own messages
//   go to the log from the first server on.
// Bounds: connections above the limit are closed at once, so are those that send a frame above the
//   limit, nothing for `idle_timeout`, or what is no message.
// Errors of Start: kFailedPrecondition: cannot listen there (names the reason).
#ifndef SIGNPOST_REGISTRY_SERVER_REGISTRY_SERVER_H_
#define SIGNPOST_REGISTRY_SERVER_REGISTRY_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "signpost/common/executor.h"
#include "signpost/registry/store/local_centre.h"

namespace signpost {

struct RegistryServerOptions {
  std::string host = "127.0.0.1";                    // no brackets round IPv6. Default: 127.0.0.1
  uint16_t port = 2280;                              // 0: a free one. Default: 2280
  size_t max_connections = 512;                      // a client has two. Default: 512
  size_t max_sessions = 512;                         // Default: 512
  size_t max_watches = 10000;                        // of one client. Default: 10000
  size_t max_frame_bytes = 8 << 20;                  // of a request. Default: 8 MiB
  absl::Duration idle_timeout = absl::Seconds(60);   // Default: 60 s
  absl::Duration min_ttl = absl::Milliseconds(500);  // of a session. Default: 500 ms
  absl::Duration max_ttl = absl::Hours(1);           // Default: 1 h
  // The centre may have keys of the sessions of a server before, whose clients come back within
  // seconds and write them again; what nobody has written by then goes. Default: 10 s
  absl::Duration left_behind = absl::Seconds(10);
  // For the sessions' time to live; null: one of its own.
  std::shared_ptr<Executor> timers;
};

class RegistryServer {
 public:
  // Listens when it returns.
  static absl::StatusOr<std::unique_ptr<RegistryServer>> Start(std::shared_ptr<LocalCentre> centre,
                                                               RegistryServerOptions options);
  ~RegistryServer();  // Stop()
  RegistryServer(const RegistryServer&) = delete;
  RegistryServer& operator=(const RegistryServer&) = delete;

  uint16_t port() const;
  std::string address() const;  // host:port
  size_t session_count() const;
  size_t connection_count() const;

  // Sessions end; what they have bound stays in the centre for the next server. Connections are
  // closed. Waits for running calls. Idempotent.
  void Stop();

 private:
  class Service;
  explicit RegistryServer(std::unique_ptr<Service> service);

  std::unique_ptr<Service> service_;
};

}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_SERVER_REGISTRY_SERVER_H_

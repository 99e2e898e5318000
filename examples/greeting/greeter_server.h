// The provider's Thrift server: what your RPC framework has already.
//
// Threads: one for each connection, at most 256; `greet` runs on them, several at once.
// Errors: kUnavailable: host and port cannot be listened on.
#ifndef SIGNPOST_EXAMPLES_GREETING_GREETER_SERVER_H_
#define SIGNPOST_EXAMPLES_GREETING_GREETER_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "signpost/common/thrift/thrift_server.h"

namespace example {

class GreeterServer {
 public:
  using Greet = std::function<std::string(const std::string& name)>;

  // Listens when it returns. `port` 0: any that is free.
  static absl::StatusOr<std::unique_ptr<GreeterServer>> Start(const std::string& host,
                                                              uint16_t port, Greet greet);
  ~GreeterServer();  // Stop()

  uint16_t port() const;
  // Lets calls end that have begun, closes all connections. Idempotent.
  void Stop();

 private:
  explicit GreeterServer(std::unique_ptr<signpost::ThriftServer> server);
  const std::unique_ptr<signpost::ThriftServer> server_;
};

}  // namespace example

#endif  // SIGNPOST_EXAMPLES_GREETING_GREETER_SERVER_H_

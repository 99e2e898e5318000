#include "signpost/examples/greeting/greeter_server.h"

#include <utility>

#include "signpost/common/thrift/thrift_server.h"
#include "signpost/examples/greeting/Greeter.h"

namespace example {
namespace {

class Handler final : public GreeterIf {
 public:
  explicit Handler(GreeterServer::Greet greet) : greet_(std::move(greet)) {}
  void greet(std::string& answer, const std::string& name) override { answer = greet_(name); }

 private:
  const GreeterServer::Greet greet_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<GreeterServer>> GreeterServer::Start(const std::string& host,
                                                                    uint16_t port, Greet greet) {
  signpost::ThriftServerOptions options;
  options.host = host;
  options.port = port;
  options.max_connections = 256;
  options.max_frame_bytes = 1 << 20;
  // Consumers keep connections that they seldom use; one whose machine has gone ends by this.
  options.idle_timeout = absl::Minutes(10);
  auto server = signpost::ThriftServer::Start(
      std::make_shared<GreeterProcessor>(std::make_shared<Handler>(std::move(greet))), options);
  if (!server.ok()) return absl::UnavailableError(server.status().message());
  return std::unique_ptr<GreeterServer>(new GreeterServer(*std::move(server)));
}

GreeterServer::GreeterServer(std::unique_ptr<signpost::ThriftServer> server)
    : server_(std::move(server)) {}

GreeterServer::~GreeterServer() { Stop(); }

uint16_t GreeterServer::port() const { return server_->port(); }

void GreeterServer::Stop() { server_->Stop(); }

}  // namespace example

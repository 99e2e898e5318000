#include "signpost/registry/server/registry_server.h"

#include <utility>

#include "signpost/common/mutex.h"
#include "signpost/common/thrift/thrift_server.h"
#include "signpost/common/url.h"
#include "signpost/registry/server/registry_handler.h"

namespace signpost {

using server_internal::RegistryHandler;

class RegistryServer::Service {
 public:
  Service(const std::shared_ptr<LocalCentre>& centre, RegistryServerOptions options)
      : options_(std::move(options)),
        centre_(centre),
        timers_(options_.timers != nullptr ? options_.timers
                                           : NewSerialExecutor("signpost-leases")),
        handler_(std::make_shared<RegistryHandler>(centre, options_, timers_)) {}
  // Also after a Start that failed: what it has adopted belongs to clients that live.
  ~Service() { Stop(); }

  absl::Status Start() {
    if (absl::Status status = Adopt(); !status.ok()) return status;
    ThriftServerOptions options;
    options.host = options_.host;
    options.port = options_.port;
    options.max_connections = options_.max_connections;
    options.max_frame_bytes = options_.max_frame_bytes;
    options.idle_timeout = options_.idle_timeout;
    auto server = ThriftServer::Start(
        std::make_shared<server_wire::RegistryServiceProcessor>(handler_), options);
    if (!server.ok()) return server.status();
    server_ = *std::move(server);
    handler_->DropEndedLater();
    return absl::OkStatus();
  }

  void Stop() {
    // First the sessions: a waiting poll keeps its connection.
    handler_->Stop();
    if (left_behind_ != nullptr) {
      centre_->LeaveBehind(*left_behind_);
      left_behind_->Close();
    }
    if (server_ != nullptr) server_->Stop();
  }

  const RegistryServerOptions& options() const { return options_; }
  uint16_t port() const { return server_->port(); }
  size_t session_count() const { return handler_->session_count(); }
  size_t connection_count() const { return server_->connection_count(); }

 private:
  // What clients of a killed server have there stays for as long as they need to come back.
  absl::Status Adopt() {
    left_behind_ = NewLocalStore(centre_, timers_, LocalAnswers::kAtOnce);
    absl::Status status = centre_->AdoptLeftBehind(*left_behind_);
    if (!status.ok()) return status;
    timers_->PostAfter(options_.left_behind, [weak = std::weak_ptr<Store>(left_behind_)] {
      if (const auto left_behind = weak.lock()) left_behind->Close();
    });
    return absl::OkStatus();
  }

  const RegistryServerOptions options_;
  const std::shared_ptr<LocalCentre> centre_;
  const std::shared_ptr<Executor> timers_;
  std::shared_ptr<Store> left_behind_;
  const std::shared_ptr<RegistryHandler> handler_;
  std::unique_ptr<ThriftServer> server_;
};

absl::StatusOr<std::unique_ptr<RegistryServer>> RegistryServer::Start(
    std::shared_ptr<LocalCentre> centre, RegistryServerOptions options) {
  auto service = std::make_unique<Service>(centre, std::move(options));
  if (absl::Status status = service->Start(); !status.ok()) return status;
  return std::unique_ptr<RegistryServer>(new RegistryServer(std::move(service)));
}

RegistryServer::RegistryServer(std::unique_ptr<Service> service) : service_(std::move(service)) {}

RegistryServer::~RegistryServer() = default;

uint16_t RegistryServer::port() const { return service_->port(); }

std::string RegistryServer::address() const {
  return JoinHostPort(service_->options().host, service_->port());
}

size_t RegistryServer::session_count() const { return service_->session_count(); }

size_t RegistryServer::connection_count() const { return service_->connection_count(); }

void RegistryServer::Stop() { service_->Stop(); }

}  // namespace signpost

#include "signpost/examples/greeting/greeter_server.h"

#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/server/TThreadedServer.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TServerSocket.h>

#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "signpost/common/mutex.h"
#include "signpost/common/url.h"
#include "signpost/examples/greeting/Greeter.h"

namespace example {
namespace {

using apache::thrift::TConfiguration;
using apache::thrift::TException;
using apache::thrift::protocol::TBinaryProtocolFactory;
using apache::thrift::server::TServerEventHandler;
using apache::thrift::server::TThreadedServer;
using apache::thrift::transport::TFramedTransport;
using apache::thrift::transport::TServerSocket;
using apache::thrift::transport::TTransport;
using apache::thrift::transport::TTransportFactory;

constexpr int kMaxConnections = 256;
constexpr int kMaxBytes = 1 << 20;  // of a request
// Consumers keep connections that they seldom use; one whose machine has gone ends by this.
constexpr int kIdleMs = 10 * 60 * 1000;
constexpr int kSendMs = 5000;

class Handler final : public GreeterIf {
 public:
  explicit Handler(GreeterServer::Greet greet) : greet_(std::move(greet)) {}
  void greet(std::string& answer, const std::string& name) override { answer = greet_(name); }

 private:
  const GreeterServer::Greet greet_;
};

class BoundedFrames final : public TTransportFactory {
 public:
  std::shared_ptr<TTransport> getTransport(std::shared_ptr<TTransport> socket) override {
    return std::make_shared<TFramedTransport>(
        std::move(socket), std::make_shared<TConfiguration>(kMaxBytes, kMaxBytes));
  }
};

// Until the server listens, or has failed: what comes first.
class Ready final : public TServerEventHandler {
 public:
  void preServe() override { Set(absl::OkStatus()); }
  void Set(absl::Status status) {
    signpost::MutexLock lock(mutex_);
    if (std::exchange(set_, true)) return;
    status_ = std::move(status);
    changed_.SignalAll();
  }
  absl::Status Wait() {
    signpost::MutexLock lock(mutex_);
    while (!set_) changed_.Wait(mutex_);
    return status_;
  }

 private:
  signpost::Mutex mutex_;
  signpost::CondVar changed_;
  bool set_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

class GreeterServer::Service {
 public:
  Service(const std::string& host, uint16_t port, Greet greet)
      : socket_(std::make_shared<TServerSocket>(host, port)),
        ready_(std::make_shared<Ready>()),
        server_(std::make_shared<GreeterProcessor>(std::make_shared<Handler>(std::move(greet))),
                socket_, std::make_shared<BoundedFrames>(),
                std::make_shared<TBinaryProtocolFactory>()) {
    socket_->setRecvTimeout(kIdleMs);
    socket_->setSendTimeout(kSendMs);
    server_.setConcurrentClientLimit(kMaxConnections);
    server_.setServerEventHandler(ready_);
  }

  absl::Status Start() {
    thread_ = std::thread([this] {
      std::string why = "it has ended";
      try {
        server_.serve();
      } catch (const TException& error) {
        why = error.what();
      }
      ready_->Set(absl::UnavailableError(why));
    });
    absl::Status status = ready_->Wait();
    if (status.ok()) {
      port_ = socket_->getPort();
    } else {
      thread_.join();
    }
    return status;
  }

  int port() const { return port_; }

  void Stop() {
    if (!thread_.joinable()) return;
    server_.stop();
    thread_.join();
  }

 private:
  const std::shared_ptr<TServerSocket> socket_;
  const std::shared_ptr<Ready> ready_;
  TThreadedServer server_;
  std::thread thread_;
  int port_ = 0;
};

absl::StatusOr<std::unique_ptr<GreeterServer>> GreeterServer::Start(const std::string& host,
                                                                    uint16_t port, Greet greet) {
  auto service = std::make_unique<Service>(host, port, std::move(greet));
  if (absl::Status status = service->Start(); !status.ok()) {
    return absl::UnavailableError(absl::StrCat(
        "cannot listen on ", signpost::JoinHostPort(host, port), ": ", status.message()));
  }
  return std::unique_ptr<GreeterServer>(new GreeterServer(std::move(service)));
}

GreeterServer::GreeterServer(std::unique_ptr<Service> service) : service_(std::move(service)) {}

GreeterServer::~GreeterServer() { Stop(); }

uint16_t GreeterServer::port() const { return static_cast<uint16_t>(service_->port()); }

void GreeterServer::Stop() { service_->Stop(); }

}  // namespace example

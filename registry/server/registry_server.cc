#include "signpost/registry/server/registry_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <thrift/TOutput.h>
#include <thrift/TProcessor.h>
#include <thrift/server/TThreadedServer.h>
#include <thrift/transport/TServerSocket.h>
#include <thrift/transport/TSocket.h>

#include <atomic>
#include <exception>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "signpost/common/log.h"
#include "signpost/common/mutex.h"
#include "signpost/common/url.h"
#include "signpost/registry/server/registry_handler.h"
#include "signpost/registry/server/wire.h"

namespace signpost {
namespace {

using apache::thrift::TProcessor;
using apache::thrift::protocol::TProtocol;
using apache::thrift::protocol::TProtocolFactory;
using apache::thrift::server::TServerEventHandler;
using apache::thrift::server::TThreadedServer;
using apache::thrift::transport::TServerSocket;
using apache::thrift::transport::TSocket;
using apache::thrift::transport::TTransport;
using apache::thrift::transport::TTransportException;
using apache::thrift::transport::TTransportFactory;
using server_internal::RegistryHandler;

// How long an answer may wait for a client that does not read.
constexpr absl::Duration kSendTimeout = absl::Seconds(5);

int Milliseconds(absl::Duration time) { return static_cast<int>(absl::ToInt64Milliseconds(time)); }

void CloseOnExec(int fd) { fcntl(fd, F_SETFD, FD_CLOEXEC); }

// A connection, counted while it lives.
class CountedSocket final : public TSocket {
 public:
  CountedSocket(int fd, std::shared_ptr<int> interrupt, std::shared_ptr<std::atomic<size_t>> count)
      : TSocket(fd, std::move(interrupt)), count_(std::move(count)) {
    ++*count_;
  }
  ~CountedSocket() override { --*count_; }

 private:
  const std::shared_ptr<std::atomic<size_t>> count_;
};

// Accepts at most so many connections; the others are closed, so that their clients know.
class BoundedServerSocket final : public TServerSocket {
 public:
  BoundedServerSocket(const RegistryServerOptions& options,
                      std::shared_ptr<std::atomic<size_t>> count)
      : TServerSocket(options.host, options.port),
        limit_(options.max_connections),
        count_(std::move(count)) {
    setRecvTimeout(Milliseconds(options.idle_timeout));
    setSendTimeout(Milliseconds(kSendTimeout));
    setListenCallback(CloseOnExec);
    setAcceptCallback(CloseOnExec);
  }

 protected:
  std::shared_ptr<TTransport> acceptImpl() override {
    for (;;) {
      std::shared_ptr<TTransport> connection;
      try {
        connection = TServerSocket::acceptImpl();
      } catch (const TTransportException& e) {
        if (e.getType() != TTransportException::UNKNOWN) throw;
        // Out of descriptors, or a client that left in the queue: no reason to end.
        poll(nullptr, 0, 50);
        continue;
      }
      if (*count_ <= limit_) return connection;
      connection->close();
    }
  }

  std::shared_ptr<TSocket> createSocket(THRIFT_SOCKET client) override {
    return std::make_shared<CountedSocket>(client, pChildInterruptSockReader_, count_);
  }

 private:
  const size_t limit_;
  const std::shared_ptr<std::atomic<size_t>> count_;
};

class FramesFactory final : public TTransportFactory {
 public:
  explicit FramesFactory(size_t max_bytes) : max_bytes_(max_bytes) {}
  std::shared_ptr<TTransport> getTransport(std::shared_ptr<TTransport> socket) override {
    return server_internal::NewFrames(std::move(socket), max_bytes_);
  }

 private:
  const size_t max_bytes_;
};

class BoundedProtocolFactory final : public TProtocolFactory {
 public:
  explicit BoundedProtocolFactory(size_t max_bytes) : max_bytes_(max_bytes) {}
  std::shared_ptr<TProtocol> getProtocol(std::shared_ptr<TTransport> frames) override {
    return server_internal::NewProtocol(std::move(frames), max_bytes_);
  }

 private:
  const size_t max_bytes_;
};

// Whatever goes wrong in a message ends its connection, nothing else.
class GuardedProcessor final : public TProcessor {
 public:
  explicit GuardedProcessor(std::shared_ptr<TProcessor> inner) : inner_(std::move(inner)) {}
  bool process(std::shared_ptr<TProtocol> in, std::shared_ptr<TProtocol> out,
               void* context) override {
    try {
      return inner_->process(std::move(in), std::move(out), context);
    } catch (const std::exception& e) {
      Log(LogLevel::kDebug, absl::StrCat("registry server: a connection ends: ", e.what()));
      return false;
    }
  }

 private:
  const std::shared_ptr<TProcessor> inner_;
};

// Until the server listens or has failed.
class Ready final : public TServerEventHandler {
 public:
  void preServe() override { Set(absl::OkStatus()); }
  void Set(absl::Status status) {
    MutexLock lock(mutex_);
    if (std::exchange(set_, true)) return;
    status_ = std::move(status);
    changed_.SignalAll();
  }
  absl::Status Wait() {
    MutexLock lock(mutex_);
    while (!set_) changed_.Wait(mutex_);
    return status_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool set_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

void LogThrift(const char* text) { Log(LogLevel::kDebug, absl::StrCat("thrift: ", text)); }

}  // namespace

class RegistryServer::Service {
 public:
  Service(std::shared_ptr<LocalCentre> centre, RegistryServerOptions options)
      : options_(std::move(options)),
        timers_(options_.timers != nullptr ? options_.timers
                                           : NewSerialExecutor("signpost-leases")),
        handler_(std::make_shared<RegistryHandler>(std::move(centre), options_, timers_)),
        socket_(std::make_shared<BoundedServerSocket>(options_, connections_)),
        server_(std::make_shared<GuardedProcessor>(
                    std::make_shared<server_wire::RegistryServiceProcessor>(handler_)),
                socket_, std::make_shared<FramesFactory>(options_.max_frame_bytes),
                std::make_shared<BoundedProtocolFactory>(options_.max_frame_bytes)) {}

  absl::Status Start() {
    auto ready = std::make_shared<Ready>();
    server_.setServerEventHandler(ready);
    thread_ = std::thread([this, ready] {
      std::string why = "it has ended";
      try {
        server_.serve();
      } catch (const std::exception& e) {
        why = e.what();
      }
      ready->Set(absl::FailedPreconditionError(absl::StrCat(
          "cannot listen on ", JoinHostPort(options_.host, options_.port), ": ", why)));
    });
    absl::Status status = ready->Wait();
    if (!status.ok()) {
      thread_.join();
      return status;
    }
    port_ = static_cast<uint16_t>(socket_->getPort());
    return absl::OkStatus();
  }

  void Stop() {
    MutexLock lock(mutex_);
    if (std::exchange(stopped_, true) || !thread_.joinable()) return;
    // First the sessions: a waiting poll keeps its connection.
    handler_->Stop();
    server_.stop();
    thread_.join();
  }

  const RegistryServerOptions& options() const { return options_; }
  uint16_t port() const { return port_; }
  size_t session_count() const { return handler_->session_count(); }
  size_t connection_count() const { return *connections_; }

 private:
  const RegistryServerOptions options_;
  const std::shared_ptr<Executor> timers_;
  const std::shared_ptr<std::atomic<size_t>> connections_ =
      std::make_shared<std::atomic<size_t>>(0);
  const std::shared_ptr<RegistryHandler> handler_;
  const std::shared_ptr<BoundedServerSocket> socket_;
  TThreadedServer server_;
  std::thread thread_;
  uint16_t port_ = 0;
  Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

absl::StatusOr<std::unique_ptr<RegistryServer>> RegistryServer::Start(
    std::shared_ptr<LocalCentre> centre, RegistryServerOptions options) {
  static const bool told = [] {
    apache::thrift::GlobalOutput.setOutputFunction(LogThrift);
    return true;
  }();
  static_cast<void>(told);
  auto service = std::make_unique<Service>(std::move(centre), std::move(options));
  if (absl::Status status = service->Start(); !status.ok()) return status;
  return std::unique_ptr<RegistryServer>(new RegistryServer(std::move(service)));
}

RegistryServer::RegistryServer(std::unique_ptr<Service> service) : service_(std::move(service)) {}

RegistryServer::~RegistryServer() { Stop(); }

uint16_t RegistryServer::port() const { return service_->port(); }

std::string RegistryServer::address() const {
  return JoinHostPort(service_->options().host, service_->port());
}

size_t RegistryServer::session_count() const { return service_->session_count(); }

size_t RegistryServer::connection_count() const { return service_->connection_count(); }

void RegistryServer::Stop() { service_->Stop(); }

}  // namespace signpost

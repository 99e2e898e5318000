#include "signpost/common/thrift/thrift_server.h"

#include <fcntl.h>
#include <poll.h>
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
#include "signpost/common/thrift/frames.h"
#include "signpost/common/url.h"

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
  BoundedServerSocket(const ThriftServerOptions& options,
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
    return NewThriftFrames(std::move(socket), max_bytes_);
  }

 private:
  const size_t max_bytes_;
};

class BoundedProtocolFactory final : public TProtocolFactory {
 public:
  explicit BoundedProtocolFactory(size_t max_bytes) : max_bytes_(max_bytes) {}
  std::shared_ptr<TProtocol> getProtocol(std::shared_ptr<TTransport> frames) override {
    return NewThriftProtocol(std::move(frames), max_bytes_);
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
      Log(LogLevel::kDebug, absl::StrCat("thrift server: a connection ends: ", e.what()));
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

class ThriftServer::Service {
 public:
  Service(std::shared_ptr<TProcessor> processor, const ThriftServerOptions& options)
      : name_(JoinHostPort(options.host.empty() ? "::" : options.host, options.port)),
        socket_(std::make_shared<BoundedServerSocket>(options, connections_)),
        server_(std::make_shared<GuardedProcessor>(std::move(processor)), socket_,
                std::make_shared<FramesFactory>(options.max_frame_bytes),
                std::make_shared<BoundedProtocolFactory>(options.max_frame_bytes)) {}

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
      ready->Set(
          absl::FailedPreconditionError(absl::StrCat("cannot listen on ", name_, ": ", why)));
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
    server_.stop();
    thread_.join();
  }

  uint16_t port() const { return port_; }
  size_t connection_count() const { return *connections_; }

 private:
  const std::string name_;
  const std::shared_ptr<std::atomic<size_t>> connections_ =
      std::make_shared<std::atomic<size_t>>(0);
  const std::shared_ptr<BoundedServerSocket> socket_;
  TThreadedServer server_;
  std::thread thread_;
  uint16_t port_ = 0;
  Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

absl::StatusOr<std::unique_ptr<ThriftServer>> ThriftServer::Start(
    std::shared_ptr<TProcessor> processor, const ThriftServerOptions& options) {
  static const bool told = [] {
    apache::thrift::GlobalOutput.setOutputFunction(LogThrift);
    return true;
  }();
  static_cast<void>(told);
  auto service = std::make_unique<Service>(std::move(processor), options);
  if (absl::Status status = service->Start(); !status.ok()) return status;
  return std::unique_ptr<ThriftServer>(new ThriftServer(std::move(service)));
}

ThriftServer::ThriftServer(std::unique_ptr<Service> service) : service_(std::move(service)) {}

ThriftServer::~ThriftServer() { Stop(); }

uint16_t ThriftServer::port() const { return service_->port(); }

size_t ThriftServer::connection_count() const { return service_->connection_count(); }

void ThriftServer::Stop() { service_->Stop(); }

}  // namespace signpost

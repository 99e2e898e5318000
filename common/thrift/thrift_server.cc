#include "signpost/common/thrift/thrift_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <thrift/TOutput.h>
#include <thrift/TProcessor.h>
#include <thrift/concurrency/ThreadFactory.h>
#include <thrift/server/TThreadedServer.h>
#include <thrift/transport/TServerSocket.h>
#include <thrift/transport/TSocket.h>

#include <exception>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "signpost/common/clock.h"
#include "signpost/common/log.h"
#include "signpost/common/mutex.h"
#include "signpost/common/thrift/frames.h"
#include "signpost/common/url.h"

namespace signpost {
namespace {

using apache::thrift::TProcessor;
using apache::thrift::concurrency::Runnable;
using apache::thrift::concurrency::Thread;
using apache::thrift::concurrency::ThreadFactory;
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

class BoundedSocket;

// The connections that are open.
class OpenSockets {
 public:
  void Add(BoundedSocket* socket) {
    MutexLock lock(mutex_);
    sockets_.insert(socket);
  }
  void Remove(BoundedSocket* socket) {
    MutexLock lock(mutex_);
    sockets_.erase(socket);
    changed_.SignalAll();
  }
  // Waits until none is left, at most `timeout`.
  void AwaitNone(absl::Duration timeout) {
    const absl::Duration end = Clock::Real().MonotonicNow() + timeout;
    MutexLock lock(mutex_);
    while (!sockets_.empty()) {
      const absl::Duration left = end - Clock::Real().MonotonicNow();
      if (left <= absl::ZeroDuration()) return;
      changed_.WaitFor(mutex_, left);
    }
  }
  size_t count() const {
    MutexLock lock(mutex_);
    return sockets_.size();
  }
  // Who waits for one to read or write finds it broken.
  void CutAll();

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  std::set<BoundedSocket*> sockets_ ABSL_GUARDED_BY(mutex_);
};

// A connection. A frame has `idle` to come in as a whole, however its bytes trickle.
class BoundedSocket final : public TSocket {
 public:
  BoundedSocket(int fd, std::shared_ptr<int> interrupt, std::shared_ptr<OpenSockets> all,
                absl::Duration idle)
      : TSocket(fd, std::move(interrupt)), all_(std::move(all)), idle_(idle) {
    all_->Add(this);
  }
  ~BoundedSocket() override { all_->Remove(this); }

  void OnFrame(bool begins) {
    end_ = begins ? Clock::Real().MonotonicNow() + idle_ : absl::InfiniteDuration();
    if (!begins) setRecvTimeout(Milliseconds(idle_));
  }

  uint32_t read(uint8_t* buffer, uint32_t length) override {
    if (end_ != absl::InfiniteDuration()) {
      const absl::Duration left = end_ - Clock::Real().MonotonicNow();
      if (left < absl::Milliseconds(1)) {
        throw TTransportException(TTransportException::TIMED_OUT, "a message took too long");
      }
      setRecvTimeout(Milliseconds(left));
    }
    return TSocket::read(buffer, length);
  }

  void close() override {
    MutexLock lock(mutex_);
    TSocket::close();
  }

  void Cut() {
    MutexLock lock(mutex_);
    if (getSocketFD() >= 0) shutdown(getSocketFD(), SHUT_RDWR);
  }

 private:
  const std::shared_ptr<OpenSockets> all_;
  const absl::Duration idle_;
  absl::Duration end_ = absl::InfiniteDuration();  // of the frame that is being read
  Mutex mutex_;                                    // the descriptor is not another file's yet
};

void OpenSockets::CutAll() {
  MutexLock lock(mutex_);
  for (BoundedSocket* socket : sockets_) socket->Cut();
}

// Accepts at most so many connections; the others are closed, so that their clients know.
class BoundedServerSocket final : public TServerSocket {
 public:
  BoundedServerSocket(const ThriftServerOptions& options, std::shared_ptr<OpenSockets> sockets)
      : TServerSocket(options.host, options.port),
        limit_(options.max_connections),
        idle_(options.idle_timeout),
        sockets_(std::move(sockets)) {
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
      if (sockets_->count() <= limit_) return connection;
      connection->close();
    }
  }

  std::shared_ptr<TSocket> createSocket(THRIFT_SOCKET client) override {
    return std::make_shared<BoundedSocket>(client, pChildInterruptSockReader_, sockets_, idle_);
  }

 private:
  const size_t limit_;
  const absl::Duration idle_;
  const std::shared_ptr<OpenSockets> sockets_;
};

class FramesFactory final : public TTransportFactory {
 public:
  explicit FramesFactory(size_t max_bytes) : max_bytes_(max_bytes) {}
  std::shared_ptr<TTransport> getTransport(std::shared_ptr<TTransport> socket) override {
    auto* bounded = dynamic_cast<BoundedSocket*>(socket.get());  // lives as long as the frames
    return NewThriftFrames(std::move(socket), max_bytes_, [bounded](bool begins) {
      if (bounded != nullptr) bounded->OnFrame(begins);
    });
  }

 private:
  const size_t max_bytes_;
};

// The thread of a connection, made before Thrift counts on it: one that cannot be had costs that
// connection and no more.
class ConnectionThread final : public Thread {
 public:
  explicit ConnectionThread(const std::shared_ptr<Runnable>& runnable)
      // Thrift's own part holds no thread then.
      : Thread(/*detached=*/true, runnable), thread_([gate = gate_, runnable = runnable]() mutable {
          if (gate->AwaitStart()) runnable->run();
          runnable.reset();
        }) {}
  ~ConnectionThread() override {
    gate_->Set(false);
    if (!thread_.joinable()) return;
    if (thread_.get_id() == std::this_thread::get_id()) {
      thread_.detach();
    } else {
      thread_.join();
    }
  }

  void start() override { gate_->Set(true); }
  void join() override {
    if (thread_.joinable()) thread_.join();
  }

 private:
  class StartGate {
   public:
    // The first one counts.
    void Set(bool start) {
      MutexLock lock(mutex_);
      if (!start_.has_value()) start_ = start;
      changed_.SignalAll();
    }
    bool AwaitStart() {
      MutexLock lock(mutex_);
      while (!start_.has_value()) changed_.Wait(mutex_);
      return *start_;
    }

   private:
    Mutex mutex_;
    CondVar changed_;
    std::optional<bool> start_ ABSL_GUARDED_BY(mutex_);
  };

  const std::shared_ptr<StartGate> gate_ = std::make_shared<StartGate>();
  std::thread thread_;
};

class ConnectionThreads final : public ThreadFactory {
 public:
  ConnectionThreads() : ThreadFactory(/*detached=*/false) {}
  std::shared_ptr<Thread> newThread(std::shared_ptr<Runnable> runnable) const override {
    try {
      return std::make_shared<ConnectionThread>(runnable);
    } catch (const std::system_error& e) {
      Log(LogLevel::kWarning,
          absl::StrCat("thrift server: no thread for a connection: ", e.what()));
      // As a connection that ended before it was served.
      throw TTransportException(TTransportException::TIMED_OUT, "no thread");
    }
  }
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
                std::make_shared<BoundedProtocolFactory>(options.max_frame_bytes),
                std::make_shared<ConnectionThreads>()) {}

  absl::Status Start() {
    auto ready = std::make_shared<Ready>();
    server_.setServerEventHandler(ready);
    const auto serve = [this, ready] {
      std::string why = "it has ended";
      try {
        server_.serve();
      } catch (const std::exception& e) {
        why = e.what();
        Log(LogLevel::kError, absl::StrCat("thrift server ", name_, ": ", why));
      }
      ready->Set(
          absl::FailedPreconditionError(absl::StrCat("cannot listen on ", name_, ": ", why)));
    };
    try {
      thread_ = std::thread(serve);
    } catch (const std::system_error& e) {
      return absl::ResourceExhaustedError(absl::StrCat(name_, ": no thread: ", e.what()));
    }
    absl::Status status = ready->Wait();
    if (!status.ok()) {
      thread_.join();
      return status;
    }
    port_ = static_cast<uint16_t>(socket_->getPort());
    return absl::OkStatus();
  }

  void Stop(absl::Duration allowance) {
    MutexLock lock(mutex_);
    if (std::exchange(stopped_, true) || !thread_.joinable()) return;
    server_.stop();
    // Those that are being answered may end; a client that does not read its answer is cut off.
    connections_->AwaitNone(allowance);
    connections_->CutAll();
    thread_.join();
  }

  uint16_t port() const { return port_; }
  size_t connection_count() const { return connections_->count(); }

 private:
  const std::string name_;
  const std::shared_ptr<OpenSockets> connections_ = std::make_shared<OpenSockets>();
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

void ThriftServer::Stop(absl::Duration allowance) { service_->Stop(allowance); }

}  // namespace signpost

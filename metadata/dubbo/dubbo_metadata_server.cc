#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "signpost/common/clock.h"
#include "signpost/common/json.h"
#include "signpost/common/log.h"
#include "signpost/common/mutex.h"
#include "signpost/common/status.h"
#include "signpost/common/tcp.h"
#include "signpost/metadata/dubbo/answer_frame.h"
#include "signpost/metadata/dubbo/dubbo_metadata.h"
#include "signpost/metadata/dubbo/frame.h"
#include "signpost/metadata/hessian2/metadata_service_v1.h"
#include "signpost/metadata/service_params.h"

namespace signpost {
namespace {

using metadata_dubbo_internal::AnswerFrame;
using metadata_dubbo_internal::BusyFrame;
using metadata_dubbo_internal::FirstFrame;

// A part of the 10 s that the end of a client may take.
constexpr absl::Duration kLastAnswers = absl::Seconds(1);
// How long an answer may wait for a client that does not read.
constexpr absl::Duration kSendTimeout = absl::Seconds(5);
// Until the first frame has come.
constexpr absl::Duration kFirstFrame = absl::Seconds(10);
// Until the next try when there are no descriptors left.
constexpr absl::Duration kAcceptPause = absl::Milliseconds(50);
constexpr int kAcceptedAtOnce = 64;
constexpr size_t kReceiveBytes = 16 << 10;

absl::Duration Now() { return Clock::Real().MonotonicNow(); }

struct Connection {
  FileDescriptor socket;
  std::string in;
  std::string out;  // the answer that is being sent
  size_t sent = 0;  // of it
  absl::Duration deadline;
  bool more = false;  // `in` may hold another frame
};

// All that the thread has. It answers one frame of each connection in turn, so that nobody who
// sends many keeps the others waiting.
class Loop {
 public:
  Loop(std::shared_ptr<const MetadataService> service, const DubboMetadataOptions& options,
       FileDescriptor listener, FileDescriptor wake)
      : service_(std::move(service)),
        options_(options),
        listener_(std::move(listener)),
        wake_(std::move(wake)) {}

  void Run() {
    pthread_setname_np(pthread_self(), "metadata-dubbo");
    while (!Ended()) {
      const std::vector<pollfd> events = Wait();
      if (!stopping_ && stop_) BeginStop();
      if (events.empty()) continue;
      // Those that come now have no events yet.
      for (size_t i = 0; i < connections_.size(); ++i) {
        if (!ProceedSafely(connections_[i], events[i + kFixed].revents)) Close(connections_[i]);
      }
      connections_.erase(std::remove_if(connections_.begin(), connections_.end(),
                                        [](const Connection& each) { return !each.socket; }),
                         connections_.end());
      if (events[1].revents != 0 && !stopping_) Accept();
    }
    for (Connection& each : connections_) Close(each);
    connections_.clear();
  }

  // From any thread.
  void Stop() {
    stop_ = true;
    const uint64_t one = 1;
    // It only fails when there is no room beside what has been written.
    [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof(one));
  }

 private:
  static constexpr size_t kFixed = 2;  // of what is waited for: the wake, the listener

  bool Ended() const { return stopping_ && (connections_.empty() || Now() >= stop_end_); }

  void BeginStop() {
    stopping_ = true;
    stop_end_ = Now() + kLastAnswers;
    listener_ = {};
    // Proceed closes the others.
  }

  // Until something comes or a time is over. Empty: a signal came.
  std::vector<pollfd> Wait() {
    const absl::Duration now = Now();
    absl::Duration end = stopping_ ? stop_end_ : absl::InfiniteDuration();
    const bool accepts = listener_ && now >= accept_after_;
    if (!accepts && listener_) end = std::min(end, accept_after_);
    // A negative descriptor is not looked at.
    std::vector<pollfd> events = {{stopping_ ? -1 : wake_.get(), POLLIN, 0},
                                  {accepts ? listener_.get() : -1, POLLIN, 0}};
    for (const Connection& each : connections_) {
      const bool sends = !each.out.empty();
      events.push_back({each.socket.get(), static_cast<short>(sends ? POLLOUT : POLLIN), 0});
      end = std::min(end, each.more && !sends ? now : each.deadline);
      if (stopping_ && !sends) end = now;
    }
    timespec left{};
    if (end > now && end != absl::InfiniteDuration()) left = absl::ToTimespec(end - now);
    const int count = ppoll(events.data(), events.size(),
                            end == absl::InfiniteDuration() ? nullptr : &left, nullptr);
    if (count < 0) return {};
    return events;
  }

  // Whoever asks for what there is no memory for loses its connection, and nobody else.
  bool ProceedSafely(Connection& connection, short events) {
    try {
      return Proceed(connection, events);
    } catch (const std::exception& e) {
      Log(LogLevel::kWarning, absl::StrCat("metadata service: a connection ends: ", e.what()));
      return false;
    }
  }

  // False: it is to be closed.
  bool Proceed(Connection& connection, short events) {
    if (stopping_ && connection.out.empty()) return false;
    if (Now() >= connection.deadline) return false;
    if (!connection.out.empty()) return events == 0 || Send(connection);
    if (connection.more) return AnswerNext(connection);
    return events == 0 || (Receive(connection) && AnswerNext(connection));
  }

  void Close(Connection& connection) {
    unsent_ -= connection.out.size();
    // Else the kernel would go on with what the other end does not read.
    const linger cut{1, 0};
    if (!connection.out.empty()) {
      setsockopt(connection.socket.get(), SOL_SOCKET, SO_LINGER, &cut, sizeof(cut));
    }
    connection.socket = {};
  }

  // False: the other end has closed.
  bool Receive(Connection& connection) {
    const ssize_t received = recv(connection.socket.get(), buffer_, sizeof(buffer_), 0);
    if (received < 0) return errno == EAGAIN || errno == EINTR;
    connection.in.append(buffer_, static_cast<size_t>(received));
    return received > 0;
  }

  bool AnswerNext(Connection& connection) {
    const auto frame = FirstFrame(connection.in, options_.max_frame_bytes);
    if (!frame.ok()) {
      Log(LogLevel::kDebug,
          absl::StrCat("metadata service: a connection ends: ", frame.status().message()));
      return false;
    }
    connection.more = frame->has_value();
    if (!connection.more) return true;
    connection.out =
        unsent_ < options_.max_unsent_bytes ? AnswerFrame(*service_, **frame) : BusyFrame(**frame);
    unsent_ += connection.out.size();
    connection.in.erase(0, (*frame)->bytes());
    connection.more = !connection.in.empty();
    if (!connection.more) connection.in = std::string();  // most have nothing to say for long
    connection.deadline = Now() + (connection.out.empty() ? options_.idle_timeout : kSendTimeout);
    return Send(connection);
  }

  bool Send(Connection& connection) {
    while (connection.sent < connection.out.size()) {
      const ssize_t sent = send(connection.socket.get(), connection.out.data() + connection.sent,
                                connection.out.size() - connection.sent, MSG_NOSIGNAL);
      if (sent < 0) return errno == EAGAIN || errno == EINTR;
      connection.sent += static_cast<size_t>(sent);
    }
    if (connection.out.empty()) return true;
    unsent_ -= connection.out.size();
    connection.out = std::string();  // the memory of a large one is not kept
    connection.sent = 0;
    connection.deadline = Now() + options_.idle_timeout;
    return true;
  }

  void Accept() {
    for (int i = 0; i < kAcceptedAtOnce; ++i) {
      FileDescriptor socket(
          accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!socket) {
        if (errno == ECONNABORTED || errno == EINTR) continue;
        // Out of descriptors or memory: the listener stays ready, so that waiting would not wait.
        if (errno != EAGAIN) accept_after_ = Now() + kAcceptPause;
        return;
      }
      if (connections_.size() >= options_.max_connections) continue;  // its client knows at once
      const int yes = 1;
      setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
      Connection connection;
      connection.socket = std::move(socket);
      connection.deadline = Now() + std::min(options_.idle_timeout, kFirstFrame);
      try {
        connections_.push_back(std::move(connection));
      } catch (const std::bad_alloc&) {
        return;
      }
    }
  }

  const std::shared_ptr<const MetadataService> service_;
  const DubboMetadataOptions options_;
  FileDescriptor listener_;
  const FileDescriptor wake_;
  std::atomic<bool> stop_{false};
  // Of the thread alone.
  std::vector<Connection> connections_;
  size_t unsent_ = 0;  // bytes of all answers that are held
  absl::Duration accept_after_ = -absl::InfiniteDuration();
  bool stopping_ = false;
  absl::Duration stop_end_;
  char buffer_[kReceiveBytes];
};

class Server final : public MetadataServer {
 public:
  static absl::StatusOr<std::unique_ptr<Server>> Start(
      std::shared_ptr<const MetadataService> service, const DubboMetadataOptions& options) {
    auto listener = ListenTcp(options.host, options.port);
    if (!listener.ok()) return listener.status();
    FileDescriptor wake(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    if (!wake) {
      return absl::ResourceExhaustedError(absl::StrCat("no eventfd: ", std::strerror(errno)));
    }
    const uint16_t port = ListeningPort(*listener);
    auto server = std::unique_ptr<Server>(
        new Server(port, std::make_unique<Loop>(std::move(service), options, *std::move(listener),
                                                std::move(wake))));
    try {
      server->thread_ = std::thread([loop = server->loop_.get()] { loop->Run(); });
    } catch (const std::system_error& e) {
      return absl::ResourceExhaustedError(absl::StrCat("no thread: ", e.what()));
    }
    return server;
  }
  ~Server() override { Close(); }

  std::map<std::string, std::string> InstanceMetadata() const override {
    // No more than is read: every instance node has it. The consumer's group is the application.
    Json params;
    params.Set("version", hessian2::kMetadataServiceV1Version);
    params.Set("serialization", "hessian2");
    params.Set("port", absl::StrCat(port_));
    params.Set("protocol", "dubbo");
    return {{std::string(kMetadataServiceParamsKey), params.Print()},
            {"meta-v", hessian2::kMetadataServiceV1Version}};
  }

  void Close() override {
    MutexLock lock(mutex_);
    if (!thread_.joinable()) return;
    loop_->Stop();
    thread_.join();
  }

 private:
  Server(uint16_t port, std::unique_ptr<Loop> loop) : port_(port), loop_(std::move(loop)) {}

  const uint16_t port_;
  const std::unique_ptr<Loop> loop_;
  Mutex mutex_;
  std::thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<MetadataServer>> ServeDubboMetadata(
    std::shared_ptr<const MetadataService> service, const DubboMetadataOptions& options) {
  auto server = Server::Start(std::move(service), options);
  if (!server.ok()) return Annotate(server.status(), "metadata service");
  return std::unique_ptr<MetadataServer>(*std::move(server));
}

}  // namespace signpost

#include "tests/support/call_load.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "signpost/common/clock.h"
#include "tests/support/loopback.h"

namespace signpost {
namespace {

constexpr int kThreads = 2;
constexpr int kAnswerMs = 10000;  // a loaded machine

absl::Status Failed(const std::string& address, absl::string_view what) {
  return absl::UnavailableError(absl::StrCat(address, ": ", what, ": ", std::strerror(errno)));
}

absl::Status Call(const Endpoint& endpoint) {
  const std::string address = endpoint.address();
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return Failed(address, "socket");
  const sockaddr_in to = Loopback(endpoint->port);
  absl::Status status;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0) {
    status = Failed(address, "connect");
  } else {
    pollfd wait{fd, POLLIN, 0};
    char answer = 0;
    if (poll(&wait, 1, kAnswerMs) != 1) {
      status = Failed(address, "no answer");
    } else if (recv(fd, &answer, 1, 0) != 1) {
      status = Failed(address, "closed without an answer");
    }
  }
  // So that the port is free again at once.
  const linger none{1, 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
  close(fd);
  return status;
}

}  // namespace

AnsweringServer::AnsweringServer() {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  if (listener_ < 0 || bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener_, 1024) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      pipe(wake_) != 0) {
    std::abort();
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Run(); });
}

std::string AnsweringServer::address() const { return absl::StrCat("127.0.0.1:", port_); }

void AnsweringServer::Run() {
  while (true) {
    pollfd wait[2] = {{listener_, POLLIN, 0}, {wake_[0], POLLIN, 0}};
    if (poll(wait, 2, -1) < 0 && errno != EINTR) return;
    if (wait[1].revents != 0) return;
    if (wait[0].revents == 0) continue;
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    if (send(fd, "1", 1, MSG_NOSIGNAL) == 1) answered_.fetch_add(1);
    close(fd);
  }
}

void AnsweringServer::Stop() {
  if (!thread_.joinable()) return;
  (void)!write(wake_[1], "1", 1);
  thread_.join();
  for (int fd : {listener_, wake_[0], wake_[1]}) close(fd);
}

CallLoad::CallLoad(std::shared_ptr<Directory> directory, int calls_per_second)
    : directory_(std::move(directory)) {
  for (int i = 0; i < kThreads; ++i) {
    threads_.emplace_back([this, calls_per_second] { Run(calls_per_second / kThreads); });
  }
}

void CallLoad::Run(int calls_per_second) {
  const absl::Duration between = absl::Seconds(1) / calls_per_second;
  absl::Duration due = Clock::Real().MonotonicNow();
  while (true) {
    {
      MutexLock lock(mutex_);
      while (!stop_) {
        const absl::Duration left = due - Clock::Real().MonotonicNow();
        if (left <= absl::ZeroDuration()) break;
        changed_.WaitFor(mutex_, left);
      }
      if (stop_) return;
    }
    // A thread that fell behind does not make up for it at once.
    due = std::max(due + between, Clock::Real().MonotonicNow() - absl::Milliseconds(100));
    Request request;
    request.method = "call";
    absl::StatusOr<PickResult> picked = directory_->Pick(request);
    if (!picked.ok()) {
      Note(picked.status(), Endpoint());
      continue;
    }
    const Endpoint endpoint = picked->endpoint;
    const absl::Status status = Call(endpoint);
    directory_->Done(*picked, CallOutcome());
    Note(status, endpoint);
  }
}

void CallLoad::Note(const absl::Status& status, const Endpoint& endpoint) {
  MutexLock lock(mutex_);
  ++calls_;
  if (!status.ok()) {
    ++failed_;
    first_failure_.Update(status);
  }
  if (endpoint) {
    ++seen_.by_address[endpoint.address()];
    ++(endpoint->service->revision.empty() ? seen_.interface : seen_.application);
  }
  changed_.SignalAll();
}

bool CallLoad::AwaitCalls(int64_t count) {
  const absl::Duration end = Clock::Real().MonotonicNow() + absl::Minutes(1);
  MutexLock lock(mutex_);
  const int64_t wanted = calls_ + count;
  while (calls_ < wanted) {
    const absl::Duration left = end - Clock::Real().MonotonicNow();
    if (left <= absl::ZeroDuration()) return false;
    changed_.WaitFor(mutex_, left);
  }
  return true;
}

void CallLoad::Stop() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
    changed_.SignalAll();
  }
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

int64_t CallLoad::calls() const {
  MutexLock lock(mutex_);
  return calls_;
}

int64_t CallLoad::failed() const {
  MutexLock lock(mutex_);
  return failed_;
}

absl::Status CallLoad::first_failure() const {
  MutexLock lock(mutex_);
  return first_failure_;
}

CallLoad::Seen CallLoad::TakeSeen() {
  MutexLock lock(mutex_);
  return std::exchange(seen_, Seen());
}

}  // namespace signpost

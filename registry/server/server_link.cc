#include "signpost/registry/server/server_link.h"

#include <algorithm>
#include <utility>

#include "signpost/common/clock.h"

namespace signpost {
namespace server_internal {
namespace {

constexpr absl::Duration kMaxPollWait = absl::Seconds(10);
// While the executor is busy. Half of what the server gives a session until its first poll.
constexpr absl::Duration kMaxTakeWait = absl::Seconds(5);
// Close takes at most both, and what a look-up of the host's name takes is not waited for.
constexpr absl::Duration kPatience = absl::Seconds(2);
constexpr absl::Duration kEndTime = absl::Milliseconds(1500);
constexpr absl::Duration kGoodbyeTimeout = absl::Seconds(1);

BackoffOptions Delays() {
  BackoffOptions options;
  options.initial = absl::Milliseconds(50);
  options.max = absl::Seconds(1);
  return options;
}

}  // namespace

ServerLink::ServerLink(LinkOptions options, Listener listener, std::shared_ptr<Executor> executor)
    : options_(std::move(options)),
      listener_(std::move(listener)),
      executor_(std::move(executor)),
      ttl_(options_.session),
      why_(absl::UnavailableError("not connected yet")) {}

void ServerLink::Open() {
  MutexLock lock(mutex_);
  running_ = 2;
  poll_thread_ = std::thread([self = shared_from_this()] { self->PollLoop(); });
  call_thread_ = std::thread([self = shared_from_this()] { self->CallLoop(); });
}

uint64_t ServerLink::Enqueue(Request request) {
  MutexLock lock(mutex_);
  const uint64_t id = next_id_++;
  if (closed_) return id;
  requests_.emplace(id, std::move(request));
  changed_.SignalAll();
  return id;
}

bool ServerLink::Withdraw(uint64_t id) {
  Request dropped;  // destroyed without the lock
  MutexLock lock(mutex_);
  const auto it = requests_.find(id);
  if (it == requests_.end()) return false;
  dropped = std::move(it->second);
  requests_.erase(it);
  return true;
}

absl::Status ServerLink::WhyNotConnected() const {
  MutexLock lock(mutex_);
  return why_;
}

// Gives up early when the link is closed.
void ServerLink::Wait(absl::Duration time) {
  const absl::Duration end = Clock::Real().MonotonicNow() + time;
  MutexLock lock(mutex_);
  while (!closed_) {
    const absl::Duration left = end - Clock::Real().MonotonicNow();
    if (left <= absl::ZeroDuration()) return;
    changed_.WaitFor(mutex_, left);
  }
}

std::shared_ptr<Connection> ServerLink::Connect(std::shared_ptr<Connection>& slot) {
  auto connected = Connection::Connect(options_.host, options_.port, options_.timeout, closed_);
  if (!connected.ok()) {
    MutexLock lock(mutex_);
    why_ = connected.status();
    return nullptr;
  }
  std::shared_ptr<Connection> connection = *std::move(connected);
  MutexLock lock(mutex_);
  if (closed_) return nullptr;
  slot = connection;
  return connection;
}

void ServerLink::Drop(std::shared_ptr<Connection>& slot) {
  std::shared_ptr<Connection> dropped;
  MutexLock lock(mutex_);
  dropped.swap(slot);
}

void ServerLink::Told(SessionEvent event) {
  executor_->Post([weak = weak_from_this(), event, session = polled_ != 0 ? polled_ : lost_] {
    if (auto self = weak.lock()) self->listener_.on_session(event, session);
  });
}

void ServerLink::Lost(const absl::Status& why) {
  {
    MutexLock lock(mutex_);
    why_ = why;
  }
  if (connected_.exchange(false)) Told(SessionEvent::kDisconnected);
}

bool ServerLink::EnsureSession(Connection& connection, Backoff& backoff) {
  if (polled_ != 0) return true;
  const Answer<OpenedSession> opened = connection.Open(options_.session);
  if (!opened.value.ok()) {
    Lost(opened.value.status());
    Wait(backoff.Next());
    return false;
  }
  polled_ = opened.value->id;
  ttl_ = opened.value->ttl;
  acknowledged_ = 0;
  {
    MutexLock lock(mutex_);
    session_ = polled_;
    changed_.SignalAll();
  }
  connected_ = true;
  Told(lost_ == 0 ? SessionEvent::kConnected : SessionEvent::kNewSession);
  return true;
}

void ServerLink::TakeEvents(std::vector<WatchEvent> events) {
  if (events.empty()) return;
  acknowledged_ = events.back().sequence;
  {
    MutexLock lock(mutex_);
    taking_ = true;
  }
  executor_->Post(
      [weak = weak_from_this(), session = polled_, events = std::move(events)]() mutable {
        auto self = weak.lock();
        if (self == nullptr) return;
        self->listener_.on_events(session, std::move(events));
        MutexLock lock(self->mutex_);
        self->taking_ = false;
        self->changed_.SignalAll();
      });
}

bool ServerLink::AwaitTaken(absl::Duration time) {
  const absl::Duration end = Clock::Real().MonotonicNow() + time;
  MutexLock lock(mutex_);
  while (taking_ && !closed_) {
    const absl::Duration left = end - Clock::Real().MonotonicNow();
    if (left <= absl::ZeroDuration()) break;
    changed_.WaitFor(mutex_, left);
  }
  return !taking_;
}

void ServerLink::PollLoop() {
  Backoff backoff(Delays());
  std::shared_ptr<Connection> connection;
  while (!closed_) {
    if (connection == nullptr) connection = Connect(polling_);
    if (connection == nullptr) {
      Wait(backoff.Next());
      continue;
    }
    if (!EnsureSession(*connection, backoff)) {
      connection = nullptr;
      Drop(polling_);
      continue;
    }
    const absl::Duration wait = std::min(ttl_ / 3, kMaxPollWait);
    const bool fetch = AwaitTaken(std::min(wait, kMaxTakeWait));
    Answer<std::vector<WatchEvent>> told =
        connection->Poll(polled_, acknowledged_, fetch ? wait : absl::ZeroDuration(), fetch);
    if (closed_) break;
    if (told.outcome == Outcome::kUnknownSession) {
      {
        MutexLock lock(mutex_);
        session_ = 0;
        why_ = told.value.status();
      }
      lost_ = std::exchange(polled_, 0);
      connected_ = false;
      Told(SessionEvent::kExpired);
      Wait(backoff.Next());
    } else if (!told.value.ok()) {
      connection = nullptr;
      Drop(polling_);
      Lost(told.value.status());
      Wait(backoff.Next());
    } else {
      backoff.Reset();
      // First the news: who hears that the connection is back finds the watches true.
      TakeEvents(*std::move(told.value));
      if (!connected_.exchange(true)) Told(SessionEvent::kConnected);
    }
  }
  connection = nullptr;
  Drop(polling_);
  MutexLock lock(mutex_);
  --running_;
  changed_.SignalAll();
}

void ServerLink::CallLoop() {
  Backoff backoff(Delays());
  std::shared_ptr<Connection> connection;
  int64_t unknown = 0;  // the server does not know it; the polling thread will hear that too
  for (;;) {
    uint64_t id = 0;
    int64_t session = 0;
    Request request;
    {
      MutexLock lock(mutex_);
      while (!closed_ && (requests_.empty() || session_ == 0 || session_ == unknown)) {
        changed_.Wait(mutex_);
      }
      if (closed_) break;
      const auto first = requests_.begin();
      id = first->first;
      request = std::move(first->second);
      requests_.erase(first);
      session = session_;
    }
    Outcome outcome = Outcome::kBroken;
    bool begun = false;
    // The server closes what is idle; noticed before something is sent there.
    if (connection != nullptr && connection->stale()) {
      connection = nullptr;
      Drop(calling_);
    }
    if (connection == nullptr) connection = Connect(calling_);
    if (connection != nullptr) {
      begun = true;
      outcome = request.run(*connection, session);
    }
    if (outcome == Outcome::kAnswered) {
      backoff.Reset();
      continue;
    }
    if (!begun || outcome == Outcome::kUnknownSession || request.repeatable) {
      MutexLock lock(mutex_);
      if (!closed_) requests_.emplace(id, std::move(request));
    }
    if (outcome == Outcome::kUnknownSession) {
      unknown = session;
    } else {
      connection = nullptr;
      Drop(calling_);
      Wait(backoff.Next());
    }
  }
  SayGoodbye(std::move(connection));
  Drop(calling_);
  MutexLock lock(mutex_);
  --running_;
  changed_.SignalAll();
}

void ServerLink::SayGoodbye(std::shared_ptr<Connection> connection) {
  static const std::atomic<bool> never{false};
  int64_t session = 0;
  {
    MutexLock lock(mutex_);
    session = session_;
  }
  if (session == 0) return;
  if (connection == nullptr || connection->stale()) {
    auto connected = Connection::Connect(options_.host, options_.port, kGoodbyeTimeout, never);
    if (!connected.ok()) return;
    connection = *std::move(connected);
    MutexLock lock(mutex_);
    calling_ = connection;
  }
  connection->set_timeout(kGoodbyeTimeout);
  // Unheard: the session ends by its time to live.
  connection->CloseSession(session);
}

void ServerLink::Close() {
  if (closed_.exchange(true)) return;
  connected_ = false;
  std::map<uint64_t, Request> dropped;
  const auto await_end = [this](absl::Duration time) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const absl::Duration end = Clock::Real().MonotonicNow() + time;
    while (running_ > 0) {
      const absl::Duration left = end - Clock::Real().MonotonicNow();
      if (left <= absl::ZeroDuration()) return;
      changed_.WaitFor(mutex_, left);
    }
  };
  bool ended = false;
  {
    MutexLock lock(mutex_);
    dropped.swap(requests_);
    if (polling_ != nullptr) polling_->Interrupt();
    changed_.SignalAll();
    await_end(kPatience);
    if (calling_ != nullptr) calling_->Interrupt();
    await_end(kEndTime);
    ended = running_ == 0;
  }
  for (std::thread* thread : {&poll_thread_, &call_thread_}) {
    if (!thread->joinable()) continue;
    if (ended) {
      thread->join();
    } else {
      thread->detach();  // it owns what it uses, and ends when its look-up does
    }
  }
}

}  // namespace server_internal
}  // namespace signpost

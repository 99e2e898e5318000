#include "signpost/examples/greeting/connections.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "signpost/common/clock.h"
#include "signpost/common/gate.h"
#include "signpost/common/mutex.h"
#include "signpost/common/status.h"

namespace example {

using signpost::Backoff;
using signpost::BackoffOptions;
using signpost::Endpoint;
using signpost::Executor;
using signpost::MutexLock;
using Kind = ConnectionEvent::Kind;

class Connections::State : public std::enable_shared_from_this<Connections::State> {
 public:
  State(Executor& executor, Connector& connector, Told told, BackoffOptions backoff)
      : executor_(executor), connector_(connector), told_(std::move(told)), backoff_(backoff) {}

  void Update(const signpost::AddressDelta& delta) {
    auto pass = gate_.Enter();
    if (!pass) return;
    // First what comes: an address that is in both keeps its connection.
    for (const auto& update : delta.updated) Add(update.after);
    for (const Endpoint& endpoint : delta.added) Add(endpoint);
    for (const auto& update : delta.updated) Remove(update.before);
    for (const Endpoint& endpoint : delta.removed) Remove(endpoint);
  }

  absl::StatusOr<std::shared_ptr<Connection>> Find(const std::string& address) const {
    MutexLock lock(mutex_);
    const auto found = open_.find(address);
    if (found != open_.end()) return found->second;
    return absl::UnavailableError(absl::StrCat(address, ": no connection"));
  }

  void Broken(const std::string& address, const std::shared_ptr<Connection>& connection,
              const absl::Status& why) {
    {
      MutexLock lock(mutex_);
      const auto found = open_.find(address);
      if (found == open_.end() || found->second.value_or(nullptr) != connection) return;
      // Nobody else shall try it.
      found->second = signpost::Annotate(absl::UnavailableError(why.message()), address);
    }
    Post([address, connection, why](State& self) { self.Reopen(address, connection, why); });
  }

  uint64_t opened() const {
    MutexLock lock(mutex_);
    return opened_;
  }

  bool AwaitOpened(uint64_t seen, absl::Duration timeout) const {
    const signpost::Clock& clock = signpost::Clock::Real();
    const absl::Duration end = clock.MonotonicNow() + timeout;
    MutexLock lock(mutex_);
    while (opened_ == seen && !closed_) {
      const absl::Duration left = end - clock.MonotonicNow();
      if (left <= absl::ZeroDuration()) return false;
      changed_.WaitFor(mutex_, left);
    }
    return !closed_;
  }

  void Close() {
    gate_.Close();
    // No task of ours runs any more, nor will one.
    {
      MutexLock lock(mutex_);
      closed_ = true;
      open_.clear();
      changed_.SignalAll();
    }
    for (auto& [address, peer] : std::exchange(peers_, {})) Drop(address, peer, "all is closed");
  }

 private:
  struct Peer {
    std::string host;
    uint16_t port = 0;
    Backoff backoff;
    size_t uses = 0;              // endpoints of the list that have this address
    uint64_t attempt = 0;         // of the connect under way; else 0
    Executor::TimerId retry = 0;  // the next one; else 0
    std::shared_ptr<Connection> connection;
  };

  // A task that does nothing once Close has begun.
  template <typename Fn>
  Executor::Task Guarded(Fn fn) {
    return [weak = weak_from_this(), fn = std::move(fn)]() mutable {
      auto self = weak.lock();
      if (self == nullptr) return;
      if (auto pass = self->gate_.Enter()) fn(*self);
    };
  }
  template <typename Fn>
  void Post(Fn fn) {
    executor_.Post(Guarded(std::move(fn)));
  }

  void Add(const Endpoint& endpoint) {
    const std::string address = endpoint.address();
    auto found = peers_.find(address);
    if (found == peers_.end()) {
      Peer peer{endpoint->host, endpoint->port, Backoff(backoff_)};
      found = peers_.emplace(address, std::move(peer)).first;
      SetOpen(address, absl::UnavailableError("being connected to"));
      Connect(address, found->second);
    }
    ++found->second.uses;
  }

  void Remove(const Endpoint& endpoint) {
    const std::string address = endpoint.address();
    const auto found = peers_.find(address);
    if (found == peers_.end() || --found->second.uses > 0) return;
    Peer peer = std::move(found->second);
    peers_.erase(found);
    {
      MutexLock lock(mutex_);
      open_.erase(address);
    }
    Drop(address, peer, "its address has left");
  }

  // Of a peer that is no longer among peers_; a connect under way finds it gone.
  void Drop(const std::string& address, Peer& peer, absl::string_view why) {
    if (peer.retry != 0) executor_.Cancel(peer.retry);
    const bool was_open = std::exchange(peer.connection, nullptr) != nullptr;
    Tell(was_open ? Kind::kClosed : Kind::kCancelled, address, why);
  }

  void Connect(const std::string& address, Peer& peer) {
    peer.retry = 0;
    peer.attempt = ++last_attempt_;
    connector_.Connect(
        peer.host, peer.port,
        [weak = weak_from_this(), address, attempt = peer.attempt](auto result) mutable {
          auto self = weak.lock();
          if (self == nullptr) return;
          // The result lies in the task: dropped with it, the connection is closed.
          self->Post([address, attempt, result = std::move(result)](State& state) mutable {
            state.Connected(address, attempt, std::move(result));
          });
        });
  }

  void Connected(const std::string& address, uint64_t attempt,
                 absl::StatusOr<std::shared_ptr<Connection>> result) {
    const auto found = peers_.find(address);
    // The address has left, and perhaps joined again meanwhile.
    if (found == peers_.end() || found->second.attempt != attempt) return;
    Peer& peer = found->second;
    peer.attempt = 0;
    if (!result.ok()) {
      SetOpen(address, absl::UnavailableError(result.status().message()));
      const absl::Duration delay = RetryLater(address, peer);
      return Tell(Kind::kRetry, address,
                  absl::StrCat(result.status().message(), "; next try in ",
                               absl::FormatDuration(absl::Trunc(delay, absl::Milliseconds(1)))));
    }
    peer.backoff.Reset();
    peer.connection = *std::move(result);
    SetOpen(address, peer.connection);
    Tell(Kind::kOpened, address, "");
  }

  void Reopen(const std::string& address, const std::shared_ptr<Connection>& connection,
              const absl::Status& why) {
    const auto found = peers_.find(address);
    if (found == peers_.end() || found->second.connection != connection) return;
    found->second.connection = nullptr;
    RetryLater(address, found->second);
    Tell(Kind::kClosed, address, why.message());
  }

  absl::Duration RetryLater(const std::string& address, Peer& peer) {
    const absl::Duration delay = peer.backoff.Next();
    // It is cancelled when the peer goes, so it finds its own.
    peer.retry = executor_.PostAfter(
        delay, Guarded([address](State& self) { self.Connect(address, self.peers_.at(address)); }));
    return delay;
  }

  void SetOpen(const std::string& address, absl::StatusOr<std::shared_ptr<Connection>> connection) {
    MutexLock lock(mutex_);
    if (connection.ok()) {
      ++opened_;
      changed_.SignalAll();
      open_.insert_or_assign(address, *std::move(connection));
    } else {
      open_.insert_or_assign(address, signpost::Annotate(connection.status(), address));
    }
  }

  void Tell(Kind kind, const std::string& address, absl::string_view why) {
    if (told_ != nullptr) told_({kind, address, std::string(why)});
  }

  Executor& executor_;
  Connector& connector_;
  const Told told_;
  const BackoffOptions backoff_;
  signpost::Gate gate_;
  // Of the executor's tasks; once the gate is closed, of Close.
  std::map<std::string, Peer> peers_;
  uint64_t last_attempt_ = 0;
  // What callers look at.
  mutable signpost::Mutex mutex_;
  mutable signpost::CondVar changed_;
  std::map<std::string, absl::StatusOr<std::shared_ptr<Connection>>> open_ ABSL_GUARDED_BY(mutex_);
  uint64_t opened_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

Connections::Connections(Executor& executor, Connector& connector, Told told,
                         BackoffOptions backoff)
    : state_(std::make_shared<State>(executor, connector, std::move(told), backoff)) {}

Connections::~Connections() { Close(); }

BackoffOptions Connections::DefaultBackoff() {
  BackoffOptions options;
  options.initial = absl::Milliseconds(50);
  options.max = absl::Seconds(5);
  return options;
}

void Connections::Update(const signpost::AddressDelta& delta) { state_->Update(delta); }

absl::StatusOr<std::shared_ptr<Connection>> Connections::Find(const std::string& address) const {
  return state_->Find(address);
}

void Connections::Broken(const std::string& address, const std::shared_ptr<Connection>& connection,
                         const absl::Status& why) {
  state_->Broken(address, connection, why);
}

uint64_t Connections::opened() const { return state_->opened(); }

bool Connections::AwaitOpened(uint64_t seen, absl::Duration timeout) const {
  return state_->AwaitOpened(seen, timeout);
}

void Connections::Close() { state_->Close(); }

}  // namespace example

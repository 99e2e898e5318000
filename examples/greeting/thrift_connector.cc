#include "signpost/examples/greeting/thrift_connector.h"

#include <poll.h>
#include <thrift/TApplicationException.h>
#include <thrift/transport/TSocket.h>

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "signpost/common/clock.h"
#include "signpost/common/executor.h"
#include "signpost/common/mutex.h"
#include "signpost/common/thrift/frames.h"
#include "signpost/examples/greeting/Greeter.h"

namespace example {
namespace {

using apache::thrift::TApplicationException;
using apache::thrift::TException;
using apache::thrift::transport::TSocket;
using apache::thrift::transport::TTransportException;

constexpr size_t kThreads = 4;
// Of an answer: an address that belongs to somebody else by now may send anything.
constexpr size_t kMaxBytes = 1 << 20;

int Milliseconds(absl::Duration time) {
  return static_cast<int>(
      std::clamp<int64_t>(absl::ToInt64Milliseconds(time), 1, 24 * 3600 * 1000));
}

class ThriftConnection final : public Connection {
 public:
  explicit ThriftConnection(std::shared_ptr<TSocket> socket)
      : socket_(std::move(socket)),
        client_(signpost::NewThriftProtocol(signpost::NewThriftFrames(socket_, kMaxBytes),
                                            kMaxBytes)) {}

  absl::StatusOr<std::string> Greet(const std::string& name, absl::Duration timeout) override {
    const absl::Duration end = Now() + timeout;
    if (!Begin(end)) {
      return absl::DeadlineExceededError(
          absl::StrCat("other calls have used the connection for ", absl::FormatDuration(timeout)));
    }
    auto answer = Call(name, std::max(end - Now(), absl::Milliseconds(1)));
    signpost::MutexLock lock(mutex_);
    busy_ = false;
    ended_.Signal();
    return answer;
  }

 private:
  static absl::Duration Now() { return signpost::Clock::Real().MonotonicNow(); }

  // Calls run one after another. False: it is `end` before it is this one's turn.
  bool Begin(absl::Duration end) {
    signpost::MutexLock lock(mutex_);
    while (busy_) {
      const absl::Duration left = end - Now();
      if (left <= absl::ZeroDuration()) return false;
      ended_.WaitFor(mutex_, left);
    }
    busy_ = true;
    return true;
  }

  absl::StatusOr<std::string> Call(const std::string& name, absl::Duration timeout) {
    if (ClosedByPeer()) return absl::UnavailableError("the connection is closed");
    try {
      socket_->setSendTimeout(Milliseconds(timeout));
      socket_->setRecvTimeout(Milliseconds(timeout));
      std::string answer;
      client_.greet(answer, name);
      return answer;
    } catch (const TApplicationException& error) {
      return absl::InternalError(absl::StrCat("the provider refuses: ", error.what()));
    } catch (const TTransportException& error) {
      // The answer may come yet, and must not become that of the next call.
      socket_->close();
      if (error.getType() == TTransportException::TIMED_OUT) {
        return absl::DeadlineExceededError(
            absl::StrCat("no answer in ", absl::FormatDuration(timeout)));
      }
      return absl::UnavailableError(absl::StrCat("the connection broke: ", error.what()));
    } catch (const TException& error) {
      socket_->close();
      return absl::UnavailableError(absl::StrCat("no Thrift answer: ", error.what()));
    }
  }

  // Found out before something is sent, so that the call is surely not made twice. Nothing is
  // expected now: whatever is there to be read is the end, or nonsense.
  bool ClosedByPeer() const {
    if (!socket_->isOpen()) return true;
    pollfd idle{socket_->getSocketFD(), POLLIN | POLLRDHUP, 0};
    return poll(&idle, 1, 0) != 0;
  }

  signpost::Mutex mutex_;
  signpost::CondVar ended_;
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;
  // Of the call that runs.
  const std::shared_ptr<TSocket> socket_;
  GreeterClient client_;
};

class ThriftConnector final : public Connector {
 public:
  explicit ThriftConnector(absl::Duration timeout) : timeout_(timeout) {
    for (size_t i = 0; i < kThreads; ++i) {
      threads_.push_back(signpost::NewSerialExecutor("connect"));
    }
  }

  void Connect(const std::string& host, uint16_t port, Done done) override {
    threads_[next_++ % kThreads]->Post(
        [host, port, timeout = timeout_, done = std::move(done)]() mutable {
          std::move(done)(Open(host, port, timeout));
        });
  }

 private:
  static absl::StatusOr<std::shared_ptr<Connection>> Open(const std::string& host, uint16_t port,
                                                          absl::Duration timeout) {
    const auto socket = std::make_shared<TSocket>(host, port);
    socket->setConnTimeout(Milliseconds(timeout));
    try {
      socket->open();
    } catch (const TException& error) {
      return absl::UnavailableError(absl::StrCat("cannot connect: ", error.what()));
    }
    return std::make_shared<ThriftConnection>(socket);
  }

  const absl::Duration timeout_;
  std::vector<std::shared_ptr<signpost::Executor>> threads_;
  std::atomic<size_t> next_ = 0;
};

}  // namespace

std::unique_ptr<Connector> NewThriftConnector(absl::Duration connect_timeout) {
  return std::make_unique<ThriftConnector>(connect_timeout);
}

}  // namespace example

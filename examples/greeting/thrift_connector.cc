#include "signpost/examples/greeting/thrift_connector.h"

#include <poll.h>
#include <thrift/TApplicationException.h>
#include <thrift/transport/TSocket.h>

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
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
    signpost::MutexLock lock(mutex_);
    if (ClosedByPeer()) return absl::UnavailableError("the provider closed the connection");
    try {
      socket_->setSendTimeout(Milliseconds(timeout));
      socket_->setRecvTimeout(Milliseconds(timeout));
      std::string answer;
      client_.greet(answer, name);
      return answer;
    } catch (const TApplicationException& error) {
      return absl::InternalError(absl::StrCat("the provider refuses: ", error.what()));
    } catch (const TTransportException& error) {
      if (error.getType() == TTransportException::TIMED_OUT) {
        return absl::DeadlineExceededError(
            absl::StrCat("no answer in ", absl::FormatDuration(timeout)));
      }
      return absl::UnavailableError(absl::StrCat("the connection broke: ", error.what()));
    } catch (const TException& error) {
      return absl::UnavailableError(absl::StrCat("no Thrift answer: ", error.what()));
    }
  }

 private:
  // Found out before something is sent, so that the call is surely not made twice. Nothing is
  // expected now: whatever is there to be read is the end, or nonsense.
  bool ClosedByPeer() const {
    if (!socket_->isOpen()) return true;
    pollfd idle{socket_->getSocketFD(), POLLIN | POLLRDHUP, 0};
    return poll(&idle, 1, 0) != 0;
  }

  signpost::Mutex mutex_;
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

// Connects when a test says so, and counts the connections that live.
//
// Threads: any.
#ifndef SIGNPOST_TESTS_EXAMPLES_GREETING_FAKE_CONNECTOR_H_
#define SIGNPOST_TESTS_EXAMPLES_GREETING_FAKE_CONNECTOR_H_

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "signpost/common/mutex.h"
#include "signpost/common/url.h"
#include "signpost/examples/greeting/connections.h"

namespace example {

class FakeConnector final : public Connector {
 public:
  // What all its connections answer. Default: their address
  using Speak = std::function<absl::StatusOr<std::string>(const std::string& address)>;

  explicit FakeConnector(Speak greet = [](const std::string& address) { return address; })
      : greet_(std::move(greet)) {}

  void Connect(const std::string& host, uint16_t port, Done done) override {
    const std::string address = signpost::JoinHostPort(host, port);
    bool at_once = false;
    {
      signpost::MutexLock lock(mutex_);
      ++connects_[address];
      at_once = at_once_;
      if (!at_once) pending_.emplace_back(address, std::move(done));
    }
    if (at_once) std::move(done)(Open(address));
  }

  // From now on connects hold at once.
  void AnswerAll() {
    signpost::MutexLock lock(mutex_);
    at_once_ = true;
  }
  // Ends the oldest connect to `address`.
  void Answer(const std::string& address) { Take(address)(Open(address)); }
  void Refuse(const std::string& address) { Take(address)(absl::UnavailableError("refused")); }

  std::vector<std::string> pending() const {
    signpost::MutexLock lock(mutex_);
    std::vector<std::string> addresses;
    for (const auto& [address, done] : pending_) addresses.push_back(address);
    return addresses;
  }
  int connects(const std::string& address) const {
    signpost::MutexLock lock(mutex_);
    const auto found = connects_.find(address);
    return found == connects_.end() ? 0 : found->second;
  }
  int open() const { return *open_; }

 private:
  class FakeConnection final : public Connection {
   public:
    FakeConnection(std::string address, Speak greet, std::shared_ptr<std::atomic<int>> open)
        : address_(std::move(address)), greet_(std::move(greet)), open_(std::move(open)) {
      ++*open_;
    }
    ~FakeConnection() override { --*open_; }
    absl::StatusOr<std::string> Greet(const std::string&, absl::Duration) override {
      return greet_(address_);
    }

   private:
    const std::string address_;
    const Speak greet_;
    const std::shared_ptr<std::atomic<int>> open_;
  };

  std::shared_ptr<Connection> Open(const std::string& address) {
    return std::make_shared<FakeConnection>(address, greet_, open_);
  }
  Done Take(const std::string& address) {
    signpost::MutexLock lock(mutex_);
    for (auto at = pending_.begin(); at != pending_.end(); ++at) {
      if (at->first != address) continue;
      Done done = std::move(at->second);
      pending_.erase(at);
      return done;
    }
    ADD_FAILURE() << "nobody connects to " << address;
    return [](auto) {};
  }

  const Speak greet_;
  const std::shared_ptr<std::atomic<int>> open_ = std::make_shared<std::atomic<int>>(0);
  mutable signpost::Mutex mutex_;
  bool at_once_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<std::pair<std::string, Done>> pending_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int> connects_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace example

#endif  // SIGNPOST_TESTS_EXAMPLES_GREETING_FAKE_CONNECTOR_H_

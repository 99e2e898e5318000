// Real calls over loopback TCP: servers that answer, and callers that pick an address from a
// Directory for each call, a thousand a second. A call fails if nothing can be picked, or the
// picked server does not answer.
//
// Threads: each of its own; methods from one thread at a time. No exception, no assertion.
#ifndef SIGNPOST_TESTS_SUPPORT_CALL_LOAD_H_
#define SIGNPOST_TESTS_SUPPORT_CALL_LOAD_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "signpost/client/directory.h"
#include "signpost/common/mutex.h"

namespace signpost {

// Answers every connection with one byte, until it is stopped.
class AnsweringServer {
 public:
  // On 127.0.0.1 and a free port. Aborts if it cannot listen.
  AnsweringServer();
  ~AnsweringServer() { Stop(); }
  AnsweringServer(const AnsweringServer&) = delete;
  AnsweringServer& operator=(const AnsweringServer&) = delete;

  uint16_t port() const { return port_; }
  std::string address() const;
  int64_t answered() const { return answered_.load(); }
  // Refuses what comes later. Idempotent.
  void Stop();

 private:
  void Run();

  int listener_ = -1;
  int wake_[2] = {-1, -1};
  uint16_t port_ = 0;
  std::atomic<int64_t> answered_{0};
  std::thread thread_;
};

class CallLoad {
 public:
  // Begins at once. `directory` has an address already.
  explicit CallLoad(std::shared_ptr<Directory> directory, int calls_per_second = 1000);
  ~CallLoad() { Stop(); }
  CallLoad(const CallLoad&) = delete;
  CallLoad& operator=(const CallLoad&) = delete;

  // Waits until `count` more calls have ended, at most a minute. False: they have not.
  bool AwaitCalls(int64_t count);
  // Ends the calls. Idempotent.
  void Stop();

  int64_t calls() const;
  int64_t failed() const;
  // Of the first call that failed.
  absl::Status first_failure() const;
  // Since the last call of this, by address and by whether the application level chose it
  // (endpoints of it have a revision).
  struct Seen {
    std::map<std::string, int64_t> by_address;
    int64_t application = 0;
    int64_t interface = 0;
  };
  Seen TakeSeen();

 private:
  void Run(int calls_per_second);
  void Note(const absl::Status& status, const Endpoint& endpoint);

  const std::shared_ptr<Directory> directory_;
  mutable Mutex mutex_;
  CondVar changed_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t calls_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t failed_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status first_failure_ ABSL_GUARDED_BY(mutex_);
  Seen seen_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

}  // namespace signpost

#endif  // SIGNPOST_TESTS_SUPPORT_CALL_LOAD_H_

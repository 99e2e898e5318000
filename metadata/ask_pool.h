// The threads that ask metadata services, so that those who do not answer hide nobody who does.
// Private to this folder and those below.
//
// One queue; a thread is started when a question finds none idle, and ends after some idle time.
// Two rules:
//   A question that has been asked for a quarter of its time gives way when another one waits for
//   its thread, so that each gets its turn.
//   An address that gave way, or was asked for an eighth of its time in vain, is late until it
//   answers well. Late ones, and those that nothing ends while they look up a name, have at most
//   half of the threads and are asked after all others.
//
// Threads: Ask from any thread; callbacks on the executor; Run on a thread of the pool.
// Ownership: a thread owns what it asks. The destructor drops the callbacks that have not been
//   posted, interrupts what runs and waits for it, at most `end_wait`, but not for what cannot be
//   interrupted. Nothing left behind touches the executor, its clock or a callback.
// Errors: besides those of Run: kDeadlineExceeded: the time was over, asked or not; kCancelled: by
//   the token; kResourceExhausted: no thread can be started and there is no other.
#ifndef SIGNPOST_METADATA_ASK_POOL_H_
#define SIGNPOST_METADATA_ASK_POOL_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "signpost/common/call_options.h"
#include "signpost/common/executor.h"
#include "signpost/metadata/metadata_fetcher.h"

namespace signpost::metadata_internal {

class Question {
 public:
  virtual ~Question() = default;
  // Blocks. `timeout`: what is left of its time. Must not throw.
  virtual absl::StatusOr<MetadataInfo> Run(absl::Duration timeout) = 0;
  // From any thread, also before Run: Run ends soon. Does not wait.
  virtual void Interrupt() = 0;
  // False while Run is in what Interrupt does not end (a name look-up), and before Run if it will
  // come to that. From any thread.
  virtual bool interruptible() const { return true; }
};

class AskPool {
 public:
  struct Options {
    size_t max_threads = 16;                     // Default: 16
    size_t max_late = 1024;                      // late addresses that it knows. Default: 1024
    absl::Duration idle = absl::Seconds(10);     // until an idle thread ends. Default: 10 s
    absl::Duration end_wait = absl::Seconds(1);  // of the destructor. Default: 1 s
    // May throw std::system_error. Default: std::thread
    std::function<std::thread(std::function<void()>)> start;
  };

  // `executor` must outlive it.
  AskPool(Executor& executor, Options options);
  ~AskPool();
  AskPool(const AskPool&) = delete;
  AskPool& operator=(const AskPool&) = delete;

  // `address`: whom; stands in errors. `done` is called once, or dropped with the pool.
  void Ask(std::string address, std::shared_ptr<Question> question, const CallOptions& options,
           MetadataFetcher::FetchCallback done);

  // For tests.
  size_t threads() const;
  size_t late() const;

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace signpost::metadata_internal

#endif  // SIGNPOST_METADATA_ASK_POOL_H_

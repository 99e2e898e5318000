// Asks instances, only so many at once, so that a thousand that are dead do not cost a thousand
// connections. Private to this folder, without gRPC.
//
// One that has had a quarter of its time gives way to those that wait. An address that did not
// answer in time is late: late ones have at most half of the places, after those that are not.
//
// Threads: Ask from any thread; all else happens on the executor, where callbacks run.
// Ownership: `executor` must outlive it. Its end cancels all and waits for none: callbacks that
//   have not been posted are dropped, and what a question says later is not heard.
// Errors: those of the questions; kDeadlineExceeded; kCancelled; kResourceExhausted: too many wait.
#ifndef SIGNPOST_METADATA_TRIPLE_QUESTION_QUEUE_H_
#define SIGNPOST_METADATA_TRIPLE_QUESTION_QUEUE_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "signpost/common/call_options.h"
#include "signpost/common/executor.h"
#include "signpost/metadata/metadata_fetcher.h"

namespace signpost::metadata_triple_internal {

class Question {
 public:
  using Done = MetadataFetcher::FetchCallback;

  virtual ~Question() = default;
  // Once, on the executor. `done` is called exactly once, on any thread, perhaps at once.
  virtual void Start(absl::Duration left, Done done) = 0;
  // After Start, perhaps on another thread: `done` should be called soon.
  virtual void Cancel() = 0;
};

class QuestionQueue {
 public:
  struct Options {
    size_t max_open = 32;        // asked at once. Default: 32
    size_t max_waiting = 10000;  // before more are refused. Default: 10,000
    size_t max_late = 4096;      // late addresses that are remembered. Default: 4,096
  };

  QuestionQueue(Executor& executor, Options options);
  ~QuestionQueue();
  QuestionQueue(const QuestionQueue&) = delete;
  QuestionQueue& operator=(const QuestionQueue&) = delete;

  // `address`: whom; stands in errors.
  void Ask(std::string address, std::shared_ptr<Question> question, const CallOptions& options,
           MetadataFetcher::FetchCallback done);

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace signpost::metadata_triple_internal

#endif  // SIGNPOST_METADATA_TRIPLE_QUESTION_QUEUE_H_

// A process that a test starts, reads, signals and ends, by its pid.
//
// Threads: one reader thread of its own; methods by the test's thread.
#ifndef SIGNPOST_TESTS_SUPPORT_CHILD_PROCESS_H_
#define SIGNPOST_TESTS_SUPPORT_CHILD_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "signpost/common/mutex.h"

namespace signpost {

class ChildProcess {
 public:
  // argv[0] is a path from the runfiles root (the test's working directory). Its standard output
  // and error are read; it is killed when the test's process dies.
  explicit ChildProcess(std::vector<std::string> argv);
  ~ChildProcess();  // SIGKILL if it still runs

  // Whether its output so far, or within `timeout`, holds `text`.
  bool WaitForOutput(const std::string& text, absl::Duration timeout);
  std::string output();

  // SIGSTOP: it has stopped when this returns.
  void Signal(int signal);
  // The exit code, -signal if a signal ended it, -1000 if it still runs after `timeout`. output()
  // is whole when it has ended.
  int Wait(absl::Duration timeout);
  pid_t pid() const { return pid_; }

 private:
  void Read(int fd);

  pid_t pid_ = -1;
  bool ended_ = false;
  int result_ = -1000;
  Mutex mutex_;
  CondVar changed_;
  std::string output_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread reader_;
};

}  // namespace signpost

#endif  // SIGNPOST_TESTS_SUPPORT_CHILD_PROCESS_H_

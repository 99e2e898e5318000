#include "tests/support/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace signpost {

ChildProcess::ChildProcess(std::vector<std::string> argv) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) std::abort();
  std::vector<char*> words;
  for (std::string& word : argv) words.push_back(word.data());
  words.push_back(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  // As a pid, -1 is every process.
  if (pid_ < 0) std::abort();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(126);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    dup2(fds[1], STDOUT_FILENO);
    dup2(fds[1], STDERR_FILENO);
    execv(words[0], words.data());
    _exit(127);
  }
  close(fds[1]);
  reader_ = std::thread([this, fd = fds[0]] { Read(fd); });
}

ChildProcess::~ChildProcess() {
  if (!ended_) {
    Signal(SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  reader_.join();
}

void ChildProcess::Read(int fd) {
  char buffer[4096];
  for (;;) {
    const ssize_t got = read(fd, buffer, sizeof(buffer));
    MutexLock lock(mutex_);
    if (got > 0) output_.append(buffer, static_cast<size_t>(got));
    if (got <= 0) closed_ = true;
    changed_.SignalAll();
    if (got <= 0) break;
  }
  close(fd);
}

bool ChildProcess::WaitForOutput(const std::string& text, absl::Duration timeout) {
  const absl::Duration round = absl::Milliseconds(100);
  MutexLock lock(mutex_);
  for (absl::Duration waited; waited < timeout && !closed_; waited += round) {
    if (output_.find(text) != std::string::npos) return true;
    changed_.WaitFor(mutex_, round);
  }
  return output_.find(text) != std::string::npos;
}

std::string ChildProcess::output() {
  MutexLock lock(mutex_);
  return output_;
}

void ChildProcess::Signal(int signal) {
  if (ended_) return;
  kill(pid_, signal);
  if (signal != SIGSTOP) return;
  // It goes on for a moment. Its end, if that comes first, is left to Wait.
  siginfo_t info;
  waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WEXITED | WNOWAIT);
}

int ChildProcess::Wait(absl::Duration timeout) {
  const absl::Duration round = absl::Milliseconds(20);
  for (absl::Duration waited; !ended_ && waited < timeout; waited += round) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      ended_ = true;
      result_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
      // What it wrote may still be on its way; not for ever, as its own children may hold the pipe.
      MutexLock lock(mutex_);
      for (int i = 0; i < 50 && !closed_; ++i) changed_.WaitFor(mutex_, round);
      break;
    }
    MutexLock lock(mutex_);
    changed_.WaitFor(mutex_, round);
  }
  return result_;
}

}  // namespace signpost

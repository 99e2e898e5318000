// A real ZooKeeper server of its own for a test: free port, data in TEST_TMPDIR, and it ends when
// the test's process does.
//
// Threads: the test's thread.
#ifndef SIGNPOST_TESTS_SUPPORT_ZOOKEEPER_SERVER_H_
#define SIGNPOST_TESTS_SUPPORT_ZOOKEEPER_SERVER_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace signpost {

class ZookeeperServer {
 public:
  ZookeeperServer();
  ~ZookeeperServer();  // stops it

  // Starts it, also again after Stop: same port, same data. Returns when it serves.
  absl::Status Start();
  absl::Status Stop();
  // SIGKILL; returns when the process has gone.
  void Kill();
  // Removes all data. REQUIRES: it is stopped.
  void Wipe();
  // SIGSTOP and SIGCONT: connections stay, nothing answers.
  void Suspend();
  void Resume();

  uint16_t port() const { return port_; }
  std::string address() const;

  // The answer to a four-letter word; empty if it does not serve.
  std::string Word(const std::string& word) const;
  // Open sessions, as the server counts them; -1 if it does not serve.
  int Sessions() const;
  // Watches that the server keeps, of all kinds; -1 if it does not serve.
  int Watches() const;
  // The session ("0x...") of the connection that comes from `port` of the loopback; "" if none.
  std::string SessionOf(uint16_t port) const;
  // Whether the server says that `session` has ended, within `timeout`.
  bool WaitForEndOf(const std::string& session, absl::Duration timeout) const;
  // Whether it serves and has at most `count` sessions, within `timeout`.
  bool WaitForSessions(int count, absl::Duration timeout) const;

 private:
  static bool Poll(absl::Duration timeout, const std::function<bool()>& good);
  absl::Status Run(const std::string& script, const std::string& argument);
  pid_t pid() const;

  uint16_t port_ = 0;
  std::string dir_;
};

}  // namespace signpost

#endif  // SIGNPOST_TESTS_SUPPORT_ZOOKEEPER_SERVER_H_

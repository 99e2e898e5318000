#include "tests/support/zookeeper_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tests/support/child_process.h"
#include "tests/support/loopback.h"

namespace signpost {
namespace {

// A line "<key> <number>" of the answer, with a tab or a space between.
int Number(const std::string& answer, absl::string_view key) {
  for (absl::string_view line : absl::StrSplit(answer, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, absl::ByAnyChar("\t "));
    int number = 0;
    if (words.size() == 2 && words[0] == key && absl::SimpleAtoi(words[1], &number)) return number;
  }
  return -1;
}

}  // namespace

ZookeeperServer::ZookeeperServer() {
  static std::atomic<int> count{0};
  const char* root = std::getenv("TEST_TMPDIR");
  dir_ = absl::StrCat(root == nullptr ? "/tmp" : root, "/zookeeper.", getpid(), ".", ++count);
}

ZookeeperServer::~ZookeeperServer() {
  Resume();
  Stop().IgnoreError();
}

absl::Status ZookeeperServer::Run(const std::string& script, const std::string& argument) {
  setenv("OWNER_PID", absl::StrCat(getpid()).c_str(), 1);
  std::vector<std::string> command = {"/bin/bash", absl::StrCat("tests/servers/", script)};
  if (!argument.empty()) command.push_back(argument);
  command.push_back(dir_);
  ChildProcess process(std::move(command));
  const int code = process.Wait(absl::Seconds(60));
  if (code == 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(script, " ended with ", code, ": ", process.output()));
}

absl::Status ZookeeperServer::Start() {
  if (port_ != 0) return Run("zookeeper-start.sh", absl::StrCat(port_));
  // Somebody else may take the port in between.
  absl::Status status;
  for (int i = 0; i < 3; ++i) {
    port_ = FreePort();
    status = Run("zookeeper-start.sh", absl::StrCat(port_));
    if (status.ok()) break;
  }
  return status;
}

absl::Status ZookeeperServer::Stop() { return Run("stop.sh", ""); }

void ZookeeperServer::Kill() {
  const pid_t server = pid();
  if (server <= 0) return;
  kill(server, SIGKILL);
  Poll(absl::Seconds(10), [server] { return kill(server, 0) != 0; });
  // The pid may soon be another process's.
  std::error_code ignored;
  std::filesystem::remove(absl::StrCat(dir_, "/pid"), ignored);
}

void ZookeeperServer::Wipe() { std::filesystem::remove_all(absl::StrCat(dir_, "/data")); }

pid_t ZookeeperServer::pid() const {
  pid_t pid = 0;
  std::ifstream(absl::StrCat(dir_, "/pid")) >> pid;
  return pid;
}

void ZookeeperServer::Suspend() {
  const pid_t server = pid();
  if (server <= 0) return;
  kill(server, SIGSTOP);
  // It goes on for a moment.
  Poll(absl::Seconds(10), [server] {
    std::string word;
    std::ifstream stat(absl::StrCat("/proc/", server, "/stat"));
    stat >> word >> word >> word;  // pid, (name), state
    return word == "T" || !stat;
  });
}

void ZookeeperServer::Resume() {
  if (const pid_t server = pid(); server > 0) kill(server, SIGCONT);
}

std::string ZookeeperServer::address() const { return absl::StrCat("127.0.0.1:", port_); }

std::string ZookeeperServer::Word(const std::string& word) const {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(port_);
  std::string answer;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
      write(fd, word.data(), word.size()) == static_cast<ssize_t>(word.size())) {
    char buffer[4096];
    pollfd wait{fd, POLLIN, 0};
    while (poll(&wait, 1, 5000) > 0) {
      const ssize_t got = read(fd, buffer, sizeof(buffer));
      if (got <= 0) break;
      answer.append(buffer, static_cast<size_t>(got));
    }
  }
  close(fd);
  return answer;
}

int ZookeeperServer::Sessions() const { return Number(Word("mntr"), "zk_global_sessions"); }

int ZookeeperServer::Watches() const { return Number(Word("mntr"), "zk_watch_count"); }

std::string ZookeeperServer::SessionOf(uint16_t port) const {
  // " /127.0.0.1:41234[1](queued=0,recved=9,sent=9,sid=0x1000a,lop=PING,..."
  const std::string from = absl::StrCat("/127.0.0.1:", port, "[");
  for (absl::string_view line : absl::StrSplit(Word("cons"), '\n')) {
    if (!absl::StrContains(line, from)) continue;
    for (absl::string_view field : absl::StrSplit(line, absl::ByAnyChar("(,)"))) {
      if (absl::ConsumePrefix(&field, "sid=") && field != "0x0") return std::string(field);
    }
  }
  return "";
}

bool ZookeeperServer::WaitForEndOf(const std::string& session, absl::Duration timeout) const {
  return Poll(timeout, [&] {
    const std::string sessions = Word("dump");
    if (!absl::StrContains(sessions, "SessionTracker dump")) return false;
    for (absl::string_view word : absl::StrSplit(sessions, absl::ByAnyChar(" \t\r\n"))) {
      if (absl::StripSuffix(word, ":") == session) return false;
    }
    return true;
  });
}

bool ZookeeperServer::WaitForSessions(int count, absl::Duration timeout) const {
  return Poll(timeout, [&] {
    const int now = Sessions();
    return now >= 0 && now <= count;
  });
}

bool ZookeeperServer::Poll(absl::Duration timeout, const std::function<bool()>& good) {
  const absl::Duration round = absl::Milliseconds(100);
  for (absl::Duration waited; waited < timeout; waited += round) {
    if (good()) return true;
    poll(nullptr, 0, static_cast<int>(absl::ToInt64Milliseconds(round)));
  }
  return good();
}

}  // namespace signpost

#include "tests/integration/live_registry.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "signpost/common/clock.h"
#include "tests/support/child_process.h"
#include "tests/support/loopback.h"
#include "tests/support/zookeeper_server.h"

namespace signpost {
namespace {

constexpr absl::Duration kStartTimeout = absl::Seconds(30 * kSlowness);

class Zookeeper final : public LiveRegistry {
 public:
  Zookeeper() : LiveRegistry("zookeeper") {}

  absl::Status Start() override { return server_.Start(); }
  void Kill() override { server_.Kill(); }
  void Wipe() override { server_.Wipe(); }
  uint16_t port() const override { return server_.port(); }
  Usage ClientUsage() override {
    return {{"sessions", server_.Sessions()}, {"watches", server_.Watches()}};
  }

 private:
  ZookeeperServer server_;
};

class SignpostServe final : public LiveRegistry {
 public:
  SignpostServe() : LiveRegistry("signpost") {
    static std::atomic<int> count{0};
    const char* root = std::getenv("TEST_TMPDIR");
    dir_ = absl::StrCat(root == nullptr ? "/tmp" : root, "/serve.", getpid(), ".", ++count);
  }

  absl::Status Start() override {
    if (port_ != 0) return StartAt(port_);
    // Somebody else may take the port in between.
    absl::Status status;
    for (int i = 0; i < 3; ++i) {
      status = StartAt(FreePort());
      if (status.ok()) break;
    }
    return status;
  }

  void Kill() override {
    process_->Signal(SIGKILL);
    process_->Wait(kStartTimeout);
  }

  void Wipe() override { std::filesystem::remove_all(dir_); }
  uint16_t port() const override { return port_; }
  // It has a descriptor and a thread for each connection.
  Usage ClientUsage() override { return UsageOf(process_->pid()); }

 private:
  absl::Status StartAt(uint16_t port) {
    process_ = std::make_unique<ChildProcess>(std::vector<std::string>{
        "tools/signpost", "serve", absl::StrCat("--listen=127.0.0.1:", port), "--dir=" + dir_});
    if (!process_->WaitForOutput(absl::StrCat("listening on 127.0.0.1:", port, "\n"),
                                 kStartTimeout)) {
      return absl::UnavailableError(process_->output());
    }
    port_ = port;
    return absl::OkStatus();
  }

  std::string dir_;
  uint16_t port_ = 0;
  std::unique_ptr<ChildProcess> process_;
};

int Entries(const std::string& dir) {
  int count = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator it(dir, error), end; !error && it != end;
       it.increment(error)) {
    ++count;
  }
  return count;
}

}  // namespace

Usage UsageOf(pid_t process) {
  const std::string proc = absl::StrCat("/proc/", process);
  return {{"threads", Entries(proc + "/task")}, {"descriptors", Entries(proc + "/fd")}};
}

bool Poll(absl::Duration timeout, const std::function<bool()>& good) {
  const absl::Duration end = Clock::Real().MonotonicNow() + timeout;
  while (!good()) {
    if (Clock::Real().MonotonicNow() > end) return false;
    poll(nullptr, 0, 20);
  }
  return true;
}

std::unique_ptr<LiveRegistry> LiveRegistry::Make(const std::string& kind) {
  if (kind == "zookeeper") return std::make_unique<Zookeeper>();
  return std::make_unique<SignpostServe>();
}

std::string LiveRegistry::Url(absl::Duration session, uint16_t port) const {
  return absl::StrCat(scheme_, "://127.0.0.1:", port == 0 ? this->port() : port,
                      "?session=", absl::ToInt64Milliseconds(session));
}

}  // namespace signpost

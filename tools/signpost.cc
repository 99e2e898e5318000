// The `signpost` command.
#include <signal.h>
#include <time.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "signpost/client/plugins/builtins.h"
#include "signpost/common/log.h"
#include "signpost/tools/cli/arguments.h"
#include "signpost/tools/cli/commands.h"
#include "signpost/tools/cli/output.h"

namespace {

// The log as it is, on stderr.
class StderrSink final : public signpost::LogSink {
 public:
  void Write(signpost::LogLevel, absl::string_view text) override {
    std::cerr << std::string(text) + "\n";
  }
};

class NullSink final : public signpost::LogSink {
 public:
  void Write(signpost::LogLevel, absl::string_view) override {}
};

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

bool WaitForStop(absl::Duration at_most) {
  const sigset_t signals = StopSignals();
  if (at_most == absl::InfiniteDuration()) {
    int signal = 0;
    while (sigwait(&signals, &signal) != 0) {
    }
    return true;
  }
  const timespec timeout = absl::ToTimespec(at_most);
  return sigtimedwait(&signals, nullptr, &timeout) > 0;
}

}  // namespace

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);

  auto arguments = signpost::cli::ParseArguments(std::vector<std::string>(argv + 1, argv + argc));
  if (!arguments.ok()) return signpost::cli::Fail(std::cerr, "usage", arguments.status());
  if (arguments->command == "watch" || arguments->command == "provide" ||
      arguments->command == "serve") {
    // Before any thread starts, so that all inherit it and only WaitForStop takes them.
    const sigset_t signals = StopSignals();
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  }
  if (arguments->verbose) {
    signpost::SetLogThreshold(signpost::LogLevel::kDebug);
    signpost::SetLogSink(std::make_shared<StderrSink>());
  } else if (arguments->command == "provide" || arguments->command == "serve") {
    // They run for long, and what goes wrong meanwhile is nobody's answer.
    signpost::SetLogThreshold(signpost::LogLevel::kWarning);
    signpost::SetLogSink(std::make_shared<StderrSink>());
  } else {
    signpost::SetLogSink(std::make_shared<NullSink>());
  }
  signpost::RegistryFactories registries("registry");
  if (absl::Status status = signpost::AddBuiltinRegistries(registries); !status.ok()) {
    return signpost::cli::Fail(std::cerr, "registries", status);
  }
  signpost::cli::Invocation call{*arguments, registries,  std::cout,
                                 std::cerr,  WaitForStop, signpost::BuiltinMetadataProtocols()};
  return signpost::cli::RunCommand(call);
}

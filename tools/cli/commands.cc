#include "signpost/tools/cli/commands.h"

#include <gflags/gflags.h>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "signpost/tools/cli/output.h"

namespace signpost::cli {
namespace {

constexpr char kEverywhere[] =
    "Everywhere: --registry=URL (else SIGNPOST_REGISTRY, else Dubbo's names in environment and "
    "file, else\n"
    "signpost://127.0.0.1:2280 if it answers, else the embedded registry of this user), "
    "--timeout=5s,\n"
    "--json, --verbose. Exit code: 0 done, 1 not found or a check failed, 2 wrong usage, 3 "
    "registry "
    "unreachable.\n";

std::string Usage(const Command& command) {
  return absl::StrCat("signpost ", command.name, command.arguments.empty() ? "" : " ",
                      command.arguments);
}

// A flag that would do nothing is refused: who gives it thinks that it does something.
absl::Status CheckFlags(const Command& command, const std::vector<std::string>& given) {
  static const auto* const everywhere = new std::vector<std::string>{
      "--registry", "--metadata-report", "--config-center", "--timeout", "--json", "--verbose"};
  for (const std::string& flag : given) {
    if (absl::c_linear_search(*everywhere, flag)) continue;
    if (absl::c_linear_search(command.flags, flag)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        flag, ": this command does not use it (see `signpost help ", command.name, "`)"));
  }
  return absl::OkStatus();
}

void DescribeFlag(std::ostream& out, const std::string& flag) {
  gflags::CommandLineFlagInfo info;
  const std::string name = absl::StrReplaceAll(flag.substr(2), {{"-", "_"}});
  if (gflags::GetCommandLineFlagInfo(name.c_str(), &info)) {
    out << "  " << flag << "  " << info.description;
    if (!info.default_value.empty()) out << " (default: " << info.default_value << ")";
  } else {
    out << "  " << flag << "  may be repeated";
  }
  out << '\n';
}

}  // namespace

const std::vector<Command>& Commands() {
  static const auto* const commands = new std::vector<Command>{
      {"apps",
       "",
       "applications with their instances, revisions and services",
       {},
       "signpost apps",
       0,
       0,
       Apps},
      {"instances",
       "APP",
       "the instances of an application",
       {},
       "signpost instances shop",
       1,
       1,
       Instances},
      {"services",
       "[APP]",
       "services with their applications, number of addresses and level",
       {},
       "signpost services --json",
       0,
       1,
       Services},
      {"mapping",
       "INTERFACE",
       "the applications that provide an interface",
       {},
       "signpost mapping org.example.Greeter",
       1,
       1,
       Mapping},
      {"metadata",
       "APP [REVISION]",
       "what an application's revisions export",
       {},
       "signpost metadata shop",
       1,
       2,
       Metadata},
      {"resolve",
       "SERVICE",
       "the addresses that a consumer of SERVICE gets now",
       {"--app", "--protocol", "--level", "--provided-by", "--no-cache"},
       "signpost resolve g1/org.example.Greeter:1.0.0 --protocol=tri",
       1,
       1,
       Resolve},
      {"watch",
       "SERVICE",
       "the same at every change, until interrupted",
       {"--app", "--protocol", "--level", "--provided-by", "--for"},
       "signpost watch org.example.Greeter --for=10s --json",
       1,
       1,
       Watch},
      {"diff-metadata",
       "APP REV1 REV2",
       "what changed between two revisions",
       {},
       "signpost diff-metadata shop 6fa8bb21969a0773 a7100d51e8c66248",
       3,
       3,
       DiffMetadata},
      {"provide",
       "--app=A --service=KEY --address=[PROTOCOL://]HOST:PORT",
       "registers a process that knows nothing of Signpost, until SIGTERM",
       {"--app", "--service", "--address", "--protocol", "--param", "--metadata",
        "--metadata-service-protocol", "--metadata-service-port", "--register-mode", "--check"},
       "signpost provide --app=shop --service=org.example.Greeter --address=192.0.2.1:50051",
       0,
       0,
       Provide},
      {"serve",
       "",
       "the registry server of this machine, for several processes, until SIGTERM",
       {"--listen", "--dir"},
       "signpost serve --listen=127.0.0.1:2280",
       0,
       0,
       Serve},
      {"help",
       "[COMMAND]",
       "this text, or the one of a command",
       {},
       "signpost help resolve",
       0,
       1,
       Help},
  };
  return *commands;
}

int Help(Invocation& call) {
  const auto& positional = call.arguments.positional;
  if (!positional.empty() && !positional[0].empty()) {
    for (const Command& command : Commands()) {
      if (command.name != positional[0]) continue;
      call.out << Usage(command) << "\n\n" << command.purpose << '\n';
      if (!command.flags.empty()) call.out << '\n';
      for (const std::string& flag : command.flags) DescribeFlag(call.out, flag);
      call.out << "\nExample: " << command.example << "\n\n" << kEverywhere;
      return kDone;
    }
    return Fail(call.err, positional[0],
                absl::InvalidArgumentError("no such command (see `signpost help`)"));
  }
  call.out << "signpost <command> [arguments] [--flags]\n\n";
  Table table({"command", "does"});
  for (const Command& command : Commands()) table.Add({Usage(command).substr(9), command.purpose});
  table.Print(call.out);
  call.out << '\n' << kEverywhere;
  return kDone;
}

int RunCommand(Invocation& call) {
  const Arguments& arguments = call.arguments;
  if (arguments.command.empty()) {
    return Fail(call.err, "usage", absl::InvalidArgumentError("no command (see `signpost help`)"));
  }
  for (const Command& command : Commands()) {
    if (command.name != arguments.command) continue;
    const size_t given = arguments.positional.size();
    if (command.name != "help" &&
        (given < command.min_positional || given > command.max_positional)) {
      return Fail(call.err, command.name,
                  absl::InvalidArgumentError(absl::StrCat("usage: ", Usage(command))));
    }
    absl::Status flags = CheckFlags(command, arguments.flags);
    if (command.name != "help" && !flags.ok()) return Fail(call.err, command.name, flags);
    return command.run(call);
  }
  return Fail(call.err, arguments.command,
              absl::InvalidArgumentError("no such command (see `signpost help`)"));
}

}  // namespace signpost::cli

// The command line of `signpost` as a plain value: sub-command, positional arguments, flags.
//
// Flags are gflags'; this pre-pass takes the sub-command and the flags that may be repeated, so
// that a fault is one line and exit code 2 instead of gflags' own exit.
#ifndef SIGNPOST_TOOLS_CLI_ARGUMENTS_H_
#define SIGNPOST_TOOLS_CLI_ARGUMENTS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace signpost::cli {

struct Arguments {
  std::string command;
  std::vector<std::string> positional;
  std::vector<std::string> flags;  // that were given, as `--register-mode`

  // Flag, else SIGNPOST_REGISTRY, else empty: Dubbo's names (client/options.h), else
  // DefaultRegistry().
  std::string registry;
  absl::Duration timeout = absl::Seconds(5);
  bool json = false;
  bool verbose = false;

  std::string protocol;
  std::string level;
  std::string provided_by;
  absl::Duration watch_for = absl::InfiniteDuration();

  std::string app;
  std::vector<std::string> services;
  std::vector<std::string> addresses;
  std::string metadata;
  std::vector<std::string> metadata_service_protocols;
  uint16_t metadata_service_port = 0;
  std::string register_mode;
  std::string check;
  std::vector<std::pair<std::string, std::string>> params;

  std::string listen;
  std::string dir;  // never empty: flag, else StateDirectory()
};

// `words`: argv without the program's name. kInvalidArgument names the word that is wrong.
absl::StatusOr<Arguments> ParseArguments(const std::vector<std::string>& words);

// The user's state directory + `/signpost`.
std::string StateDirectory();

// `server` if a registry server answers there (asks it, for a moment at most), else `embedded://` +
// StateDirectory().
std::string DefaultRegistry(const std::string& server = "signpost://127.0.0.1:2280");

}  // namespace signpost::cli

#endif  // SIGNPOST_TOOLS_CLI_ARGUMENTS_H_

// ClientOptions from the environment and a file, under Dubbo's names. docs/options.md lists them.
//
// Precedence, for each option by itself: what the program set > environment > file > default. A
// field counts as set by the program when it differs from its default: text that is not empty, a
// label whose key is there, a field of `migration` that has a value, also the default one. Options
// of the registry that stand in a URL (`group`, `timeout`, user,
// ...) belong to where that URL comes from. User and password of a source that names a registry of
// its own are never used for the registry of another source.
//
// Client::Create itself reads neither: a program that wants them calls LoadOptions.
//
// Threads: any, but reading the process's environment while it is being changed is a race, as it
// always is.
// Errors: kInvalidArgument names the place (variable, or file, line and key; YAML: file and key)
// and the fault, never a secret. kNotFound and such for a file that is named and cannot be read.
// Keys that are not known are left alone, and values that another source overrides are not checked.
#ifndef SIGNPOST_CLIENT_OPTIONS_H_
#define SIGNPOST_CLIENT_OPTIONS_H_

#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "signpost/client/client.h"

namespace signpost {

struct OptionSources {
  // Names with values. Default: the environment of this process
  std::optional<std::map<std::string, std::string>> environment;
  // `.yaml`, `.yml`, else properties; at most 1 MiB. Default: what the environment's
  // SIGNPOST_CONFIG names, else DUBBO_PROPERTIES_FILE, else none
  std::string file;
};

absl::StatusOr<ClientOptions> LoadOptions(ClientOptions program,
                                          const OptionSources& sources = OptionSources());

}  // namespace signpost

#endif  // SIGNPOST_CLIENT_OPTIONS_H_

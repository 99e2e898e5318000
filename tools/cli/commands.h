// The sub-commands of `signpost`. Each prints its answer to `out`, faults to `err`, and gives the
// exit code.
#ifndef SIGNPOST_TOOLS_CLI_COMMANDS_H_
#define SIGNPOST_TOOLS_CLI_COMMANDS_H_

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "signpost/client/client.h"
#include "signpost/registry/registry_factory.h"
#include "signpost/tools/cli/arguments.h"

namespace signpost::cli {

struct Invocation {
  const Arguments& arguments;
  const RegistryFactories& registries;
  std::ostream& out;
  std::ostream& err;
  // Waits for SIGINT or SIGTERM, at most this long; true when one came.
  std::function<bool(absl::Duration)> wait_for_stop;
  // How instances are asked for their metadata, and answer.
  std::vector<MetadataProtocol> metadata_protocols;
};

struct Command {
  std::string name;
  std::string arguments;  // as in the usage line
  std::string purpose;
  std::vector<std::string> flags;  // names, as `--flag`
  std::string example;
  size_t min_positional = 0;
  size_t max_positional = 0;
  std::function<int(Invocation&)> run;
};

const std::vector<Command>& Commands();

int Apps(Invocation& call);
int Instances(Invocation& call);
int Services(Invocation& call);
int Mapping(Invocation& call);
int Metadata(Invocation& call);
int DiffMetadata(Invocation& call);
int Resolve(Invocation& call);
int Watch(Invocation& call);
int Provide(Invocation& call);
int Serve(Invocation& call);
int Help(Invocation& call);

// Finds the command, checks the number of arguments and that it uses all flags given, runs it.
int RunCommand(Invocation& call);

}  // namespace signpost::cli

#endif  // SIGNPOST_TOOLS_CLI_COMMANDS_H_

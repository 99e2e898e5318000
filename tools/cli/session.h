// One connection of the command to a registry, with blocking forms of what the commands ask.
#ifndef SIGNPOST_TOOLS_CLI_SESSION_H_
#define SIGNPOST_TOOLS_CLI_SESSION_H_

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "signpost/client/client.h"
#include "signpost/common/call_options.h"
#include "signpost/common/url.h"
#include "signpost/metadata/metadata_resolver.h"
#include "signpost/registry/service_discovery.h"
#include "signpost/tools/cli/commands.h"

namespace signpost::cli {

// Client::Create, whose faults become what exit codes stand for: an unknown scheme is wrong usage,
// a centre that is not there is unreachable.
absl::StatusOr<std::unique_ptr<Client>> OpenClient(ClientOptions options,
                                                   const RegistryFactories& registries);

// `program` completed from environment and file (client/options.h), the registry by `arguments`.
// kInvalidArgument for whatever is wrong there.
// `err` hears which registry is used where nobody names one and no server runs.
absl::StatusOr<ClientOptions> CompleteOptions(ClientOptions program, const Arguments& arguments,
                                              std::ostream& err);

// `registry` with `key=value` in place of what its URLs say of levels.
absl::StatusOr<std::string> WithLevels(const std::string& registry, const std::string& key,
                                       const std::string& value);

struct InterfaceProviders {
  std::vector<Url> urls;
  // What could not be read, and why; empty: all of it was.
  std::vector<std::string> notes;
};

class Session {
 public:
  // Who looks: no application, so that answers do not depend on it; or the one that --app, else
  // environment or file name (there may be none), with what rules say of it.
  enum class As { kNobody, kApplication };
  // Read-only: nothing is ever written. By --level, else by what the registry's URL says.
  static absl::StatusOr<std::unique_ptr<Session>> Open(const Invocation& call, As as = As::kNobody);
  ~Session();

  absl::StatusOr<std::vector<std::string>> ListApps();
  absl::StatusOr<std::shared_ptr<const InstanceList>> ListInstances(const std::string& app);
  absl::StatusOr<MappingText> GetMapping(const std::string& interface_name);
  absl::StatusOr<std::vector<std::string>> ListMappings();
  absl::StatusOr<ResolvedMetadata> ResolveMetadata(const std::string& app,
                                                   const std::string& revision,
                                                   const std::vector<InstancePtr>& instances);
  // A document that perhaps no instance uses any more.
  absl::StatusOr<MetadataInfo> ReadDocument(const std::string& app, const std::string& revision);

  // Providers of all interfaces, as the interface level has them. A folder that cannot be read
  // becomes a note, at the latest when the timeout ends.
  InterfaceProviders ListProviders();

  Client& client() { return *client_; }
  // That the registry option names; the methods above look at the first.
  size_t centres() const { return centres_; }
  // application, interface or dual: where consumers look.
  const std::string& level() const { return level_; }

 private:
  Session(std::unique_ptr<Client> client, const std::vector<MetadataProtocol>& protocols,
          absl::Duration timeout);
  CallOptions Options() const;
  // By their folders.
  absl::StatusOr<std::vector<std::string>> ListInterfaces();

  std::unique_ptr<Client> client_;
  std::string level_;
  size_t centres_ = 1;
  absl::Duration timeout_;
  std::unique_ptr<MetadataResolver> resolver_;
};

// The instances of a list by revision; those that export nothing ("0" or no revision) are left out.
std::map<std::string, std::vector<InstancePtr>> ByRevision(const InstanceList& list);

}  // namespace signpost::cli

#endif  // SIGNPOST_TOOLS_CLI_SESSION_H_

// serve: the registry server of this machine.
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/url.h"
#include "signpost/registry/embedded/embedded_store.h"
#include "signpost/registry/server/registry_server.h"
#include "signpost/tools/cli/commands.h"
#include "signpost/tools/cli/output.h"

namespace signpost::cli {
namespace {

bool IsLoopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.rfind("127.", 0) == 0;
}

}  // namespace

int Serve(Invocation& call) {
  const Arguments& arguments = call.arguments;
  const auto address = SplitHostPort(arguments.listen);
  // Port 0 is any that is free, if it is written.
  const bool written =
      address.has_value() && (address->second != 0 || absl::EndsWith(arguments.listen, ":0"));
  if (!written) {
    return Fail(
        call.err, "serve",
        absl::InvalidArgumentError(absl::StrCat("--listen=", arguments.listen, ": not HOST:PORT")));
  }
  RegistryServerOptions options;
  options.host = UnbracketHost(address->first);
  options.port = address->second;
  auto centre = EmbeddedCentre(arguments.dir, /*read_only=*/false, LeftBehind::kKept);
  if (!centre.ok()) return Fail(call.err, "serve", centre.status());
  auto server = RegistryServer::Start(*std::move(centre), options);
  if (!server.ok()) return Fail(call.err, "serve", server.status());
  if (!IsLoopback(options.host)) {
    PrintLine(call.err, absl::StrCat("signpost: ", (*server)->address(),
                                     ": there is no login; whoever reaches this port may read and "
                                     "write"));
  }
  call.out << "listening on " << (*server)->address() << '\n' << std::flush;
  call.wait_for_stop(absl::InfiniteDuration());
  (*server)->Stop();
  return kDone;
}

}  // namespace signpost::cli

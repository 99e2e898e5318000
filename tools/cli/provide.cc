// provide: registers a process that knows nothing of Signpost.
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "signpost/client/address.h"
#include "signpost/client/client.h"
#include "signpost/client/registry_plan.h"
#include "signpost/common/call_options.h"
#include "signpost/common/log.h"
#include "signpost/common/service_key.h"
#include "signpost/common/url.h"
#include "signpost/tools/cli/commands.h"
#include "signpost/tools/cli/output.h"
#include "signpost/tools/cli/session.h"

namespace signpost::cli {
namespace {

constexpr absl::Duration kCheckPeriod = absl::Seconds(1);

absl::Status CheckArguments(const Arguments& arguments) {
  if (arguments.services.empty()) {
    return absl::InvalidArgumentError("--service=[group/]interface[:version] is needed");
  }
  if (arguments.addresses.empty()) {
    return absl::InvalidArgumentError("--address=[PROTOCOL://]HOST:PORT is needed");
  }
  if (!arguments.metadata.empty() && arguments.metadata != "remote" &&
      arguments.metadata != "local") {
    return absl::InvalidArgumentError(
        absl::StrCat("--metadata=", arguments.metadata, ": remote or local"));
  }
  const std::string& mode = arguments.register_mode;
  if (!mode.empty() && mode != "instance" && mode != "interface" && mode != "all") {
    return absl::InvalidArgumentError(
        absl::StrCat("--register-mode=", mode, ": instance, interface or all"));
  }
  if (!arguments.check.empty() && arguments.check != "tcp") {
    return absl::InvalidArgumentError(absl::StrCat("--check=", arguments.check, ": only tcp"));
  }
  return absl::OkStatus();
}

// One address as --address says it: protocol, host and port; the rest is the service's.
absl::StatusOr<Url::Parts> ParseAddress(const Arguments& arguments, const std::string& text) {
  Url::Parts parts;
  parts.protocol = arguments.protocol.empty() ? "tri" : arguments.protocol;
  std::string host_port = text;
  if (const size_t colon = text.find("://"); colon != std::string::npos) {
    parts.protocol = text.substr(0, colon);
    host_port = text.substr(colon + 3);
  }
  const bool port_alone = absl::StartsWith(host_port, ":");
  const auto address = SplitHostPort(port_alone ? absl::StrCat("[::]", host_port) : host_port);
  if (!address || address->second == 0 || address->first.empty() || parts.protocol.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--address=", text,
                     ": not [PROTOCOL://]HOST:PORT or [PROTOCOL://]:PORT with a port above 0"));
  }
  parts.host = BracketHost(address->first);
  parts.port = address->second;
  return parts;
}

// Each service at each address.
absl::StatusOr<std::vector<Url>> ExportedUrls(const Arguments& arguments) {
  std::vector<Url> urls;
  for (const std::string& address : arguments.addresses) {
    auto at = ParseAddress(arguments, address);
    if (!at.ok()) return at.status();
    for (const std::string& service : arguments.services) {
      auto key = ServiceKey::Parse(service);
      if (!key.ok()) return key.status();
      Url::Parts parts = *at;
      parts.path = key->interface_name;
      for (const auto& [name, value] : arguments.params) parts.parameters[name] = value;
      parts.parameters["interface"] = key->interface_name;
      if (!key->group.empty()) parts.parameters["group"] = key->group;
      if (!key->version.empty()) parts.parameters["version"] = key->version;
      urls.emplace_back(std::move(parts));
    }
  }
  return urls;
}

// At application level an instance's document has one address for each service and protocol.
absl::Status CheckOneAddress(const Arguments& arguments, const std::string& registry) {
  auto plans = PlanRegistries(registry);
  if (!plans.ok()) return plans.status();
  if (absl::c_none_of(*plans, [](const auto& plan) { return plan.provider.application; })) {
    return absl::OkStatus();
  }
  std::map<std::string, std::pair<std::string, std::string>> first;  // by protocol: place and text
  for (const std::string& text : arguments.addresses) {
    auto at = ParseAddress(arguments, text);
    if (!at.ok()) return at.status();
    const std::string place = JoinHostPort(at->host, at->port);
    const auto [known, is_new] = first.emplace(at->protocol, std::make_pair(place, text));
    if (is_new || known->second.first == place) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--address=", known->second.second, " and --address=", text,
                     ": both of protocol ", at->protocol,
                     ", and the application level tells one address of a service and protocol; "
                     "only with --register-mode=interface there may be several"));
  }
  return absl::OkStatus();
}

// Whether something accepts a connection there within a second.
bool Answers(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(UnbracketHost(host).c_str(), absl::StrCat(port).c_str(), &hints, &found) != 0) {
    return false;
  }
  bool answers = false;
  for (addrinfo* at = found; at != nullptr && !answers; at = at->ai_next) {
    const int fd = socket(at->ai_family, at->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) continue;
    if (connect(fd, at->ai_addr, at->ai_addrlen) == 0) {
      answers = true;
    } else {
      pollfd waiting{fd, POLLOUT, 0};
      int error = 0;
      socklen_t length = sizeof(error);
      answers = poll(&waiting, 1, 1000) == 1 &&
                getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0;
    }
    close(fd);
  }
  freeaddrinfo(found);
  return answers;
}

// Where a process answers that is at `address`, as --address says, and registered as `registered`.
bool AnswersAt(const Url& address, const Url& registered) {
  if (!IsWildcardHost(address.host())) return Answers(address.host(), address.port());
  // Bound to all, or perhaps to one.
  for (const char* loopback : {"127.0.0.1", "::1"}) {
    if (Answers(loopback, address.port())) return true;
  }
  return Answers(registered.host(), address.port());
}

// Registered while all addresses answer.
void HoldWithCheck(Invocation& call, Provider& provider, const std::vector<Url>& urls) {
  // Of each address the first service.
  const std::vector<Url> exported = provider.exported();
  std::vector<std::pair<Url, Url>> addresses;
  for (size_t i = 0; i < std::min(urls.size(), exported.size());
       i += call.arguments.services.size()) {
    addresses.emplace_back(urls[i], exported[i]);
  }
  bool wanted = true;  // what the provider was told last
  bool done = true;    // and whether that holds
  CallOptions options;
  options.timeout = call.arguments.timeout;
  while (!call.wait_for_stop(kCheckPeriod)) {
    const bool answers =
        absl::c_all_of(addresses, [](const auto& at) { return AnswersAt(at.first, at.second); });
    if (answers == wanted && done) continue;
    wanted = answers;
    const absl::Status status = wanted ? provider.Online(options) : provider.Offline(options);
    done = status.ok();
    for (const auto& [address, registered] : addresses) {
      if (done) {
        call.out << (wanted ? "online " : "offline ") << registered.address() << '\n' << std::flush;
      } else {
        call.err << "signpost: " << registered.address() << ": " << OneLine(status.message())
                 << " (will be tried again)\n";
      }
    }
  }
}

}  // namespace

int Provide(Invocation& call) {
  const Arguments& arguments = call.arguments;
  if (absl::Status status = CheckArguments(arguments); !status.ok()) {
    return Fail(call.err, "provide", status);
  }
  auto urls = ExportedUrls(arguments);
  if (!urls.ok()) return Fail(call.err, "provide", urls.status());

  ClientOptions program;
  program.app = arguments.app;
  program.metadata = arguments.metadata;
  program.metadata_service.protocols = arguments.metadata_service_protocols;
  program.metadata_service.port = arguments.metadata_service_port;
  program.metadata_protocols = call.metadata_protocols;
  auto options = CompleteOptions(std::move(program), arguments, call.err);
  if (!options.ok()) return Fail(call.err, "options", options.status());
  if (options->metadata != "local" &&
      (!arguments.metadata_service_protocols.empty() || arguments.metadata_service_port != 0)) {
    return Fail(call.err, "provide",
                absl::InvalidArgumentError(
                    "--metadata-service-protocol, --metadata-service-port: only with "
                    "--metadata=local"));
  }
  if (options->app.empty()) {
    return Fail(call.err, "provide",
                absl::InvalidArgumentError("--app=NAME is needed (or DUBBO_APPLICATION_NAME)"));
  }
  if (!arguments.register_mode.empty()) {
    auto registry = WithLevels(options->registry, "register-mode", arguments.register_mode);
    if (!registry.ok()) return Fail(call.err, "registry", registry.status());
    options->registry = *std::move(registry);
  }
  if (absl::Status one = CheckOneAddress(arguments, options->registry); !one.ok()) {
    return Fail(call.err, "provide", one);
  }
  auto client = OpenClient(*std::move(options), call.registries);
  if (!client.ok()) return Fail(call.err, "registry", client.status());
  Provider& provider = (*client)->provider();
  for (const Url& url : *urls) {
    if (absl::Status status = provider.Export(url); !status.ok()) {
      return Fail(call.err, "provide", status);
    }
  }
  if (absl::Status status = (*client)->Start(arguments.timeout); !status.ok()) {
    return Fail(call.err, "provide", status);
  }
  for (const std::string& path : provider.registered().paths) {
    call.out << "registered " << path << '\n';
  }
  call.out << std::flush;
  if (arguments.check == "tcp") {
    HoldWithCheck(call, provider, *urls);
  } else {
    call.wait_for_stop(absl::InfiniteDuration());
  }
  (*client)->Shutdown(absl::ZeroDuration());
  return kDone;
}

}  // namespace signpost::cli

#include "signpost/tools/cli/arguments.h"

#include <gflags/gflags.h>

#include <cstdlib>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "signpost/common/url.h"
#include "signpost/registry/server/server_store.h"

DEFINE_string(registry, "", "registry URL, e.g. zookeeper://127.0.0.1:2181");
DEFINE_string(metadata_report, "", "URL of the metadata centre if it is not the registry");
DEFINE_string(config_center, "", "URL of the config centre if it is not the registry");
DEFINE_string(timeout, "5s", "how long the command may wait for the registry");
DEFINE_bool(json, false, "one JSON document on stdout");
DEFINE_bool(verbose, false, "adds the log on stderr");
DEFINE_string(protocol, "", "only this protocol (provide: tri by default)");
DEFINE_string(level, "",
              "application, interface or dual; else as a consumer of the registry's URL");
DEFINE_string(provided_by, "", "applications that provide the service; no mapping is read");
DEFINE_bool(no_cache, false, "never answer from the disk cache");
DEFINE_string(for, "", "ends after this time, e.g. 10s");
DEFINE_string(app, "",
              "application name; resolve, watch: whose rules hold. Else dubbo.application.name");
DEFINE_string(
    address, "",
    "[PROTOCOL://]HOST:PORT that is registered; :PORT or 0.0.0.0:PORT: an address of this "
    "machine. May be repeated");
DEFINE_string(metadata, "", "remote or local; else dubbo.application.metadata-type, else remote");
DEFINE_string(
    metadata_service_protocol, "",
    "of --metadata=local: dubbo, tri, thrift (C++ consumers only: dubbo-go's end at it) or several "
    "of them, the first one is the one that others ask by; else "
    "dubbo.application.metadata-service-protocol, else dubbo");
DEFINE_int32(metadata_service_port, 0,
             "of --metadata=local: the port of the first protocol; else "
             "dubbo.application.metadata-service-port, else a free one");
DEFINE_string(register_mode, "",
              "levels to register at: instance, interface or all; else as the registry's URL says");
DEFINE_string(check, "", "tcp: off while the port does not answer");
DEFINE_string(listen, "127.0.0.1:2280", "HOST:PORT; port 0: a free one");
DEFINE_string(dir, "", "directory of the store (default: the embedded registry of this user)");

namespace signpost::cli {
namespace {

constexpr absl::Duration kProbeTimeout = absl::Milliseconds(500);

bool IsBool(const gflags::CommandLineFlagInfo& flag) { return flag.type == "bool"; }

absl::Status Invalid(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(what, " (see `signpost help`)"));
}

absl::StatusOr<absl::Duration> ParseTime(absl::string_view flag, const std::string& text) {
  absl::Duration value;
  if (!absl::ParseDuration(text, &value) || value <= absl::ZeroDuration()) {
    return Invalid(absl::StrCat("--", flag, "=", text, ": not a time such as 5s or 500ms"));
  }
  return value;
}

// Flags keep their values for the life of the process; a second parse starts from the defaults.
void ResetFlags() {
  std::vector<gflags::CommandLineFlagInfo> all;
  gflags::GetAllFlags(&all);
  for (const auto& flag : all) {
    if (flag.filename == __FILE__) {
      gflags::SetCommandLineOption(flag.name.c_str(), flag.default_value.c_str());
    }
  }
}

bool FindFlag(const std::string& name, gflags::CommandLineFlagInfo* flag) {
  return gflags::GetCommandLineFlagInfo(absl::StrReplaceAll(name, {{"-", "_"}}).c_str(), flag) &&
         flag->filename == __FILE__;
}

class Parser {
 public:
  explicit Parser(const std::vector<std::string>& words) : words_(words) {}

  absl::StatusOr<Arguments> Run() {
    ResetFlags();
    bool only_positional = false;
    for (at_ = 0; at_ < words_.size(); ++at_) {
      const std::string& word = words_[at_];
      if (!only_positional && word == "-h") {
        result_.positional.insert(result_.positional.begin(), result_.command);
        result_.command = "help";
        continue;
      }
      if (!only_positional && absl::StartsWith(word, "-") && !absl::StartsWith(word, "--")) {
        // Its value may be a registry's URL with a password.
        return Invalid(absl::StrCat(word.substr(0, word.find('=')), ": flags start with --"));
      }
      if (only_positional || !absl::StartsWith(word, "--")) {
        if (result_.command.empty() && !only_positional) {
          result_.command = word;
        } else {
          result_.positional.push_back(word);
        }
      } else if (word == "--") {
        only_positional = true;
      } else if (absl::Status status = Flag(word.substr(2)); !status.ok()) {
        return status;
      }
    }
    return Finish();
  }

 private:
  absl::StatusOr<std::string> Value(const std::string& name, const std::string* given) {
    if (given != nullptr) return *given;
    if (at_ + 1 >= words_.size()) return Invalid(absl::StrCat("--", name, " needs a value"));
    return words_[++at_];
  }

  absl::Status Flag(const std::string& text) {
    const size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    std::string after;
    const std::string* given = nullptr;
    if (equals != std::string::npos) {
      after = text.substr(equals + 1);
      given = &after;
    }
    if (name == "param" || name == "service" || name == "address") {
      auto value = Value(name, given);
      if (!value.ok()) return value.status();
      Note(name);
      return Repeatable(name, *value);
    }
    if (name == "help") {
      result_.positional.insert(result_.positional.begin(), result_.command);
      result_.command = "help";
      return absl::OkStatus();
    }
    gflags::CommandLineFlagInfo flag;
    if (!FindFlag(name, &flag)) {
      if (absl::StartsWith(name, "no") && given == nullptr && FindFlag(name.substr(2), &flag) &&
          IsBool(flag)) {
        Note(flag.name);
        gflags::SetCommandLineOption(flag.name.c_str(), "false");
        return absl::OkStatus();
      }
      return Invalid(absl::StrCat("unknown flag --", name));
    }
    Note(flag.name);
    std::string value;
    if (IsBool(flag) && given == nullptr) {
      value = "true";
    } else {
      auto found = Value(name, given);
      if (!found.ok()) return found.status();
      value = *found;
    }
    if (gflags::SetCommandLineOption(flag.name.c_str(), value.c_str()).empty()) {
      return Invalid(absl::StrCat("--", name, " does not take this value"));
    }
    return absl::OkStatus();
  }

  void Note(const std::string& name) {
    result_.flags.push_back(absl::StrCat("--", absl::StrReplaceAll(name, {{"_", "-"}})));
  }

  absl::Status Repeatable(const std::string& name, const std::string& value) {
    if (name == "service") {
      result_.services.push_back(value);
      return absl::OkStatus();
    }
    if (name == "address") {
      result_.addresses.push_back(value);
      return absl::OkStatus();
    }
    const size_t equals = value.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Invalid(absl::StrCat("--param ", value, ": not key=value"));
    }
    result_.params.emplace_back(value.substr(0, equals), value.substr(equals + 1));
    return absl::OkStatus();
  }

  absl::StatusOr<Arguments> Finish() {
    result_.registry = FLAGS_registry;
    if (result_.registry.empty()) {
      const char* environment = std::getenv("SIGNPOST_REGISTRY");
      if (environment != nullptr) result_.registry = environment;
    }
    if (!FLAGS_metadata_report.empty() && FLAGS_metadata_report != result_.registry) {
      return Invalid("--metadata-report: another centre than the registry is not supported yet");
    }
    if (!FLAGS_config_center.empty() && FLAGS_config_center != result_.registry) {
      return Invalid("--config-center: another centre than the registry is not supported yet");
    }
    auto timeout = ParseTime("timeout", FLAGS_timeout);
    if (!timeout.ok()) return timeout.status();
    result_.timeout = *timeout;
    if (!FLAGS_for.empty()) {
      auto watch_for = ParseTime("for", FLAGS_for);
      if (!watch_for.ok()) return watch_for.status();
      result_.watch_for = *watch_for;
    }
    result_.json = FLAGS_json;
    result_.verbose = FLAGS_verbose;
    result_.protocol = FLAGS_protocol;
    result_.level = FLAGS_level;
    result_.provided_by = FLAGS_provided_by;
    result_.app = FLAGS_app;
    result_.metadata = FLAGS_metadata;
    result_.metadata_service_protocols =
        absl::StrSplit(FLAGS_metadata_service_protocol, absl::ByAnyChar(", "), absl::SkipEmpty());
    if (FLAGS_metadata_service_port < 0 || FLAGS_metadata_service_port > 65535) {
      return Invalid(absl::StrCat("--metadata-service-port=", FLAGS_metadata_service_port,
                                  ": not a port from 1 to 65535"));
    }
    result_.metadata_service_port = static_cast<uint16_t>(FLAGS_metadata_service_port);
    result_.register_mode = FLAGS_register_mode;
    result_.check = FLAGS_check;
    result_.listen = FLAGS_listen;
    result_.dir = FLAGS_dir.empty() ? StateDirectory() : FLAGS_dir;
    return result_;
  }

  const std::vector<std::string>& words_;
  size_t at_ = 0;
  Arguments result_;
};

}  // namespace

absl::StatusOr<Arguments> ParseArguments(const std::vector<std::string>& words) {
  return Parser(words).Run();
}

std::string StateDirectory() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && state[0] == '/') return absl::StrCat(state, "/signpost");
  const char* home = std::getenv("HOME");
  const std::string base = home != nullptr && home[0] == '/' ? home : "/tmp";
  return absl::StrCat(base, "/.local/state/signpost");
}

std::string DefaultRegistry(const std::string& server) {
  const auto url = Url::Parse(server);
  if (url.ok() && ProbeRegistryServer(*url, kProbeTimeout).ok()) return server;
  return absl::StrCat("embedded://", StateDirectory());
}

}  // namespace signpost::cli

#include "signpost/client/options.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "signpost/client/option_file.h"
#include "signpost/client/registry_plan.h"
#include "signpost/common/service_instance.h"
#include "signpost/common/status.h"
#include "signpost/common/url.h"
#include "signpost/registry/migration/migration_rule.h"

namespace signpost {
namespace {

using Environment = std::map<std::string, std::string>;

constexpr char kParameters[] = "dubbo.registry.parameters.";
constexpr char kIpSuffix[] = "DUBBO_IP_TO_REGISTRY";
constexpr char kPortSuffix[] = "DUBBO_PORT_TO_REGISTRY";

// Dubbo's keys that are read besides `dubbo.registry.parameters.*`.
constexpr const char* kKeys[] = {
    "dubbo.application.name",
    "dubbo.application.environment",
    "dubbo.application.metadata-type",
    "dubbo.application.metadata-service-protocol",
    "dubbo.application.metadata-service-host",
    "dubbo.application.metadata-service-port",
    "dubbo.application.register-mode",
    "dubbo.application.migration.step",
    "dubbo.application.migration.threshold",
    "dubbo.application.service-discovery.migration",
    "dubbo.labels",
    "dubbo.registry.address",
    "dubbo.registry.protocol",
    "dubbo.registry.username",
    "dubbo.registry.password",
    "dubbo.registry.group",
    "dubbo.registry.timeout",
    "dubbo.registry.session",
    "dubbo.registry.register-mode",
    "dubbo.protocol.host",
    "dubbo.network.interface.preferred",
    "dubbo.network.interface.ignored",
    "dubbo.consumer.loadbalance",
};

// Parameters of the registry's URL and the keys that set them, the first one before the next.
const std::vector<std::pair<std::string, std::vector<std::string>>>& UrlParameters() {
  static const auto* const all = new std::vector<std::pair<std::string, std::vector<std::string>>>{
      {"group", {"dubbo.registry.group"}},
      {"timeout", {"dubbo.registry.timeout"}},
      {"session", {"dubbo.registry.session"}},
      {"register-mode", {"dubbo.registry.register-mode", "dubbo.application.register-mode"}},
  };
  return *all;
}

struct Setting {
  std::string value;
  std::string where;
  // Why the value is of no use: an error of those who choose it, for it may be overridden.
  absl::Status fault;

  bool absent() const { return value.empty() && fault.ok(); }
};

// One source: settings by Dubbo's key.
using Level = std::map<std::string, Setting>;

absl::Status Bad(const Setting& setting, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(setting.where, ": ", why));
}

// Spelling does not count: `registerMode`, `register-mode`, `register_mode`.
std::string Canonical(absl::string_view key) {
  return absl::StrReplaceAll(absl::AsciiStrToLower(key), {{"-", ""}, {"_", ""}});
}

// The name in kKeys, or kParameters with what follows it as written; "" for what is not known.
std::string KnownKey(absl::string_view key) {
  static const auto* const known = [] {
    auto* names = new std::map<std::string, std::string>;
    for (const char* name : kKeys) (*names)[Canonical(name)] = name;
    return names;
  }();
  const auto found = known->find(Canonical(key));
  if (found != known->end()) return found->second;
  constexpr size_t kLength = sizeof(kParameters) - 1;
  if (key.size() > kLength && Canonical(key.substr(0, kLength)) == kParameters) {
    const std::string name(key.substr(kLength));
    // Guarded like the key of their own.
    if (name == "username" || name == "password") return absl::StrCat("dubbo.registry.", name);
    return absl::StrCat(kParameters, name);
  }
  return "";
}

Environment ProcessEnvironment() {
  Environment all;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const absl::string_view entry = *at;
    const size_t equals = entry.find('=');
    if (equals == absl::string_view::npos || equals == 0) continue;
    all.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return all;
}

absl::string_view Get(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? absl::string_view() : absl::string_view(found->second);
}

// What every value has in common; `value` becomes what is used.
Setting Tidy(const std::string& key, Setting setting) {
  // Blanks may be part of a password.
  if (key != "dubbo.registry.password") {
    setting.value = std::string(absl::StripAsciiWhitespace(setting.value));
  }
  const size_t open = setting.value.find("${");
  if (open != std::string::npos && setting.value.find('}', open) != std::string::npos) {
    setting.fault = Bad(setting, "placeholders `${...}` are not supported");
  } else if (!IsValidUtf8(setting.value)) {
    setting.fault = Bad(setting, "not UTF-8");
  }
  return setting;
}

Level EnvironmentLevel(const Environment& environment) {
  Level level;
  for (const std::string key : kKeys) {
    std::vector<std::string> names = {
        key, absl::AsciiStrToUpper(absl::StrReplaceAll(key, {{".", "_"}, {"-", "_"}}))};
    if (key == "dubbo.protocol.host") names.insert(names.begin(), "DUBBO_IP_TO_BIND");
    for (const std::string& name : names) {
      Setting setting =
          Tidy(key, {std::string(Get(environment, name)), absl::StrCat("environment ", name), {}});
      if (setting.absent()) continue;
      level[key] = std::move(setting);
      break;
    }
  }
  return level;
}

absl::StatusOr<Level> FileLevel(const std::string& path) {
  Level level;
  if (path.empty()) return level;
  absl::StatusOr<std::vector<FileOption>> options = ReadOptionFile(path);
  if (!options.ok()) return options.status();
  for (FileOption& option : *options) {
    const std::string key = KnownKey(option.key);
    if (key.empty()) continue;
    Setting setting = Tidy(key, {std::move(option.value), std::move(option.where), {}});
    if (!option.is_text) setting.fault = Bad(setting, "not a text");
    level[key] = std::move(setting);
  }
  return level;
}

class Loader {
 public:
  Loader(Level environment, Level file) : levels_{{}, std::move(environment), std::move(file)} {}

  absl::Status Load(const Environment& environment, ClientOptions& options) {
    absl::Status status = Application(options);
    if (status.ok()) status = Metadata(options.metadata);
    if (status.ok()) status = Served(options.metadata_service);
    if (status.ok()) status = Labels(options.labels);
    if (status.ok()) status = Registry(options.registry);
    if (status.ok()) status = Address(options.address);
    if (status.ok()) status = Advertised(environment, options.address);
    if (status.ok()) status = TextUnlessSet("dubbo.consumer.loadbalance", options.balancer);
    if (status.ok()) status = Migration(options.migration);
    return status;
  }

 private:
  // The program's own settings are level 0 and stand in the options themselves.
  static constexpr size_t kLevels = 3;

  const Setting* At(size_t level, const std::string& key) const {
    const auto found = levels_[level].find(key);
    return found == levels_[level].end() || found->second.absent() ? nullptr : &found->second;
  }

  const Setting* Find(const std::string& key) const {
    for (size_t level = 1; level < kLevels; ++level) {
      if (const Setting* setting = At(level, key)) return setting;
    }
    return nullptr;
  }

  absl::Status Application(ClientOptions& options) const {
    const Setting* name = Find("dubbo.application.name");
    if (!options.app.empty() || name == nullptr) return absl::OkStatus();
    if (!name->fault.ok()) return name->fault;
    if (!ValidateAppName(name->value).ok()) return Bad(*name, "not an application name");
    options.app = name->value;
    return absl::OkStatus();
  }

  absl::Status Metadata(std::string& metadata) const {
    const Setting* type = Find("dubbo.application.metadata-type");
    if (!metadata.empty() || type == nullptr) return absl::OkStatus();
    if (!type->fault.ok()) return type->fault;
    metadata = type->value;
    if (metadata == "remote" || metadata == "local") return absl::OkStatus();
    return Bad(*type, "neither remote nor local");
  }

  absl::Status Served(MetadataServiceOptions& service) const {
    std::string names = absl::StrJoin(service.protocols, ",");
    absl::Status status = TextUnlessSet("dubbo.application.metadata-service-protocol", names);
    service.protocols = absl::StrSplit(names, absl::ByAnyChar(", "), absl::SkipEmpty());
    status.Update(TextUnlessSet("dubbo.application.metadata-service-host", service.host));
    const Setting* at = Find("dubbo.application.metadata-service-port");
    if (!status.ok() || service.port != 0 || at == nullptr) return status;
    return at->fault.ok() ? Port(*at, service.port) : at->fault;
  }

  static absl::Status Port(const Setting& setting, uint16_t& port) {
    uint32_t number = 0;
    if (!absl::SimpleAtoi(setting.value, &number) || number == 0 || number > 65535) {
      return Bad(setting, "not a port from 1 to 65535");
    }
    port = static_cast<uint16_t>(number);
    return absl::OkStatus();
  }

  absl::Status TextUnlessSet(const char* key, std::string& value) const {
    const Setting* setting = Find(key);
    if (!value.empty() || setting == nullptr) return absl::OkStatus();
    value = setting->value;
    return setting->fault;
  }

  absl::Status Labels(std::map<std::string, std::string>& labels) const {
    const Setting* stage = Find("dubbo.application.environment");
    if (stage != nullptr && labels.try_emplace("environment", stage->value).second) {
      if (!stage->fault.ok()) return stage->fault;
    }
    for (size_t level = 1; level < kLevels; ++level) {
      const Setting* setting = At(level, "dubbo.labels");
      if (setting == nullptr) continue;
      if (!setting->fault.ok()) return setting->fault;
      for (absl::string_view pair : absl::StrSplit(setting->value, ';')) {
        pair = absl::StripAsciiWhitespace(pair);
        if (pair.empty()) continue;
        const size_t equals = pair.find('=');
        if (equals == absl::string_view::npos || equals == 0) {
          return Bad(*setting, "not a list `key=value;key=value`");
        }
        if (absl::StartsWith(pair, "dubbo.")) return Bad(*setting, "`dubbo.` keys are no labels");
        labels.try_emplace(std::string(pair.substr(0, equals)), pair.substr(equals + 1));
      }
    }
    return absl::OkStatus();
  }

  // Completes the URL of the first level that has one.
  absl::Status Registry(std::string& registry) const {
    size_t home = 0;
    Setting address{registry, "registry URL", {}};
    while (address.absent()) {
      if (++home == kLevels) return absl::OkStatus();
      if (const Setting* setting = At(home, "dubbo.registry.address")) address = *setting;
    }
    if (!address.fault.ok()) return address.fault;
    if (home > 0 && !absl::StrContains(address.value, "://")) {
      const Setting* protocol = Find("dubbo.registry.protocol");
      if (protocol == nullptr) {
        return Bad(address, "no `scheme://`, and dubbo.registry.protocol is not set");
      }
      if (!protocol->fault.ok()) return protocol->fault;
      if (!IsScheme(protocol->value)) return Bad(*protocol, "no scheme such as `zookeeper`");
      address.value = absl::StrCat(protocol->value, "://", address.value);
    }
    const auto texts = SplitRegistries(address.value);
    std::vector<std::string> urls;
    if (!texts.ok()) return Annotate(texts.status(), address.where);
    for (absl::string_view text : *texts) {
      absl::StatusOr<Url> url = Url::Parse(text);
      if (!url.ok()) return Annotate(url.status(), address.where);
      const Url plain = *url;
      if (absl::Status status = Parameters(home, *url); !status.ok()) return status;
      if (absl::Status status = Credentials(home, *url); !status.ok()) return status;
      // Untouched it stays as it was written.
      urls.push_back(*url == plain ? std::string(text) : url->ToFullString());
    }
    registry = absl::StrJoin(urls, "|");
    return absl::OkStatus();
  }

  absl::Status Migration(MigrationFields& migration) const {
    const Setting* step = Find("dubbo.application.migration.step");
    if (step == nullptr) step = Find("dubbo.application.service-discovery.migration");
    if (step != nullptr && !migration.step.has_value()) {
      if (!step->fault.ok()) return step->fault;
      absl::StatusOr<MigrationStep> parsed = ParseMigrationStep(step->value);
      if (!parsed.ok()) return Bad(*step, parsed.status().message());
      migration.step = *parsed;
    }
    const Setting* threshold = Find("dubbo.application.migration.threshold");
    if (threshold != nullptr && !migration.threshold.has_value()) {
      if (!threshold->fault.ok()) return threshold->fault;
      double value = 0;
      if (!absl::SimpleAtod(threshold->value, &value) || !(value >= 0) || std::isinf(value)) {
        return Bad(*threshold, "not a number from 0 on");
      }
      migration.threshold = value;
    }
    return absl::OkStatus();
  }

  absl::Status Parameters(size_t home, Url& url) const {
    std::map<std::string, std::vector<std::string>> keys(UrlParameters().begin(),
                                                         UrlParameters().end());
    for (const Level& level : levels_) {
      for (const auto& [key, setting] : level) {
        absl::string_view name = key;
        if (absl::ConsumePrefix(&name, kParameters)) keys[std::string(name)];
      }
    }
    for (auto& [name, names] : keys) names.push_back(absl::StrCat(kParameters, name));
    for (const auto& [name, names] : keys) {
      const Setting* setting = Pick(home, url.Get(name).empty(), names);
      if (setting == nullptr) continue;
      absl::Status status = setting->fault;
      if (status.ok()) status = CheckParameter(name, *setting);
      if (!status.ok()) return status;
      Url changed = url.With(name, setting->value);
      // Parameters are written without escapes, so some values would become others.
      const absl::StatusOr<Url> again = Url::Parse(changed.ToFullString());
      if (!again.ok() || *again != changed) {
        return Bad(*setting, "holds characters that cannot stand in a URL's parameter");
      }
      url = std::move(changed);
    }
    return absl::OkStatus();
  }

  // The first of `keys` on the levels before the URL's own (`home`); on that one and those behind
  // it only if the URL itself does not say.
  const Setting* Pick(size_t home, bool absent, const std::vector<std::string>& keys) const {
    for (size_t level = 1; level < kLevels; ++level) {
      if (level >= home && !absent) return nullptr;
      for (const std::string& key : keys) {
        if (const Setting* setting = At(level, key)) return setting;
      }
    }
    return nullptr;
  }

  static absl::Status CheckParameter(const std::string& name, const Setting& setting) {
    if (name == "timeout" || name == "session") {
      int32_t milliseconds = 0;
      if (!absl::SimpleAtoi(setting.value, &milliseconds) || milliseconds <= 0) {
        return Bad(setting, "not a whole number of milliseconds above 0");
      }
    }
    if (name == "register-mode" && setting.value != "all" && setting.value != "instance" &&
        setting.value != "interface") {
      return Bad(setting, "none of all, instance, interface");
    }
    return absl::OkStatus();
  }

  absl::Status Credentials(size_t home, Url& url) const {
    // A folder asks for none, and a user without a host is no URL.
    if (url.host().empty()) return absl::OkStatus();
    struct Pair {
      Setting user;
      Setting password;
    };
    std::vector<Pair> pairs;
    const auto of_url = [&pairs](absl::string_view user, absl::string_view password) {
      pairs.push_back({{std::string(user), "", {}}, {std::string(password), "", {}}});
    };
    for (size_t level = 0; level < kLevels; ++level) {
      if (level == home) {
        of_url(url.username(), url.password());
        of_url(url.Get("username"), url.Get("password"));
      }
      // Those of another registry stay there.
      if (level > home && At(level, "dubbo.registry.address") != nullptr) continue;
      const Setting* user = At(level, "dubbo.registry.username");
      const Setting* password = At(level, "dubbo.registry.password");
      pairs.push_back(
          {user != nullptr ? *user : Setting(), password != nullptr ? *password : Setting()});
    }
    Pair chosen;
    for (const Pair& pair : pairs) {
      if (chosen.user.absent()) chosen.user = pair.user;
    }
    if (!chosen.user.fault.ok()) return chosen.user.fault;
    for (const Pair& pair : pairs) {
      const bool fits = pair.user.absent() || pair.user.value == chosen.user.value;
      if (chosen.password.absent() && fits) chosen.password = pair.password;
    }
    if (!chosen.password.fault.ok()) return chosen.password.fault;
    Url::Parts parts = url.parts();
    parts.username = std::move(chosen.user.value);
    parts.password = std::move(chosen.password.value);
    url = Url(std::move(parts));
    return absl::OkStatus();
  }

  absl::Status Address(AddressOptions& address) const {
    const Setting* host = Find("dubbo.protocol.host");
    if (IsWildcardHost(address.host) && host != nullptr) {
      if (!host->fault.ok()) return host->fault;
      if (IsUsableHost(host->value)) {
        address.host = host->value;
      } else if (!IsWildcardHost(host->value)) {
        return Bad(*host, "neither an IP address nor a host name");
      }
    }
    auto status = Interfaces("dubbo.network.interface.preferred", address.preferred_interfaces);
    status.Update(Interfaces("dubbo.network.interface.ignored", address.ignored_interfaces));
    return status;
  }

  absl::Status Interfaces(const std::string& key, std::string& list) const {
    const Setting* setting = Find(key);
    if (!list.empty() || setting == nullptr) return absl::OkStatus();
    if (!setting->fault.ok()) return setting->fault;
    if (absl::Status status = CheckInterfacePatterns(setting->value); !status.ok()) {
      return Annotate(status, setting->where);
    }
    list = setting->value;
    return absl::OkStatus();
  }

  // Only in the environment, as in Dubbo: `DUBBO_IP_TO_REGISTRY`, `TRI_DUBBO_IP_TO_REGISTRY`.
  static absl::Status Advertised(const Environment& environment, AddressOptions& address) {
    const AdvertisedAddress program = address.advertised;
    for (const auto& [name, text] : environment) {
      absl::string_view protocol = name;
      const bool is_ip = absl::ConsumeSuffix(&protocol, kIpSuffix);
      if (!is_ip && !absl::ConsumeSuffix(&protocol, kPortSuffix)) continue;
      if (!protocol.empty() && !absl::ConsumeSuffix(&protocol, "_")) continue;
      // What the program says of all protocols is more than what the environment says of one.
      if (is_ip ? !program.host.empty() : program.port != 0) continue;
      const Setting setting = Tidy(name, {text, absl::StrCat("environment ", name), {}});
      if (setting.absent()) continue;
      const std::string own = absl::AsciiStrToLower(protocol);
      AdvertisedAddress& advertised =
          own.empty() ? address.advertised : address.advertised_by_protocol[own];
      if (is_ip ? !advertised.host.empty() : advertised.port != 0) continue;
      if (!setting.fault.ok()) return setting.fault;
      if (is_ip) {
        if (!IsUsableHost(setting.value)) {
          return Bad(setting, "no IP address or host name that consumers could call");
        }
        advertised.host = setting.value;
      } else {
        if (auto status = Port(setting, advertised.port); !status.ok()) return status;
      }
    }
    return absl::OkStatus();
  }

  const Level levels_[kLevels];
};

}  // namespace

absl::StatusOr<ClientOptions> LoadOptions(ClientOptions program, const OptionSources& sources) {
  const Environment environment =
      sources.environment.has_value() ? *sources.environment : ProcessEnvironment();
  std::string file = sources.file;
  for (const char* name : {"SIGNPOST_CONFIG", "DUBBO_PROPERTIES_FILE"}) {
    if (file.empty()) file = std::string(Get(environment, name));
  }
  absl::StatusOr<Level> from_file = FileLevel(file);
  if (!from_file.ok()) return from_file.status();
  Loader loader(EnvironmentLevel(environment), *std::move(from_file));
  absl::Status status = loader.Load(environment, program);
  if (!status.ok()) return status;
  return program;
}

}  // namespace signpost

#include "signpost/router/configurator/configurator.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "signpost/common/address_pattern.h"
#include "signpost/common/service_key.h"
#include "signpost/common/status.h"
#include "signpost/router/configurator/configurator_item.h"

namespace signpost {
namespace configurator_internal {
namespace {

// Never put onto a URL.
bool IsOwnWord(absl::string_view key) {
  static const auto& words = *new absl::flat_hash_set<absl::string_view>{
      // Of the rule itself.
      "anyhost", "category", "check", "compatible_config", "configVersion", "dynamic", "enabled",
      "interfaces", "priority", "providerAddresses",
      // Which service it is.
      "application", "group", "interface", "side", "version",
      // What Java takes away for safety: scripts, rules, files.
      "accesslog.fixed.path", "router", "rule", "runtime", "type"};
  return words.contains(key);
}

// DefaultProviderFirstParams.
bool IsProviderFirst(absl::string_view key) {
  static constexpr std::array<absl::string_view, 5> kKeys = {"release", "dubbo", "methods",
                                                             "timestamp", "dubbo.tag"};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

bool IsAnyHost(absl::string_view host) { return host == "0.0.0.0" || host == "*"; }

bool MatchesHost(absl::string_view pattern, absl::string_view host) {
  return IsAnyHost(pattern) || MatchesAddressPattern(pattern, host, 0);
}

bool IsAnyOf(const std::vector<std::string>& wanted, absl::string_view text) {
  return std::any_of(wanted.begin(), wanted.end(),
                     [&](const std::string& one) { return one == "*" || one == text; });
}

}  // namespace

absl::Status ParseSide(absl::string_view text, absl::string_view where, Item& item) {
  if (text == "provider") {
    item.side = Item::Side::kProvider;
  } else if (text == "consumer") {
    item.side = Item::Side::kConsumer;
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": neither provider nor consumer: ", Quoted(text)));
  }
  return absl::OkStatus();
}

absl::Status SetParameters(const Url::Parameters& parameters, absl::string_view where, Item& item) {
  for (const auto& [key, value] : parameters) {
    if (key == "priority") {
      if (value.empty() || absl::SimpleAtoi(value, &item.priority)) continue;
      return absl::InvalidArgumentError(absl::StrCat(where, "priority: not a number"));
    }
    if (absl::StartsWith(key, "~")) {
      item.conditions[key.substr(1)] = value;
    } else if (!IsOwnWord(key)) {
      item.parameters[key] = value;
    }
  }
  return absl::OkStatus();
}

std::string UnreadableValues(const Url::Parameters& parameters) {
  Url::Parts parts;
  parts.parameters = parameters;
  const Url url(std::move(parts));
  std::vector<std::string> faults;
  const auto check = [&](absl::string_view key, bool good, absl::string_view what) {
    if (!good) faults.push_back(absl::StrCat(key, "=", Quoted(url.Get(key)), " is ", what));
  };
  for (const char* key : {"disabled", "enabled"}) {
    check(key, url.GetBool(key, false).ok(), "neither true nor false");
  }
  check("weight", url.GetInt("weight", 0).ok(), "not a whole number");
  return absl::StrJoin(faults, ", ");
}

std::string HostOf(absl::string_view address) {
  if (absl::StartsWith(address, "[")) {
    const size_t close = address.find(']');
    return std::string(close == absl::string_view::npos ? address : address.substr(0, close + 1));
  }
  const size_t colon = address.find(':');
  if (colon == absl::string_view::npos) return std::string(address);
  if (address.rfind(':') != colon) return BracketHost(address);  // IPv6
  return std::string(address.substr(0, colon));
}

uint16_t PortOf(absl::string_view address) {
  const auto parts = SplitHostPort(address);
  return parts ? parts->second : 0;
}

Application::Application(const Url& original, const ConfiguratorTarget& target)
    : original_(original),
      target_(target),
      service_(ServiceKey::Of(original).ToString()),
      provider_application_(target.side == ConfiguratorTarget::Side::kProvider ? target.application
                            : target.provider_application.empty()
                                ? std::string(original.Get("application"))
                                : target.provider_application) {}

std::optional<absl::string_view> Application::Find(absl::string_view key, bool as_provider) const {
  if (key == "side") return as_provider ? "provider" : "consumer";
  if (key == "application") return as_provider ? provider_application_ : target_.application;
  const auto in = [&](const Url::Parameters& map) -> std::optional<absl::string_view> {
    const auto it = map.find(std::string(key));
    if (it == map.end()) return std::nullopt;
    return it->second;
  };
  if (auto value = in(changes_)) return value;
  if (!as_provider && !IsProviderFirst(key)) {
    if (auto value = in(target_.parameters)) return value;
  }
  return in(original_.parameters());
}

bool Application::Applies(const Configurator& configurator) const {
  const Item& item = *configurator.item_;
  const bool on_provider = target_.side == ConfiguratorTarget::Side::kProvider;
  if (item.side == Item::Side::kConsumer && on_provider) return false;
  if (item.side == Item::Side::kProvider && !on_provider && !target_.provider_rules) return false;
  const bool as_provider = on_provider || item.side == Item::Side::kProvider;

  const std::string& host = as_provider ? original_.host() : target_.host;
  if (item.legacy) {
    const uint16_t port = PortOf(configurator.address_);
    if (port != 0) {
      // One provider, on either side.
      if (port != original_.port() || !MatchesHost(configurator.host_, original_.host())) {
        return false;
      }
    } else if (as_provider ? !IsAnyHost(configurator.host_)
                           : !MatchesHost(configurator.host_, host)) {
      // Without port it is a consumer's host.
      return false;
    }
  } else {
    if (!MatchesHost(configurator.host_, host)) return false;
    // A provider's rule means its own addresses, unless it says others.
    if (item.side == Item::Side::kProvider && item.provider_addresses.empty() &&
        !IsAnyHost(configurator.address_) &&
        !MatchesAddressPattern(configurator.address_, original_.host(), original_.port())) {
      return false;
    }
  }
  if (!item.provider_addresses.empty() &&
      std::none_of(item.provider_addresses.begin(), item.provider_addresses.end(),
                   [&](const std::string& pattern) {
                     return MatchesAddressPattern(pattern, original_.host(), original_.port());
                   })) {
    return false;
  }
  const std::string& app = as_provider ? provider_application_ : target_.application;
  if (!item.scope_application.empty() && item.scope_application != "*" &&
      item.scope_application != app) {
    return false;
  }
  if (!item.applications.empty() && !IsAnyOf(item.applications, app)) return false;
  if (!IsAnyOf(item.services, service_)) return false;
  for (const auto& [key, wanted] : item.conditions) {
    if (wanted != "*" && Find(key, as_provider) != absl::string_view(wanted)) return false;
  }
  MatchInput input;
  input.host = host;
  input.provider_host = original_.host();
  input.provider_port = original_.port();
  input.service = service_;
  input.app = app;
  input.parameter = [&](absl::string_view key) { return Find(key, as_provider); };
  return item.match.Matches(input);
}

void Application::Put(const Configurator& configurator) {
  if (!configurator.active() || !Applies(configurator)) return;
  const Item& item = *configurator.item_;
  const bool as_provider =
      target_.side == ConfiguratorTarget::Side::kProvider || item.side == Item::Side::kProvider;
  for (const auto& [key, value] : item.parameters) {
    if (item.only_absent && Find(key, as_provider)) continue;
    changes_[key] = value;
  }
}

Url Application::Result() const {
  if (changes_.empty()) return original_;
  Url::Parts parts = original_.parts();
  for (const auto& [key, value] : changes_) parts.parameters[key] = value;
  return Url(std::move(parts));
}

}  // namespace configurator_internal

namespace {

using configurator_internal::Item;

// `key=value,key=value`, secrets hidden: a Url knows how.
std::string Describe(absl::string_view protocol, const std::string& host, const std::string& path,
                     Url::Parameters parameters) {
  Url::Parts parts;
  parts.protocol = std::string(protocol);
  parts.host = host;
  parts.path = path;
  parts.parameters = std::move(parameters);
  return Url(std::move(parts)).ToString();
}

}  // namespace

ConfiguratorTarget ConfiguratorTarget::OfConsumer(const Url& consumer) {
  ConfiguratorTarget target;
  target.side = Side::kConsumer;
  target.application = std::string(consumer.Get("application"));
  target.host = consumer.host();
  target.parameters = consumer.parameters();
  return target;
}

ConfiguratorTarget ConfiguratorTarget::OfProvider(const Url& provider) {
  ConfiguratorTarget target;
  target.side = Side::kProvider;
  target.application = std::string(provider.Get("application"));
  return target;
}

Configurator::Configurator(std::shared_ptr<const Item> item, std::string address)
    : item_(std::move(item)),
      address_(std::move(address)),
      host_(configurator_internal::HostOf(address_)) {}

absl::StatusOr<Configurator> Configurator::FromUrl(const Url& url) {
  // Without user info and parameters.
  const std::string where = absl::StrCat(url.protocol(), "://", url.address(), "/", url.path());
  const auto fault = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(where, ": ", what));
  };
  if (url.protocol() != "override" && url.protocol() != "absent") {
    return fault("neither override:// nor absent://");
  }
  if (url.host().empty()) return fault("no host");
  const ServiceKey service = ServiceKey::Of(url);
  if (service.interface_name.empty()) return fault("no service");
  const absl::StatusOr<bool> enabled = url.GetBool("enabled", true);
  if (!enabled.ok()) return Annotate(enabled.status(), where);

  auto item = std::make_shared<Item>();
  item->enabled = *enabled;
  item->only_absent = url.protocol() == "absent";
  item->legacy = url.Get("configVersion").empty();
  if (!item->legacy || url.Has("side")) {
    const absl::string_view side = url.Get("side");
    if (!item->legacy || (side != "*" && !side.empty())) {
      if (absl::Status status = configurator_internal::ParseSide(side, "parameter side", *item);
          !status.ok()) {
        return Annotate(status, where);
      }
    }
  }
  for (absl::string_view address : absl::StrSplit(url.Get("providerAddresses"), ',')) {
    address = absl::StripAsciiWhitespace(address);
    if (!address.empty()) item->provider_addresses.emplace_back(address);
  }
  // Old tools wrote the application as user name.
  const absl::string_view app = url.Get("application", url.username());
  if (!app.empty()) item->applications.emplace_back(app);
  item->services.push_back(service.ToString());
  if (absl::Status status =
          configurator_internal::SetParameters(url.parameters(), "parameter ", *item);
      !status.ok()) {
    return Annotate(status, where);
  }
  return Configurator(std::move(item), url.address());
}

bool Configurator::active() const { return item_->enabled && !item_->parameters.empty(); }

int32_t Configurator::priority() const { return item_->priority; }

const Url::Parameters& Configurator::parameters() const { return item_->parameters; }

std::string Configurator::ToString() const {
  return Describe(item_->only_absent ? "absent" : "override", address_,
                  absl::StrJoin(item_->services, ","), item_->parameters);
}

bool operator==(const Configurator& a, const Configurator& b) {
  return a.address_ == b.address_ && (a.item_ == b.item_ || *a.item_ == *b.item_);
}

}  // namespace signpost

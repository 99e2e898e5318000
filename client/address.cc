#include "signpost/client/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <re2/re2.h>
#include <string.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "signpost/common/log.h"
#include "signpost/common/status.h"

namespace signpost {
namespace {

constexpr size_t kMaxPatternBytes = 4096;
constexpr char kAdvice[] = "set DUBBO_IP_TO_REGISTRY, or export a host (docs/options.md)";

std::optional<in_addr> Ipv4(const std::string& ip) {
  in_addr address{};
  if (inet_pton(AF_INET, ip.c_str(), &address) != 1) return std::nullopt;
  return address;
}

std::optional<in6_addr> Ipv6(const std::string& ip) {
  in6_addr address{};
  if (inet_pton(AF_INET6, ip.c_str(), &address) != 1) return std::nullopt;
  return address;
}

bool IsIpv4(const std::string& ip) { return Ipv4(ip).has_value(); }

// Whether consumers on other machines can do something with it: no wildcard, loopback, multicast,
// or address of a link.
bool IsReachable(const std::string& ip) {
  if (const auto v4 = Ipv4(ip)) {
    const uint32_t bits = ntohl(v4->s_addr);
    return bits >> 24 != 0 && bits >> 24 != 127 && bits >> 16 != 0xA9FE && bits >> 28 < 0xE;
  }
  const auto v6 = Ipv6(ip);
  return v6 && !IN6_IS_ADDR_UNSPECIFIED(&*v6) && !IN6_IS_ADDR_LOOPBACK(&*v6) &&
         !IN6_IS_ADDR_LINKLOCAL(&*v6) && !IN6_IS_ADDR_MULTICAST(&*v6) &&
         !IN6_IS_ADDR_V4MAPPED(&*v6);
}

bool IsHostName(absl::string_view name) {
  if (name.empty() || name.size() > 253) return false;
  const bool good = std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
  });
  const bool numeric = std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '.';
  });
  return good && !numeric && name.front() != '.' && name.front() != '-';
}

std::vector<std::string> Items(absl::string_view list) {
  std::vector<std::string> items;
  for (absl::string_view item : absl::StrSplit(list, ',')) {
    item = absl::StripAsciiWhitespace(item);
    if (!item.empty()) items.emplace_back(item);
  }
  return items;
}

// Dubbo's rule: the name itself, or a pattern of all of it.
bool Matches(const std::string& item, const std::string& name) {
  return item == name || RE2::FullMatch(name, RE2(item, RE2::Quiet));
}

bool MatchesAny(absl::string_view list, const std::string& name) {
  const std::vector<std::string> items = Items(list);
  return std::any_of(items.begin(), items.end(),
                     [&name](const std::string& item) { return Matches(item, name); });
}

// Of equal rank: IPv4 first, as Java chooses; "" if there is none.
std::string First(const std::vector<InterfaceAddress>& addresses) {
  for (const InterfaceAddress& address : addresses) {
    if (IsIpv4(address.ip)) return address.ip;
  }
  return addresses.empty() ? "" : addresses.front().ip;
}

absl::Status CheckHost(absl::string_view host, absl::string_view what) {
  if (host.empty() || IsUsableHost(host)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " '", OneLine(host), "': neither an IP address nor a host name"));
}

}  // namespace

bool IsWildcardHost(absl::string_view host) {
  if (host.empty()) return true;
  const std::string plain = UnbracketHost(host);
  if (const auto v4 = Ipv4(plain)) return v4->s_addr == 0;
  const auto v6 = Ipv6(plain);
  return v6 && IN6_IS_ADDR_UNSPECIFIED(&*v6);
}

bool IsUsableHost(absl::string_view host) {
  const std::string plain = UnbracketHost(host);
  if (IsWildcardHost(plain)) return false;
  if (Ipv6(plain)) return true;
  return plain == host && (IsIpv4(plain) || IsHostName(plain));
}

absl::Status CheckInterfacePatterns(absl::string_view list) {
  if (list.size() > kMaxPatternBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("interfaces: longer than ", kMaxPatternBytes, " bytes"));
  }
  for (const std::string& item : Items(list)) {
    const RE2 pattern(item, RE2::Quiet);
    if (!pattern.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("interface pattern '", OneLine(item), "': ", OneLine(pattern.error())));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckAddressOptions(const AddressOptions& options) {
  absl::Status status = CheckHost(options.advertised.host, "advertised host");
  for (const auto& [protocol, advertised] : options.advertised_by_protocol) {
    status.Update(CheckHost(advertised.host, absl::StrCat("advertised host of ", protocol)));
  }
  if (!IsWildcardHost(options.host)) status.Update(CheckHost(options.host, "host"));
  status.Update(Annotate(CheckInterfacePatterns(options.preferred_interfaces), "preferred"));
  status.Update(Annotate(CheckInterfacePatterns(options.ignored_interfaces), "ignored"));
  return status;
}

AddressSelector::AddressSelector(AddressOptions options, Url registry,
                                 std::shared_ptr<const NetworkInterfaces> interfaces)
    : options_(std::move(options)),
      registry_(std::move(registry)),
      interfaces_(interfaces != nullptr ? std::move(interfaces) : SystemNetworkInterfaces()) {}

AdvertisedAddress AddressSelector::AdvertisedOf(const std::string& protocol) const {
  AdvertisedAddress advertised = options_.advertised;
  const auto own = options_.advertised_by_protocol.find(protocol);
  if (own != options_.advertised_by_protocol.end()) {
    if (!own->second.host.empty()) advertised.host = own->second.host;
    if (own->second.port != 0) advertised.port = own->second.port;
  }
  return advertised;
}

absl::StatusOr<Url> AddressSelector::Complete(const Url& exported) {
  const AdvertisedAddress advertised = AdvertisedOf(exported.protocol());
  Url::Parts parts = exported.parts();
  if (advertised.port != 0) parts.port = advertised.port;
  if (!advertised.host.empty()) {
    parts.host = BracketHost(advertised.host);
  } else if (IsWildcardHost(parts.host)) {
    const bool ipv4 = IsIpv4(parts.host);
    absl::StatusOr<std::string> host = HostOf(ipv4 ? Families::kIpv4 : Families::kBoth, true);
    if (!host.ok()) return host.status();
    parts.host = BracketHost(*host);
  } else if (absl::StrContains(parts.host, '%')) {
    return absl::InvalidArgumentError(
        absl::StrCat("host '", OneLine(UnbracketHost(parts.host)),
                     "': an address with a zone means nothing to another machine"));
  }
  return Url(std::move(parts));
}

std::string AddressSelector::ConsumerHost() {
  const std::string advertised = AdvertisedOf("consumer").host;
  if (!advertised.empty()) return BracketHost(advertised);
  const absl::StatusOr<std::string> host = HostOf(Families::kIpv4, false);
  return host.ok() ? BracketHost(*host) : "";
}

absl::StatusOr<std::string> AddressSelector::HostOf(Families families, bool exported) {
  if (!IsWildcardHost(options_.host)) return options_.host;
  absl::StatusOr<std::string> host;
  std::vector<std::string> warnings;
  {
    MutexLock lock(mutex_);
    Choice& choice = chosen_[families];
    // An interface may have come up since: worth another look before anything is registered.
    const bool doubtful = !choice.host.ok() || !choice.warnings.empty();
    if (!choice.made || (exported && doubtful)) choice = Choose(families);
    host = choice.host;
    if (exported) warnings = std::exchange(choice.warnings, {});
  }
  for (const std::string& warning : warnings) Log(LogLevel::kWarning, warning);
  return host;
}

AddressSelector::Choice AddressSelector::Choose(Families families) const {
  Choice choice;
  choice.made = true;
  absl::StatusOr<std::vector<InterfaceAddress>> all = interfaces_->Addresses();
  if (!all.ok()) {
    choice.host = all.status();
    return choice;
  }
  std::vector<InterfaceAddress> usable;
  std::string loopback;
  for (const InterfaceAddress& address : *all) {
    if (families == Families::kIpv4 && !IsIpv4(address.ip)) continue;
    if (!address.up || address.alias) continue;
    if (MatchesAny(options_.ignored_interfaces, address.interface)) continue;
    if (address.loopback) {
      if (loopback.empty()) loopback = address.ip;
    } else if (IsReachable(address.ip)) {
      usable.push_back(address);
    }
  }
  std::string host = OnPreferred(usable, choice.warnings);
  if (host.empty()) host = OnRoute(*all, families);
  if (host.empty()) host = First(usable);
  if (host.empty() && !loopback.empty()) {
    choice.warnings.push_back(
        absl::StrCat("no interface but the loopback can be used: ", loopback,
                     " is registered, which only consumers on this machine reach; ", kAdvice));
    host = std::move(loopback);
  }
  if (host.empty()) {
    choice.host = absl::FailedPreconditionError(
        absl::StrCat("no network interface has an address that consumers could reach; ", kAdvice));
  } else {
    choice.host = std::move(host);
  }
  return choice;
}

std::string AddressSelector::OnPreferred(const std::vector<InterfaceAddress>& usable,
                                         std::vector<std::string>& warnings) const {
  for (const std::string& item : Items(options_.preferred_interfaces)) {
    std::vector<InterfaceAddress> matching;
    for (const InterfaceAddress& address : usable) {
      if (Matches(item, address.interface)) matching.push_back(address);
    }
    if (!matching.empty()) return First(matching);
  }
  if (!options_.preferred_interfaces.empty()) {
    warnings.push_back(
        absl::StrCat("preferred interfaces ", options_.preferred_interfaces,
                     ": none is there with an address that can be registered; another is taken"));
  }
  return "";
}

std::string AddressSelector::OnRoute(const std::vector<InterfaceAddress>& all,
                                     Families families) const {
  if (registry_.host().empty()) return "";
  for (const std::string& server : registry_.addresses()) {
    const auto split = SplitHostPort(server);
    if (!split) continue;
    const absl::StatusOr<std::string> ip = interfaces_->RouteTo(split->first, split->second);
    if (!ip.ok()) {
      Log(LogLevel::kDebug, ip.status().message());
      continue;
    }
    if (!IsReachable(*ip) || (families == Families::kIpv4 && !IsIpv4(*ip))) continue;
    const bool ignored = std::any_of(all.begin(), all.end(), [&](const InterfaceAddress& address) {
      return address.ip == *ip && MatchesAny(options_.ignored_interfaces, address.interface);
    });
    if (!ignored) return *ip;
  }
  return "";
}

}  // namespace signpost

#include "signpost/client/registry_plan.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "signpost/common/status.h"

namespace signpost {
namespace {

constexpr char kServiceDiscoveryScheme[] = "service-discovery-registry";
constexpr ServiceLevels kApplication{true, false};
constexpr ServiceLevels kInterface{false, true};
constexpr ServiceLevels kBoth{true, true};

// Whether another URL begins at `text`. A `;` before anything else separates parameters.
bool BeginsUrl(absl::string_view text) {
  const size_t colon = text.find(':');
  return colon != absl::string_view::npos && IsScheme(text.substr(0, colon)) &&
         absl::StartsWith(text.substr(colon), ":/");
}

// Whether in `text`, which stands behind a separator, nothing or another separator comes first. One
// with a parameter behind it separates parameters.
bool LacksRegistry(absl::string_view text) {
  const size_t next = text.find_first_not_of(" \t\r\n|;");
  if (next == absl::string_view::npos) return true;
  return text.substr(0, next).find_first_of("|;") != absl::string_view::npos &&
         BeginsUrl(text.substr(next));
}

// Servers are `host[:port]`. Read as one of them, a second URL would be lost. Of the text nothing
// is shown but the scheme: a user may stand in it.
absl::Status CheckServers(absl::string_view text, absl::string_view where) {
  const size_t scheme = text.find("://");
  if (scheme == absl::string_view::npos) return absl::OkStatus();
  const size_t question = text.find('?');
  const absl::string_view servers = text.substr(0, question);
  bool nested = false;
  for (size_t comma = servers.find(','); comma != absl::string_view::npos && !nested;
       comma = servers.find(',', comma + 1)) {
    const absl::string_view server = absl::StripLeadingAsciiWhitespace(servers.substr(comma + 1));
    const size_t end = server.find("://");
    nested = end != absl::string_view::npos && IsScheme(server.substr(0, end));
  }
  if (!nested && question != absl::string_view::npos) {
    const absl::StatusOr<Url> url = Url::Parse(text);
    nested = url.ok() && absl::StrContains(url->Get("backup"), "://");
  }
  if (!nested) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      where, " (", IsScheme(text.substr(0, scheme)) ? text.substr(0, scheme) : "no scheme",
      "): a server that has `://`; several registries are separated by `;` or `|`, servers of one "
      "are host:port"));
}

absl::Status Bad(const Url& url, absl::string_view key, absl::string_view known) {
  return absl::InvalidArgumentError(absl::StrCat("registry ", url.ToString(), ": parameter ", key,
                                                 "=", url.Get(key), "; known: ", known));
}

absl::StatusOr<Url> ParseRegistry(absl::string_view text) {
  absl::StatusOr<Url> url = Url::Parse(text);
  if (!url.ok()) return Annotate(url.status(), "registry URL");
  if (url->protocol().empty()) {
    return absl::InvalidArgumentError(
        "registry URL: no `scheme://`, such as zookeeper://host:port (its value is not shown)");
  }
  // `zookeeper:/user:password@host`: shown as a path, it would show the password.
  const size_t at = text.find('@');
  const size_t user = text.find(':', url->protocol().size() + 1);
  if (url->host().empty() && IsRemoteRegistry(*url) && user < at && at != text.npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("registry URL ", url->protocol(),
                     ":...: `//` is missing before user and host (the rest is not shown)"));
  }
  return url;
}

// `service-discovery-registry://host?registry=zookeeper` -> `zookeeper://host`.
absl::StatusOr<Url> NamedRegistry(const Url& url) {
  if (url.Get("registry").empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("registry ", url.ToString(), ": parameter registry=<scheme> is missing"));
  }
  Url::Parts parts = url.parts();
  parts.protocol = std::string(url.Get("registry"));
  if (!IsScheme(parts.protocol)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "registry ", url.Without("registry").ToString(),
        ": parameter registry is no scheme such as `zookeeper` (its value is not shown)"));
  }
  parts.parameters.erase("registry");
  return Url(std::move(parts));
}

// The `mode` that says the same as a `registry-type`: Dubbo Java knows `service` alone, dubbo-go
// all three. "": no such type.
absl::string_view ModeOfType(absl::string_view type) {
  if (type == "service") return "application";
  if (type == "interface") return "interface";
  if (type == "all") return "dual";
  return "";
}

absl::StatusOr<RegistryPlan> PlanOf(Url url) {
  const bool by_scheme = url.protocol() == kServiceDiscoveryScheme;
  if (by_scheme) {
    absl::StatusOr<Url> named = NamedRegistry(url);
    if (!named.ok()) return named.status();
    url = *std::move(named);
  }
  std::string mode(url.Get("mode"));
  const std::string register_mode(url.Get("register-mode"));
  const std::string type(url.Get("registry-type"));
  if (!mode.empty() && mode != "application" && mode != "interface" && mode != "dual") {
    return Bad(url, "mode", "application, interface, dual");
  }
  if (!register_mode.empty() && register_mode != "all" && register_mode != "instance" &&
      register_mode != "interface") {
    return Bad(url, "register-mode", "all, instance, interface");
  }
  if (!type.empty() && ModeOfType(type).empty()) {
    return Bad(url, "registry-type", "service, interface, all");
  }
  const auto stands_against = [&](absl::string_view parameter, absl::string_view other) {
    return absl::InvalidArgumentError(absl::StrCat("registry ", url.ToString(), ": parameter ",
                                                   parameter, "=", url.Get(parameter),
                                                   " stands against ", other));
  };
  // Three ways to say one thing.
  if (by_scheme) {
    const std::string scheme = absl::StrCat(kServiceDiscoveryScheme, "://");
    if (!mode.empty() && mode != "application") return stands_against("mode", scheme);
    if (!type.empty() && type != "service") return stands_against("registry-type", scheme);
    mode = "application";
  } else if (!type.empty()) {
    const absl::string_view said = ModeOfType(type);
    if (!mode.empty() && mode != said) {
      return stands_against("mode", absl::StrCat("registry-type=", type));
    }
    mode = std::string(said);
  }

  RegistryPlan plan;
  if (mode == "application") {
    plan.consumer = kApplication;
  } else if (mode == "interface") {
    plan.consumer = kInterface;
  } else if (mode == "dual") {
    plan.consumer = kBoth;
  } else if (register_mode == "interface") {
    plan.consumer = kInterface;
  } else {
    plan.consumer = IsRemoteRegistry(url) && url.protocol() != "signpost" ? kBoth : kApplication;
  }
  plan.provider = plan.consumer;
  if (register_mode == "all") plan.provider = kBoth;
  if (register_mode == "instance") plan.provider = kApplication;
  if (register_mode == "interface") plan.provider = kInterface;
  plan.centre = url.Without("mode").Without("register-mode").Without("registry-type");
  return plan;
}

// What makes two URLs one centre.
std::string IdentityOf(const Url& url) {
  std::vector<std::string> addresses = url.addresses();
  std::sort(addresses.begin(), addresses.end());
  return absl::StrJoin({url.protocol(), absl::StrJoin(addresses, ","), url.path(), url.username(),
                        url.password(), std::string(url.Get("username")),
                        std::string(url.Get("password")), std::string(url.Get("group")),
                        std::string(url.Get("namespace")), std::string(url.Get("rootPath"))},
                       "\n");
}

void Add(ServiceLevels& levels, const ServiceLevels& more) {
  levels.application |= more.application;
  levels.interface |= more.interface;
}

}  // namespace

absl::StatusOr<std::vector<absl::string_view>> SplitRegistries(absl::string_view text) {
  std::vector<absl::string_view> urls;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '|' && text[i] != ';') continue;
    const absl::string_view behind = text.substr(i + 1);
    const bool lacks = LacksRegistry(behind);
    if (!lacks && !BeginsUrl(behind)) continue;
    const absl::string_view url = text.substr(begin, i - begin);
    if (lacks || absl::StripAsciiWhitespace(url).empty()) {
      // The one before the separator, or else the one behind it.
      const size_t number = urls.size() + (absl::StripAsciiWhitespace(url).empty() ? 1 : 2);
      return absl::InvalidArgumentError(absl::StrCat(
          "registry ", number, ": empty registry; each `;` and `|` stands between two"));
    }
    urls.push_back(url);
    begin = i + 1;
  }
  urls.push_back(text.substr(begin));
  for (size_t i = 0; i < urls.size(); ++i) {
    absl::Status servers = CheckServers(urls[i], absl::StrCat("registry ", i + 1));
    if (!servers.ok()) return servers;
  }
  return urls;
}

bool IsRemoteRegistry(const Url& url) {
  return url.protocol() != "embedded" && url.protocol() != "memory" && url.protocol() != "file";
}

absl::StatusOr<std::vector<RegistryPlan>> PlanRegistries(absl::string_view text) {
  std::vector<RegistryPlan> plans;
  std::vector<std::string> identities;
  absl::StatusOr<std::vector<absl::string_view>> texts = SplitRegistries(text);
  if (!texts.ok()) return texts.status();
  for (absl::string_view one : *texts) {
    absl::StatusOr<Url> url = ParseRegistry(one);
    if (!url.ok()) return url.status();
    absl::StatusOr<RegistryPlan> plan = PlanOf(*std::move(url));
    if (!plan.ok()) return plan.status();
    const std::string identity = IdentityOf(plan->centre);
    const auto known = std::find(identities.begin(), identities.end(), identity);
    if (known == identities.end()) {
      identities.push_back(identity);
      plans.push_back(*std::move(plan));
      continue;
    }
    RegistryPlan& same = plans[known - identities.begin()];
    Add(same.provider, plan->provider);
    Add(same.consumer, plan->consumer);
  }
  return plans;
}

}  // namespace signpost

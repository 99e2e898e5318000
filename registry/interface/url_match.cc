#include "signpost/registry/interface/url_match.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "signpost/registry/interface/registered_url.h"

namespace signpost::interface_internal {
namespace {

bool Listed(absl::string_view list, absl::string_view item) {
  for (absl::string_view each : absl::StrSplit(list, ',')) {
    if (absl::StripAsciiWhitespace(each) == item) return true;
  }
  return false;
}

// As Java: by parts of the text, not by items.
bool MatchesCategory(absl::string_view wanted, absl::string_view category) {
  if (absl::StrContains(wanted, "*")) return true;
  if (absl::StrContains(wanted, "-"))
    return !absl::StrContains(wanted, absl::StrCat("-", category));
  return absl::StrContains(wanted, category);
}

}  // namespace

bool IsTrue(const Url& url, absl::string_view key, bool fallback) {
  const absl::string_view text = url.Get(key);
  return text.empty() ? fallback : absl::EqualsIgnoreCase(text, "true");
}

bool MatchesUrl(const Url& consumer, const Url& provider) {
  const absl::string_view wanted = consumer.service_interface();
  const absl::string_view offered = provider.service_interface();
  if (wanted != "*" && offered != "*" && wanted != offered) return false;
  if (!MatchesCategory(consumer.Get("category", kProviders),
                       provider.Get("category", kProviders))) {
    return false;
  }
  if (!IsTrue(provider, "enabled", true) && consumer.Get("enabled") != "*") return false;
  const absl::string_view group = consumer.Get("group");
  if (group != "*" && group != provider.Get("group") && !Listed(group, provider.Get("group"))) {
    return false;
  }
  const absl::string_view version = consumer.Get("version");
  if (version != "*" && version != provider.Get("version")) return false;
  const absl::string_view classifier = consumer.Get("classifier", "*");
  return classifier == "*" || classifier == provider.Get("classifier");
}

std::string ChooseProtocol(absl::string_view wanted, const Url& provider) {
  if (wanted.empty() || Listed(wanted, "*")) {
    const absl::string_view preferred = provider.Get("preferred.protocol");
    return std::string(IsScheme(preferred) ? preferred : absl::string_view(provider.protocol()));
  }
  for (absl::string_view each : absl::StrSplit(wanted, ',', absl::SkipWhitespace())) {
    each = absl::StripAsciiWhitespace(each);
    if (each == provider.protocol() || Listed(provider.Get("ext.protocol"), each)) {
      return std::string(each);
    }
  }
  return "";
}

std::vector<std::string> CategoriesOf(const Url& consumer) {
  const absl::string_view text = consumer.Get("category", kProviders);
  if (text == "*") return {kProviders, kConsumers, kRouters, kConfigurators};
  std::vector<std::string> categories;
  for (absl::string_view each : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    std::string name(absl::StripAsciiWhitespace(each));
    if (name[0] == '-' || name[0] == '.' || name == "*" || FormEncode(name) != name) continue;
    if (std::find(categories.begin(), categories.end(), name) == categories.end()) {
      categories.push_back(std::move(name));
    }
  }
  return categories;
}

}  // namespace signpost::interface_internal

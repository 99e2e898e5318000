#include "signpost/router/configurator/configurator_set.h"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "signpost/common/log.h"
#include "signpost/router/configurator/configurator_item.h"

namespace signpost {

ConfiguratorSet::ConfiguratorSet(std::vector<Configurator> registry,
                                 std::vector<Configurator> application,
                                 std::vector<Configurator> service) {
  for (std::vector<Configurator>* source : {&registry, &application, &service}) {
    std::stable_sort(source->begin(), source->end(),
                     [](const Configurator& a, const Configurator& b) {
                       return std::make_tuple(absl::string_view(a.host()), a.priority()) <
                              std::make_tuple(absl::string_view(b.host()), b.priority());
                     });
    for (Configurator& configurator : *source) {
      if (configurator.active()) configurators_.push_back(std::move(configurator));
    }
  }
}

Url ConfiguratorSet::Apply(const Url& original, const ConfiguratorTarget& target) const {
  if (configurators_.empty()) return original;
  configurator_internal::Application application(original, target);
  for (const Configurator& configurator : configurators_) application.Put(configurator);
  return application.Result();
}

std::vector<Configurator> ConfiguratorsOf(const std::vector<Url>& urls,
                                          const std::vector<Url>& known) {
  std::set<std::string> silent;
  for (const Url& url : known) silent.insert(url.ToFullString());
  const auto warn = [&silent](const Url& url, absl::string_view text) {
    if (silent.insert(url.ToFullString()).second) Log(LogLevel::kWarning, text);
  };
  std::vector<Configurator> configurators;
  for (const Url& url : urls) {
    if (url.protocol() == "empty") return {};
    absl::StatusOr<Configurator> configurator = Configurator::FromUrl(url);
    if (!configurator.ok()) {
      warn(url, absl::StrCat("override rule left out: ", configurator.status().message(), ": ",
                             url.ToString()));
    } else if (configurator->active()) {
      const std::string useless =
          configurator_internal::UnreadableValues(configurator->parameters());
      if (!useless.empty()) {
        warn(url,
             absl::StrCat("override rule ", url.ToString(), ": ", useless, "; that does nothing"));
      }
      configurators.push_back(*std::move(configurator));
    }
  }
  return configurators;
}

}  // namespace signpost

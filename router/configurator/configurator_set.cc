#include "signpost/router/configurator/configurator_set.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "signpost/router/configurator/configurator_item.h"
#include "signpost/router/configurator/configurator_list.h"

namespace signpost {

using configurator_internal::ConfiguratorList;

ConfiguratorSet::ConfiguratorSet() { sources_.fill(ConfiguratorList::None()); }

ConfiguratorSet::ConfiguratorSet(Sources sources) : sources_(std::move(sources)) {}

ConfiguratorSet::ConfiguratorSet(std::vector<Configurator> registry,
                                 std::vector<Configurator> application,
                                 std::vector<Configurator> service)
    : sources_{std::make_shared<const ConfiguratorList>(std::move(registry)),
               std::make_shared<const ConfiguratorList>(std::move(application)),
               std::make_shared<const ConfiguratorList>(std::move(service))} {}

Url ConfiguratorSet::Apply(const Url& original, const ConfiguratorTarget& target) const {
  if (empty()) return original;
  configurator_internal::Application application(original, target);
  for (const auto& source : sources_) {
    for (const Configurator* configurator : source->ForHosts(original.host(), target.host)) {
      application.Put(*configurator);
    }
  }
  return application.Result();
}

bool ConfiguratorSet::empty() const {
  return std::all_of(sources_.begin(), sources_.end(),
                     [](const auto& source) { return source->empty(); });
}

std::vector<Configurator> ConfiguratorSet::configurators() const {
  std::vector<Configurator> all;
  for (const auto& source : sources_) {
    all.insert(all.end(), source->configurators().begin(), source->configurators().end());
  }
  return all;
}

bool operator==(const ConfiguratorSet& a, const ConfiguratorSet& b) {
  return std::equal(a.sources_.begin(), a.sources_.end(), b.sources_.begin(),
                    [](const auto& x, const auto& y) { return *x == *y; });
}

std::vector<Configurator> ConfiguratorsOf(const std::vector<Url>& urls,
                                          std::vector<std::string>* unreadable) {
  std::vector<Configurator> configurators;
  std::vector<std::string> faults;
  for (const Url& url : urls) {
    if (url.protocol() == "empty") {
      configurators.clear();
      faults.clear();
      break;
    }
    absl::StatusOr<Configurator> configurator = Configurator::FromUrl(url);
    if (!configurator.ok()) {
      faults.push_back(absl::StrCat(configurator.status().message(), ": ", url.ToString()));
    } else if (configurator->active()) {
      const std::string useless =
          configurator_internal::UnreadableValues(configurator->parameters());
      if (!useless.empty()) faults.push_back(absl::StrCat(useless, ": ", url.ToString()));
      configurators.push_back(*std::move(configurator));
    }
  }
  if (unreadable != nullptr) *unreadable = std::move(faults);
  return configurators;
}

}  // namespace signpost

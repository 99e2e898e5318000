#include "signpost/router/configurator/configurator_list.h"

#include <arpa/inet.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "signpost/common/url.h"
#include "signpost/router/configurator/configurator_item.h"

namespace signpost::configurator_internal {
namespace {

// Such a text is the only one of its address, so that equal texts are all that match. Names, IPv6
// (which has many spellings) and patterns are not.
bool IsPlainIpv4(const std::string& host) {
  in_addr address{};
  return host != "0.0.0.0" && host.find_first_not_of("0123456789.") == std::string::npos &&
         inet_pton(AF_INET, host.c_str(), &address) == 1;
}

}  // namespace

ConfiguratorList::ConfiguratorList(std::vector<Configurator> configurators)
    : configurators_(std::move(configurators)) {
  configurators_.erase(std::remove_if(configurators_.begin(), configurators_.end(),
                                      [](const Configurator& one) { return !one.active(); }),
                       configurators_.end());
  std::stable_sort(configurators_.begin(), configurators_.end(),
                   [](const Configurator& a, const Configurator& b) {
                     return std::make_tuple(absl::string_view(a.host()), a.priority()) <
                            std::make_tuple(absl::string_view(b.host()), b.priority());
                   });
  for (uint32_t i = 0; i < configurators_.size(); ++i) {
    const std::string& host = configurators_[i].host();
    (IsPlainIpv4(host) ? by_host_[absl::string_view(host)] : others_).push_back(i);
  }
}

const std::shared_ptr<const ConfiguratorList>& ConfiguratorList::None() {
  static const auto& none = *new std::shared_ptr<const ConfiguratorList>(
      std::make_shared<const ConfiguratorList>(std::vector<Configurator>()));
  return none;
}

std::vector<const Configurator*> ConfiguratorList::ForHosts(absl::string_view provider,
                                                            absl::string_view consumer) const {
  std::vector<uint32_t> places = others_;
  for (absl::string_view host : {provider, consumer}) {
    const auto it = by_host_.find(UnbracketHost(host));
    if (it == by_host_.end()) continue;
    std::vector<uint32_t> merged;
    // Both may be the same host.
    std::set_union(places.begin(), places.end(), it->second.begin(), it->second.end(),
                   std::back_inserter(merged));
    places = std::move(merged);
  }
  std::vector<const Configurator*> found;
  found.reserve(places.size());
  for (uint32_t place : places) found.push_back(&configurators_[place]);
  return found;
}

bool ConfiguratorList::Equals(const ConfiguratorList& other) const {
  if (this == &other) return true;
  const auto same_address = [](const Configurator& a, const Configurator& b) {
    return a.address_ == b.address_;
  };
  if (!std::equal(configurators_.begin(), configurators_.end(), other.configurators_.begin(),
                  other.configurators_.end(), same_address)) {
    return false;
  }
  // All addresses of an item share it.
  absl::flat_hash_set<std::pair<const Item*, const Item*>> same_items;
  for (size_t i = 0; i < configurators_.size(); ++i) {
    const Item* a = configurators_[i].item_.get();
    const Item* b = other.configurators_[i].item_.get();
    if (a == b || same_items.contains({a, b})) continue;
    if (!(*a == *b)) return false;
    same_items.insert({a, b});
  }
  return true;
}

}  // namespace signpost::configurator_internal

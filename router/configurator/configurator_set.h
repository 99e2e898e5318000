// All override rules that one service knows, in Dubbo's order, and what they make of a URL.
//
//   Url effective = set.Apply(provider, ConfiguratorTarget::OfConsumer(consumer));
//
// Sources in the order in which they are applied, so that the last one wins: `override://` URLs of
// the registry, the rule of the application, the rule of the service. Inside one: by host as text
// (`0.0.0.0` before addresses), then by priority, then as they came.
//
// Source: Configurator.compareTo, RegistryDirectory, RegistryProtocol of Dubbo 3.3.
//
// Threads: immutable once built; values.
// Errors: none; what cannot be read never gets here.
#ifndef SIGNPOST_ROUTER_CONFIGURATOR_CONFIGURATOR_SET_H_
#define SIGNPOST_ROUTER_CONFIGURATOR_CONFIGURATOR_SET_H_

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "signpost/common/url.h"
#include "signpost/router/configurator/configurator.h"

namespace signpost {

class ConfiguratorSet {
 public:
  // Registry, application, service; none is null. Sets of many services share what they have in
  // common.
  using Sources = std::array<std::shared_ptr<const configurator_internal::ConfiguratorList>, 3>;

  ConfiguratorSet();
  explicit ConfiguratorSet(Sources sources);
  ConfiguratorSet(std::vector<Configurator> registry, std::vector<Configurator> application,
                  std::vector<Configurator> service);

  // `original`: the provider's URL as it was registered, `tri://host:port/interface?...`, also on
  // the consumer; never one that came out of here, so that a rule that goes leaves nothing behind.
  // Gives `original` itself when no rule applies. Who uses the result leaves an address out that
  // became `disabled=true`.
  // Also takes a consumer's own URL, as Java does for `cluster`, `loadbalance` and the like:
  // then with `provider_rules` false, and rules that name providers do not apply.
  Url Apply(const Url& original, const ConfiguratorTarget& target) const;

  bool empty() const;
  // As they are applied; a copy.
  std::vector<Configurator> configurators() const;
  const Sources& sources() const { return sources_; }

  // The same rules of the same sources: whatever they are applied to, the result is the same.
  friend bool operator==(const ConfiguratorSet& a, const ConfiguratorSet& b);
  friend bool operator!=(const ConfiguratorSet& a, const ConfiguratorSet& b) { return !(a == b); }

 private:
  Sources sources_;
};

// The configurators of what a registry holds for a service (category `configurators`). An
// `empty://` URL clears: none. What cannot be read is left out; `unreadable`, if not null, becomes
// a text for each: the fault and the URL, without secrets. So does a value that nobody can read, of
// `disabled`, `enabled` or `weight`: it does nothing.
std::vector<Configurator> ConfiguratorsOf(const std::vector<Url>& urls,
                                          std::vector<std::string>* unreadable = nullptr);

}  // namespace signpost

#endif  // SIGNPOST_ROUTER_CONFIGURATOR_CONFIGURATOR_SET_H_

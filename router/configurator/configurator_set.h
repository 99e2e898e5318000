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

#include <vector>

#include "signpost/common/url.h"
#include "signpost/router/configurator/configurator.h"

namespace signpost {

class ConfiguratorSet {
 public:
  ConfiguratorSet() = default;
  ConfiguratorSet(std::vector<Configurator> registry, std::vector<Configurator> application,
                  std::vector<Configurator> service);

  // `original`: the provider's URL as it was registered, `tri://host:port/interface?...`, also on
  // the consumer; never one that came out of here, so that a rule that goes leaves nothing behind.
  // Gives `original` itself when no rule applies. Who uses the result leaves an address out that
  // became `disabled=true` or `enabled=false`.
  // Also takes a consumer's own URL, as Java does for `cluster`, `loadbalance` and the like:
  // then with `provider_rules` false, and rules that name providers do not apply.
  Url Apply(const Url& original, const ConfiguratorTarget& target) const;

  bool empty() const { return configurators_.empty(); }
  // As they are applied.
  const std::vector<Configurator>& configurators() const { return configurators_; }

  // The same rules: whatever they are applied to, the result is the same.
  friend bool operator==(const ConfiguratorSet& a, const ConfiguratorSet& b) {
    return a.configurators_ == b.configurators_;
  }
  friend bool operator!=(const ConfiguratorSet& a, const ConfiguratorSet& b) { return !(a == b); }

 private:
  std::vector<Configurator> configurators_;  // active ones
};

// The configurators of what a registry holds for a service (category `configurators`). An
// `empty://` URL clears: none. What cannot be read is left out with one warning that shows it; a
// value that nobody can read, of `disabled`, `enabled` or `weight`, has one too. `known`: URLs of
// which that was said before.
std::vector<Configurator> ConfiguratorsOf(const std::vector<Url>& urls,
                                          const std::vector<Url>& known = {});

}  // namespace signpost

#endif  // SIGNPOST_ROUTER_CONFIGURATOR_CONFIGURATOR_SET_H_

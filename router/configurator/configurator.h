// One override rule: parameters that it puts onto the URLs of some providers.
//
//   override://0.0.0.0/demo.Echo?category=configurators&dynamic=false&timeout=500       (2.6)
//   override://0.0.0.0/demo.Echo?side=consumer&configVersion=v2.7&timeout=500           (2.7, 3.0)
//
// `absent://` puts a parameter only where there is none. ConfiguratorSet applies many in Dubbo's
// order; ParseConfiguratorRule reads the config centre's rules. docs/formats/configurators.md has
// the grammar and where this is stricter than Java.
//
// Source: AbstractConfigurator, OverrideConfigurator, AbsentConfigurator of Dubbo 3.3.
//
// Threads: immutable; copies are cheap and may be used from any thread.
// Errors: kInvalidArgument naming the parameter; never a value of one.
#ifndef SIGNPOST_ROUTER_CONFIGURATOR_CONFIGURATOR_H_
#define SIGNPOST_ROUTER_CONFIGURATOR_CONFIGURATOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "signpost/common/url.h"

namespace signpost {

namespace configurator_internal {
struct Item;
class Application;
class ConfiguratorList;
}  // namespace configurator_internal

// Who applies rules to a provider's URL.
struct ConfiguratorTarget {
  enum class Side { kProvider, kConsumer };

  Side side = Side::kConsumer;
  // Of the one who applies: the consumer's on the consumer, the provider's on the provider.
  std::string application;

  // The rest is for consumers.
  // The address of this consumer, brackets optional. Default: none, only rules for any host act.
  std::string host;
  // The consumer's own parameters: conditions on parameters look here first (but for those that
  // always are the provider's: release, dubbo, methods, timestamp, dubbo.tag).
  Url::Parameters parameters;
  // Whether rules of `side: provider` act here too, on the URL that this consumer holds of the
  // provider. Application level: true; a provider whose own process does not know the rule
  // gets it all the same, and for one that knows it nothing changes, since it has published the
  // same values. Interface level: false; the provider registers the changed URL. Default: true
  bool provider_rules = true;
  // What rules of `side: provider` take for the application. Default: parameter `application` of
  // the provider's URL.
  std::string provider_application;

  // From parameters and host of the URLs that a consumer subscribes with, or a provider exports.
  static ConfiguratorTarget OfConsumer(const Url& consumer);
  static ConfiguratorTarget OfProvider(const Url& provider);
};

class Configurator {
 public:
  // Of `override://` and `absent://`.
  static absl::StatusOr<Configurator> FromUrl(const Url& url);

  // False: `enabled=false`, or no parameter to put. It then does nothing.
  bool active() const;
  // Order inside one source: by host as text, then by `priority`; the later one wins.
  const std::string& host() const { return host_; }
  int32_t priority() const;
  // What it puts.
  const Url::Parameters& parameters() const;
  // For people and logs; secret-looking parameters are `***`.
  std::string ToString() const;

  friend bool operator==(const Configurator& a, const Configurator& b);
  friend bool operator!=(const Configurator& a, const Configurator& b) { return !(a == b); }

 private:
  friend class configurator_internal::Application;
  friend class configurator_internal::ConfiguratorList;
  friend absl::StatusOr<std::vector<Configurator>> ParseConfiguratorRule(
      absl::string_view text, std::vector<std::string>* unknown);
  // `address`: `host[:port]`, each may be a pattern.
  Configurator(std::shared_ptr<const configurator_internal::Item> item, std::string address);

  std::shared_ptr<const configurator_internal::Item> item_;  // shared by all addresses of a rule
  std::string address_;
  std::string host_;
};

// The rules of a text of the config centre: YAML (v2.7, v3.0), or a JSON array of `override://`
// URLs. Rules and items that are not enabled are left out and not looked at. Bounds: 1 MiB; 200,000
// comparisons, each of `addresses` with all else that its item says; 256 patterns and 4 MiB of
// them. Errors: kInvalidArgument naming line and column, or the place
// (`configs[2].parameters.timeout`). A key of head or item that is a known one misspelt is a fault,
// since leaving it out could make the rule act on everything; others that are not known are left
// out, and added to `unknown` if that is not null (common/near_miss.h).
absl::StatusOr<std::vector<Configurator>> ParseConfiguratorRule(
    absl::string_view text, std::vector<std::string>* unknown = nullptr);

}  // namespace signpost

#endif  // SIGNPOST_ROUTER_CONFIGURATOR_CONFIGURATOR_H_

// What a Configurator is made of. Private to this folder.
//
// Threads: immutable once built.
#ifndef SIGNPOST_ROUTER_CONFIGURATOR_CONFIGURATOR_ITEM_H_
#define SIGNPOST_ROUTER_CONFIGURATOR_CONFIGURATOR_ITEM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "signpost/common/url.h"
#include "signpost/router/configurator/configurator.h"
#include "signpost/router/configurator/configurator_match.h"

namespace signpost::configurator_internal {

// All but the address.
struct Item {
  enum class Side { kAny, kProvider, kConsumer };

  bool enabled = true;
  bool only_absent = false;  // `absent://`
  bool legacy = false;       // no configVersion: the rules of 2.6 for hosts
  Side side = Side::kAny;    // kAny: legacy alone
  int32_t priority = 0;
  std::vector<std::string> provider_addresses;  // empty: any
  std::vector<std::string> applications;        // empty: any
  std::string scope_application;                // of a rule for one application; empty: any
  std::vector<std::string> services;            // service keys, or `*`
  Url::Parameters conditions;                   // of `~key`, without `~`
  ConfiguratorMatch match;
  Url::Parameters parameters;

  friend bool operator==(const Item& a, const Item& b) {
    const auto tied = [](const Item& item) {
      return std::tie(item.enabled, item.only_absent, item.legacy, item.side, item.priority,
                      item.provider_addresses, item.applications, item.scope_application,
                      item.services, item.conditions, item.match, item.parameters);
    };
    return tied(a) == tied(b);
  }
};

// `provider` or `consumer`; anything else, also nothing, is a fault.
absl::Status ParseSide(absl::string_view text, absl::string_view where, Item& item);

// Takes the parameters of a rule apart: conditions, priority, what is to be put. Parameters that
// are a rule's own words, name the service, or could make a process read files or run code are
// not put.
absl::Status SetParameters(const Url::Parameters& parameters, absl::string_view where, Item& item);

// Of the parameters that decide over an address (`disabled`, `enabled`, `weight`) those whose value
// nobody can read, with it and the fault: they do nothing. "": none.
std::string UnreadableValues(const Url::Parameters& parameters);

// The host of `host[:port]`, an IPv6 one with its brackets.
std::string HostOf(absl::string_view address);
// 0: none, or a pattern.
uint16_t PortOf(absl::string_view address);

// One use of a list of Configurators on one URL.
class Application {
 public:
  Application(const Url& original, const ConfiguratorTarget& target);

  // Puts what the configurator has, if it applies. Conditions see what was put before.
  void Put(const Configurator& configurator);
  // The original itself when nothing was put.
  Url Result() const;

 private:
  bool Applies(const Configurator& configurator) const;
  std::optional<absl::string_view> Find(absl::string_view key, bool as_provider) const;

  const Url& original_;
  const ConfiguratorTarget& target_;
  const std::string service_;
  const std::string provider_application_;
  Url::Parameters changes_;
};

}  // namespace signpost::configurator_internal

#endif  // SIGNPOST_ROUTER_CONFIGURATOR_CONFIGURATOR_ITEM_H_

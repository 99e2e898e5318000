// The rules of one source in the order in which they are applied. Private to this folder.
//
// A rule may name many thousand addresses, and may be known to many services: services share the
// list, and for one URL only the rules are looked at that its hosts can match.
//
// Threads: immutable.
// Ownership: shared by all sets that it is in.
// Errors: none.
#ifndef SIGNPOST_ROUTER_CONFIGURATOR_CONFIGURATOR_LIST_H_
#define SIGNPOST_ROUTER_CONFIGURATOR_CONFIGURATOR_LIST_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "signpost/router/configurator/configurator.h"

namespace signpost::configurator_internal {

class ConfiguratorList {
 public:
  // Leaves out what is not active.
  explicit ConfiguratorList(std::vector<Configurator> configurators);
  ConfiguratorList(const ConfiguratorList&) = delete;
  ConfiguratorList& operator=(const ConfiguratorList&) = delete;

  // The one without rules, always the same.
  static const std::shared_ptr<const ConfiguratorList>& None();

  bool empty() const { return configurators_.empty(); }
  // By host as text, then by priority, then as they came.
  const std::vector<Configurator>& configurators() const { return configurators_; }
  // Those of them, in order, that can apply where the provider's and the consumer's hosts are
  // these; perhaps more, never less.
  std::vector<const Configurator*> ForHosts(absl::string_view provider,
                                            absl::string_view consumer) const;

  // The same rules. Takes time in proportion to the addresses and, once, to each item.
  friend bool operator==(const ConfiguratorList& a, const ConfiguratorList& b) {
    return a.Equals(b);
  }
  friend bool operator!=(const ConfiguratorList& a, const ConfiguratorList& b) { return !(a == b); }

 private:
  bool Equals(const ConfiguratorList& other) const;

  std::vector<Configurator> configurators_;
  // Where they stand, ascending: of plain IPv4 hosts by these, and all others.
  absl::flat_hash_map<absl::string_view, std::vector<uint32_t>> by_host_;
  std::vector<uint32_t> others_;
};

}  // namespace signpost::configurator_internal

#endif  // SIGNPOST_ROUTER_CONFIGURATOR_CONFIGURATOR_LIST_H_

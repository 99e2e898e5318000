// Addresses with the override rules of operators applied: the consumer's side of configurators.
// Private to this folder.
//
// Rules act on what the provider published, so one that is taken back leaves no trace. Without
// rules the list passes as it is. Work is in proportion to the delta; a new set of rules looks at
// every address once.
//
// Threads: on the control executor.
// Ownership: `table` outlives this.
#ifndef SIGNPOST_CLIENT_CONFIGURED_ADDRESSES_H_
#define SIGNPOST_CLIENT_CONFIGURED_ADDRESSES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "signpost/common/address_list.h"
#include "signpost/common/url.h"
#include "signpost/registry/notify_listener.h"
#include "signpost/router/configurator/configurator.h"
#include "signpost/router/configurator/configurator_set.h"

namespace signpost::client_internal {

// The URL that an endpoint's provider published, as far as it is known.
Url ProviderUrlOf(const Endpoint& endpoint);

class ConfiguredAddresses {
 public:
  ConfiguredAddresses(EndpointTable& table, ConfiguratorTarget target);

  // Both tell the list that is valid now, with the delta from the one told before.
  ServiceAddresses SetAddresses(const ServiceAddresses& published);
  ServiceAddresses SetConfigurators(std::shared_ptr<const ConfiguratorSet> configurators);

 private:
  bool Passes() const { return configurators_ == nullptr || configurators_->empty(); }
  // Null: a rule disables it.
  Endpoint Configure(const Endpoint& published);
  AddressDelta Translate(const AddressDelta& published);
  ServiceAddresses Rebuild();
  ServiceAddresses Told(AddressDelta delta);

  EndpointTable& table_;
  const ConfiguratorTarget target_;
  std::shared_ptr<const ConfiguratorSet> configurators_;
  ServiceAddresses published_;
  std::shared_ptr<const AddressList> list_ = AddressList::Empty();  // what was told
  // Of the published list, by id; empty while it passes as it is.
  std::unordered_map<uint32_t, Endpoint> configured_;
  // What rules made of a service, so that its endpoints go on sharing it. By the published one and
  // the parameters that differ.
  using ChangedKey = std::pair<std::shared_ptr<const EndpointService>, StringMap>;
  std::map<ChangedKey, std::shared_ptr<const EndpointService>> changed_;
};

}  // namespace signpost::client_internal

#endif  // SIGNPOST_CLIENT_CONFIGURED_ADDRESSES_H_

// One subscription: the matching providers of one interface as addresses. Private to this folder.
//
// Addresses that two nodes claim (one left by a session that is not over yet) are listed once; the
// node that started last counts.
//
// With empty protection the addresses stay when the last provider goes, until there is one again:
// `kept`, and the state says so.
//
// Threads: all on the control executor.
#ifndef SIGNPOST_REGISTRY_INTERFACE_PROVIDER_LIST_H_
#define SIGNPOST_REGISTRY_INTERFACE_PROVIDER_LIST_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "signpost/common/service_key.h"
#include "signpost/registry/interface/interface_subscriber.h"

namespace signpost::interface_internal {

class ProviderList final : public InterfaceSubscription, public CategoryWatch::Listener {
 public:
  // `owner` outlives this.
  ProviderList(InterfaceSubscriber& owner, const Url& consumer,
               InterfaceSubscriber::NotifyFunction notify);

  void Start() override;
  void Stop() override;
  void OnUrls(CategoryWatch& watch, const CategoryWatch::Changes& changes) override;

 private:
  // The newest first.
  using ClaimKey = std::pair<int64_t, std::string>;  // -timestamp, node name
  struct Claim {
    std::string identity;
    ClaimKey key;
    std::string app;
  };
  struct Address {
    std::map<ClaimKey, Endpoint> claims;
    Endpoint published;  // null: not listed yet
  };

  void Add(const std::string& name, const Url& url);
  void Remove(const std::string& name);
  void Publish();
  bool KeepsOld() const;
  AddressDelta TakeDelta();
  absl::Status FindBrokenLink() const;

  InterfaceSubscriber& owner_;
  const Url consumer_;  // category providers
  const ServiceKey key_;
  const std::string protocol_;
  InterfaceSubscriber::NotifyFunction notify_;
  std::shared_ptr<CategoryWatch> watch_;
  bool stopped_ = false;

  std::map<std::string, Claim> claims_;       // by node name
  std::map<std::string, Address> addresses_;  // by identity
  std::map<std::string, size_t> apps_;        // and how many nodes name it
  std::set<std::string> dirty_;               // identities to be published
  std::shared_ptr<const AddressList> list_ = AddressList::Empty();
  ServiceAddresses told_;  // last, without the delta
};

}  // namespace signpost::interface_internal

#endif  // SIGNPOST_REGISTRY_INTERFACE_PROVIDER_LIST_H_

// One subscription: mapping -> applications -> matching services -> addresses. Private to this
// folder.
//
// Addresses that two instances claim (dubbo-go registers one instance per port) are listed once.
// An instance whose new revision is not known yet keeps the addresses it had.
//
// Threads: all on the control executor.
#ifndef SIGNPOST_REGISTRY_APPLICATION_SERVICE_SUBSCRIPTION_H_
#define SIGNPOST_REGISTRY_APPLICATION_SERVICE_SUBSCRIPTION_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "signpost/common/service_key.h"
#include "signpost/common/subscription.h"
#include "signpost/registry/application/application_subscriber.h"

namespace signpost::application_internal {

class ServiceSubscription final : public InstanceWatch::Listener,
                                  public std::enable_shared_from_this<ServiceSubscription> {
 public:
  // `owner` outlives this.
  ServiceSubscription(ApplicationSubscriber& owner, const Url& consumer,
                      ApplicationSubscriber::NotifyFunction notify);

  void Start();
  // Lets go of mapping and watches; nothing is notified any more.
  void Stop();

  void OnInstances(InstanceWatch& watch, const std::vector<std::string>& ids) override;

 private:
  using InstanceKey = std::pair<std::string, std::string>;  // application, id
  struct Address {
    std::map<InstanceKey, Endpoint> claims;  // the first one counts
    Endpoint published;                      // null: not listed yet
  };

  void OnMapping(absl::StatusOr<AppSet> apps);
  void SetApps(AppSet apps);
  void Recompute(const InstanceWatch& watch, const std::string& id);
  void SetClaims(const InstanceKey& key, std::map<std::string, Endpoint> wanted);
  void Publish();
  AddressDelta TakeDelta();
  // Old addresses are better than none while no revision is known.
  bool MustKeepOld() const;
  bool Settled() const;
  absl::Status FindBrokenLink() const;

  ApplicationSubscriber& owner_;
  const ServiceKey key_;
  const std::string protocol_;
  const Url consumer_;
  ApplicationSubscriber::NotifyFunction notify_;
  Subscription mapping_;
  bool mapping_heard_ = false;
  absl::Status mapping_state_;
  bool stopped_ = false;

  AppSet apps_;
  std::map<std::string, std::shared_ptr<InstanceWatch>> watches_;
  std::map<std::string, Address> addresses_;             // by identity
  std::map<InstanceKey, std::set<std::string>> claims_;  // what each instance claims
  std::set<std::string> dirty_;                          // identities to be published
  std::shared_ptr<const AddressList> list_ = AddressList::Empty();
  ServiceAddresses told_;  // last, without the delta
};

}  // namespace signpost::application_internal

#endif  // SIGNPOST_REGISTRY_APPLICATION_SERVICE_SUBSCRIPTION_H_

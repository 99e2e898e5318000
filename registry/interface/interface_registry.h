// The interface-level Registry of Dubbo 2 over a Store: one node per provider URL, named by it.
//
// Provider side: what is registered is desired state. Each URL becomes
// /<root>/<interface>/<category>/<URL>, session-bound unless it says `dynamic=false`, and is
// written until it holds; a new session writes all session-bound ones again. Nothing is deleted
// while another URL of the same folder is still to be written, so that replacing one (register the
// new, unregister the old) never leaves a moment without a node. Consumer side: one watch of names
// per (interface, category), shared by all subscriptions; a name is parsed once.
//
// Format: docs/formats/zookeeper_layout.md; org.apache.dubbo.registry.zookeeper.ZookeeperRegistry.
//
// Threads: as Registry. Everything runs on the executor; public calls post to it.
// Ownership: executor, centre and endpoint table must outlive this.
// Errors: as Registry. A provider's secrets are part of a node's name and never of a message.
#ifndef SIGNPOST_REGISTRY_INTERFACE_INTERFACE_REGISTRY_H_
#define SIGNPOST_REGISTRY_INTERFACE_INTERFACE_REGISTRY_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "signpost/common/address_list.h"
#include "signpost/common/backoff.h"
#include "signpost/common/executor.h"
#include "signpost/common/subscription.h"
#include "signpost/common/url.h"
#include "signpost/registry/accepted_protocols.h"
#include "signpost/registry/registry.h"
#include "signpost/registry/registry_factory.h"

namespace signpost {

struct InterfaceRegistryOptions {
  // Parameter `simplified`: providers are written with the parameters that consumers need only.
  // Default: false
  bool simplified = false;
  // Parameter `extra-keys`: kept all the same when simplified. Default: none
  std::vector<std::string> extra_keys;
  // Parameter `accepts`: protocols that are registered (`dubbo,tri`, or all but `-rest`); others
  // are passed over. Default: all
  AcceptedProtocols accepts;
  // Parameter `enable-empty-protection`: WatchUrls gives no `empty://` for providers, and the
  // addresses of a subscription stay when the last provider goes (ServiceAddresses::kept).
  // Default: false
  bool empty_protection = false;
  // An attempt that failed is made again after 1 s, growing to 30 s.
  BackoffOptions retry = {absl::Seconds(1), absl::Seconds(30), 2.0, 0.5};

  // From a registry URL. kInvalidArgument names the parameter.
  static absl::StatusOr<InterfaceRegistryOptions> FromUrl(const Url& registry);
};

class InterfaceRegistry final : public Registry {
 public:
  using UrlsCallback = absl::AnyInvocable<void(absl::StatusOr<std::vector<Url>>)>;

  InterfaceRegistry(Executor& executor, RegistryCentre& centre, EndpointTable& table,
                    InterfaceRegistryOptions options);
  ~InterfaceRegistry() override;

  // Providers, and consumers (`consumer://`); also routers and configurators by their `category`.
  // `register=false`, `isExtra=true` and what `accepts` leaves out is not written: OK at once.
  void Register(const Url& url, const CallOptions& options, DoneCallback done) override;
  void Unregister(const Url& url, const CallOptions& options, DoneCallback done) override;
  void UnregisterAll(const CallOptions& options, DoneCallback done) override;
  // Addresses are those of category providers, whatever the consumer's `category`. The interface
  // `*` has none (kInvalidArgument in the state).
  void Subscribe(const Url& consumer, std::shared_ptr<NotifyListener> listener) override;
  void Unsubscribe(const Url& consumer, const std::shared_ptr<NotifyListener>& listener) override;
  void Lookup(const Url& consumer, const CallOptions& options, LookupCallback done) override;
  const Url& url() const override;
  bool IsAvailable() const override;
  void Close() override;

  // The matching URLs of the consumer's categories (`category=providers,configurators`, `*`: the
  // four of Dubbo), as Dubbo delivers them: all of them once at first, then each category that
  // changed. A category without any gives the consumer's URL with protocol `empty` and that
  // category. Interface `*`: of all interfaces, also of those that come later. An error says what
  // is not known for now; the watch goes on. A category that cannot be read is left out of the
  // delivery, told as an error, and delivered when it can be read.
  Subscription WatchUrls(const Url& consumer, UrlsCallback on_urls);

  // Nodes that the centre has by now, sorted. For people: secrets are `***`.
  std::vector<std::string> registered_paths() const;

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_INTERFACE_INTERFACE_REGISTRY_H_

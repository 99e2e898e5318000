// The application-level Registry: instances, mapping and metadata of one centre put together.
//
// Provider side: Register collects URLs; after a debounce one MetadataInfo is computed, published,
// then the mapping, then the instance is written (or updated in place). Desired state is kept: a
// new session writes the instance again, once. Consumer side: mapping (or `provided-by`) ->
// applications -> one instance watch per application, shared by all subscriptions -> one metadata
// resolution per distinct revision -> addresses. A revision whose metadata is missing keeps what it
// had and is asked for again with back-off (1 s, 1 s, 1 s, then every 10 s), without a registry
// event.
//
// Threads: as Registry. Everything runs on the executor; public calls post to it.
// Ownership: executor, centre, endpoint table and resolver must outlive this.
#ifndef SIGNPOST_REGISTRY_APPLICATION_APPLICATION_REGISTRY_H_
#define SIGNPOST_REGISTRY_APPLICATION_APPLICATION_REGISTRY_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "signpost/common/address_list.h"
#include "signpost/common/executor.h"
#include "signpost/mapping/service_name_mapping.h"
#include "signpost/metadata/metadata_resolver.h"
#include "signpost/metadata/published_metadata.h"
#include "signpost/registry/registry.h"
#include "signpost/registry/registry_factory.h"

namespace signpost {

struct ApplicationRegistryOptions {
  std::string app;  // whose provider this process is; may be empty for pure consumers
  // Host written into the instance. Default: the host of the first registered URL.
  std::string host;
  // Labels: free metadata of the instance (weight, environment, ...).
  std::map<std::string, std::string> labels;
  // Where documents are kept and answered from by this process itself (storage type `local`).
  // Default, null: written to the centre (`remote`).
  std::shared_ptr<PublishedMetadata> published;
  // Of `local`: what the instance says about where it is asked (MetadataServer::InstanceMetadata).
  std::map<std::string, std::string> metadata_service;
  // Exports within this time become one revision. Default: 20 ms at first, Dubbo has 1 s later.
  absl::Duration debounce = absl::Milliseconds(20);
  // An attempt that failed is made again after 1 s, growing to 30 s.
  BackoffOptions retry = {absl::Seconds(1), absl::Seconds(30), 2.0, 0.5};
};

// What this process has written. For `provide`, operators and tests.
struct RegisteredState {
  std::string revision;            // "" before the first publication
  std::vector<std::string> paths;  // mapping, metadata, instance as the centre shows them
};

class ApplicationRegistry final : public Registry {
 public:
  ApplicationRegistry(Executor& executor, RegistryCentre& centre, EndpointTable& table,
                      MetadataResolver& resolver, ApplicationRegistryOptions options);
  ~ApplicationRegistry() override;

  // A protocol that parameter `accepts` of the centre's URL leaves out is not written: OK at once.
  void Register(const Url& provider, const CallOptions& options, DoneCallback done) override;
  void Unregister(const Url& provider, const CallOptions& options, DoneCallback done) override;
  void UnregisterAll(const CallOptions& options, DoneCallback done) override;
  void Subscribe(const Url& consumer, std::shared_ptr<NotifyListener> listener) override;
  void Unsubscribe(const Url& consumer, const std::shared_ptr<NotifyListener>& listener) override;
  void Lookup(const Url& consumer, const CallOptions& options, LookupCallback done) override;
  const Url& url() const override;
  bool IsAvailable() const override;
  void Close() override;

  RegisteredState registered() const;

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_APPLICATION_APPLICATION_REGISTRY_H_

#include "signpost/client/consumer.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "signpost/common/mutex.h"
#include "signpost/common/service_key.h"
#include "signpost/common/status.h"
#include "signpost/common/url.h"

namespace signpost {
namespace {

Url ConsumerUrl(const ServiceKey& key, const ReferOptions& options, const std::string& app,
                AddressSelector* address) {
  Url::Parts parts;
  parts.protocol = "consumer";
  parts.host = "0.0.0.0";
  parts.path = key.interface_name;
  auto set = [&parts](const char* name, const std::string& value) {
    if (!value.empty()) parts.parameters[name] = value;
  };
  set("interface", key.interface_name);
  set("side", "consumer");
  set("application", app);
  set("group", key.group);
  set("version", key.version);
  set("protocol", options.protocol);
  set("provided-by", options.provided_by);
  set("loadbalance", options.balancer);
  const MigrationFields& migration = options.migration;
  if (migration.step) set("migration.step", std::string(MigrationStepName(*migration.step)));
  if (migration.threshold) set("migration.threshold", absl::StrCat(*migration.threshold));
  if (migration.proportion) set("migration.promotion", absl::StrCat(*migration.proportion));
  if (migration.delay) {
    set("migration.delay", absl::StrCat(absl::ToInt64Seconds(*migration.delay)));
  }
  if (migration.force) set("migration.force", *migration.force ? "true" : "false");
  if (address != nullptr) {
    // A process without an address of its own may call others all the same.
    if (std::string seen = address->ConsumerHost(); !seen.empty()) parts.host = std::move(seen);
  }
  return Url(std::move(parts));
}

}  // namespace

struct Consumer::State {
  Parts parts;
  Mutex mutex;
  bool closed = false;
  std::map<std::string, std::weak_ptr<Directory>> directories;  // by the consumer's URL
};

Consumer::Consumer(Parts parts) : state_(std::make_shared<State>()) {
  state_->parts = std::move(parts);
}

absl::StatusOr<std::shared_ptr<Directory>> Consumer::Refer(absl::string_view service,
                                                           const ReferOptions& asked) {
  absl::StatusOr<ServiceKey> key = ServiceKey::Parse(service);
  if (!key.ok()) return Annotate(key.status(), absl::StrCat("refer '", service, "'"));
  if (absl::Status migration = asked.migration.Check(); !migration.ok()) {
    return Annotate(migration, absl::StrCat("refer '", service, "'"));
  }
  ReferOptions options = asked;
  if (options.balancer.empty()) options.balancer = state_->parts.balancer;
  State& state = *state_;
  // Not under the lock: it may ask the resolver.
  Url url = ConsumerUrl(*key, options, state.parts.app, state.parts.address.get());
  MutexLock lock(state.mutex);
  if (state.closed) {
    return absl::FailedPreconditionError(absl::StrCat("refer '", service, "': closed"));
  }
  // Those that went are forgotten here, so that the map is no larger than what was ever held at
  // once.
  for (auto it = state.directories.begin(); it != state.directories.end();) {
    it = it->second.expired() ? state.directories.erase(it) : std::next(it);
  }
  std::weak_ptr<Directory>& slot = state.directories[url.ToFullString()];
  std::shared_ptr<Directory> known = slot.lock();
  if (known != nullptr && !known->closed()) return known;

  absl::StatusOr<const BalancerFactory*> balancer = state.parts.balancers->Find(options.balancer);
  if (!balancer.ok()) return Annotate(balancer.status(), absl::StrCat("refer '", service, "'"));
  Directory::Parts parts;
  parts.service = key->ToString();
  parts.consumer = std::move(url);
  parts.executor = state.parts.executor;
  parts.centres = state.parts.centres;
  parts.routers = state.parts.routers;
  parts.router_options.url = parts.consumer;
  parts.balancer = **balancer;
  parts.balancer_options.url = parts.consumer;
  parts.balancer_options.clock = &state.parts.executor->clock();
  auto directory = std::make_shared<Directory>(std::move(parts));
  slot = directory;
  return directory;
}

void Consumer::Close() {
  std::vector<std::shared_ptr<Directory>> open;
  {
    MutexLock lock(state_->mutex);
    state_->closed = true;
    for (auto& [id, weak] : state_->directories) {
      if (auto directory = weak.lock()) open.push_back(std::move(directory));
    }
    state_->directories.clear();
  }
  for (const auto& directory : open) directory->Close();
  MutexLock lock(state_->mutex);
  state_->parts.centres.clear();
}

}  // namespace signpost

// Instances of applications in a registry centre.
//
// Threads: all methods from any thread; callbacks on the control executor, one at a time, no lock
//   held; they must not block.
// Ownership: as Store.
// Errors: as Store; messages name application and path.
#ifndef SIGNPOST_REGISTRY_SERVICE_DISCOVERY_H_
#define SIGNPOST_REGISTRY_SERVICE_DISCOVERY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "signpost/common/call_options.h"
#include "signpost/common/service_instance.h"
#include "signpost/common/subscription.h"

namespace signpost {

// A child that is no usable instance. Skipped, never fatal.
struct SkippedInstance {
  std::string path;
  std::string why;
  friend bool operator==(const SkippedInstance& a, const SkippedInstance& b) {
    return a.path == b.path && a.why == b.why;
  }
};

using InstancePtr = std::shared_ptr<const ServiceInstance>;

// All instances of one application at one moment, by id. Of two nodes with one address the newer
// (registration time) counts.
struct InstanceList {
  std::string app;
  uint64_t version = 0;
  std::vector<InstancePtr> instances;
  std::vector<SkippedInstance> skipped;
};

struct InstanceDelta {
  std::vector<InstancePtr> added;
  std::vector<InstancePtr> removed;
  struct Change {
    InstancePtr before;
    InstancePtr after;
  };
  std::vector<Change> changed;
};

struct InstanceUpdate {
  std::shared_ptr<const InstanceList> list;
  InstanceDelta delta;  // from the list this listener had before
};

class ServiceDiscovery {
 public:
  using ListCallback = absl::AnyInvocable<void(absl::StatusOr<std::vector<std::string>>) &&>;
  using InstancesCallback =
      absl::AnyInvocable<void(absl::StatusOr<std::shared_ptr<const InstanceList>>) &&>;
  // First the present state (also when empty), then each change. A retryable error: not known for
  // now, the watch goes on.
  using WatchCallback = absl::AnyInvocable<void(absl::StatusOr<InstanceUpdate>)>;

  virtual ~ServiceDiscovery() = default;

  // Writes the instance for as long as this process' session. Again with other metadata: updates it
  // in place. Validates first: nothing is written that a Java or Go consumer would choke on.
  virtual void Register(const ServiceInstance& instance, const CallOptions& options,
                        DoneCallback done) = 0;
  // OK also if it was not there.
  virtual void Unregister(const ServiceInstance& instance, const CallOptions& options,
                          DoneCallback done) = 0;

  // Applications that have a folder (an empty one too), sorted.
  virtual void ListApplications(const CallOptions& options, ListCallback done) = 0;
  virtual void ListInstances(const std::string& app, const CallOptions& options,
                             InstancesCallback done) = 0;
  virtual Subscription Watch(const std::string& app, WatchCallback on_change) = 0;

  // Where an instance lies, as people see it in the centre's own tools.
  virtual std::string PathOf(const ServiceInstance& instance) const = 0;
};

}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_SERVICE_DISCOVERY_H_

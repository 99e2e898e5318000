// Opens a registry centre by the scheme of its URL.
//
// A centre is one session to one place; discovery, metadata report, mapping and configuration of
// that place share it. Plug-ins add themselves to a RegistryFactories by an explicit call
// (client/plugins/<name>.h); there are no static registrars.
//
// Threads: Open from any thread but the control executor; a centre's ports as their own headers.
// Ownership: the centre owns its ports; destroying it closes the session (bounded, 5 s).
// Errors: kNotFound for an unknown scheme (lists the known ones); kInvalidArgument for a bad URL.
//   A centre that cannot be reached now is no error of Open: it goes on trying.
#ifndef SIGNPOST_REGISTRY_REGISTRY_FACTORY_H_
#define SIGNPOST_REGISTRY_REGISTRY_FACTORY_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "signpost/common/config_source.h"
#include "signpost/common/executor.h"
#include "signpost/common/factory_map.h"
#include "signpost/common/url.h"
#include "signpost/mapping/mapping_store.h"
#include "signpost/metadata/metadata_report.h"
#include "signpost/registry/service_discovery.h"
#include "signpost/registry/store/store.h"

namespace signpost {

class RegistryCentre {
 public:
  virtual ~RegistryCentre() = default;

  virtual ServiceDiscovery& discovery() = 0;
  virtual MetadataReport& metadata_report() = 0;
  virtual MappingStore& mapping_store() = 0;
  virtual ConfigSource& config_source() = 0;
  // Session events; the keys below the ports.
  virtual Store& store() = 0;
  virtual const Url& url() const = 0;
  // Ends the session; what was bound to it goes at once. At most 5 s. Idempotent. Not from the
  // control executor.
  virtual void Close() = 0;
};

struct CentreOptions {
  // The control executor. All callbacks run there.
  std::shared_ptr<Executor> executor;
  // Only reads: `embedded` then opens beside a running owner. Default: false
  bool read_only = false;
};

using RegistryFactory = std::function<absl::StatusOr<std::unique_ptr<RegistryCentre>>(
    const Url& url, const CentreOptions& options)>;

// By scheme: "zookeeper", "embedded", "memory", ...
using RegistryFactories = FactoryMap<RegistryFactory>;

}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_REGISTRY_FACTORY_H_

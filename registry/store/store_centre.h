// A RegistryCentre made of one Store: the adapters Store -> ServiceDiscovery, MetadataReport,
// MappingStore, ConfigSource, with Dubbo's layout of paths (docs/formats/zookeeper_layout.md).
//
// Threads, errors: as the ports.
#ifndef SIGNPOST_REGISTRY_STORE_STORE_CENTRE_H_
#define SIGNPOST_REGISTRY_STORE_STORE_CENTRE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "signpost/common/executor.h"
#include "signpost/common/url.h"
#include "signpost/registry/registry_factory.h"
#include "signpost/registry/store/store.h"

namespace signpost {

// Where things lie, from the registry URL. Parameter `group` moves all roots (instances too);
// `rootPath` moves the instances only. Defaults: Dubbo's.
struct StoreLayout {
  std::string instances = "/services";
  std::string metadata_java = "/dubbo/metadata";  // + /<app>/<revision>
  std::string metadata_go = "/dubbo";             // + /<app>/<revision>
  std::string mapping = "/dubbo/mapping";         // + /<interface>
  std::string config = "/dubbo/config";           // + /<group>/<key>
  std::string interfaces = "/dubbo";              // + /<interface>/<category>/<url>

  // Where documents are written, parameter `metadata-paths` (`java`, `go`, or both by a comma).
  // Default: both. A path less is a document less; its readers then see no `remote` provider.
  bool write_java = true;
  bool write_go = true;

  static StoreLayout FromUrl(const Url& url);
  // kInvalidArgument: a parameter that FromUrl would pass over.
  static absl::Status Check(const Url& url);

  // Where a document is written. Not below the instances (`group` puts dubbo-go's root there): a
  // child that is no instance blinds every Java consumer of the application.
  std::vector<std::string> MetadataRoots() const;
};

// Session time to live: parameter `session` of the URL (ms, default 60000).
absl::Duration SessionTtl(const Url& url);

std::unique_ptr<RegistryCentre> NewStoreCentre(const Url& url, std::shared_ptr<Executor> executor,
                                               std::unique_ptr<Store> store);

}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_STORE_STORE_CENTRE_H_

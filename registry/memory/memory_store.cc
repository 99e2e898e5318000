#include "signpost/registry/memory/memory_store.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "signpost/common/mutex.h"
#include "signpost/registry/store/store_centre.h"

namespace signpost {
namespace {

struct Centres {
  Mutex mutex;
  std::map<std::string, std::weak_ptr<LocalCentre>> by_name;
};

Centres& AllCentres() {
  static auto& centres = *new Centres;
  return centres;
}

}  // namespace

std::shared_ptr<LocalCentre> MemoryCentre(const std::string& name) {
  Centres& centres = AllCentres();
  MutexLock lock(centres.mutex);
  if (auto centre = centres.by_name[name].lock()) return centre;
  std::erase_if(centres.by_name, [](const auto& entry) { return entry.second.expired(); });
  LocalCentre::Options options;
  options.name = absl::StrCat("memory://", name);
  auto centre = std::make_shared<LocalCentre>(std::make_unique<MapKeyValue>(), std::move(options));
  centres.by_name[name] = centre;
  return centre;
}

absl::StatusOr<std::unique_ptr<RegistryCentre>> OpenMemoryCentre(const Url& url,
                                                                 const CentreOptions& options) {
  if (url.protocol() != "memory" || !url.path().empty() || url.port() != 0) {
    return absl::InvalidArgumentError(absl::StrCat(url.ToString(), ": expected memory://name"));
  }
  return NewStoreCentre(url, options.executor,
                        NewLocalStore(MemoryCentre(url.host()), options.executor));
}

}  // namespace signpost

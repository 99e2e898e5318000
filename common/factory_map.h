// Plug-ins by name, listed explicitly: no static registrars. The instance for a T lives with T
// or in the client.
//
// Threads: Add while one thread sets up; afterwards const methods from any thread.
// Errors: Add of a known name is kAlreadyExists; Find of an unknown one is kNotFound and lists
//   the known names.
#ifndef SIGNPOST_COMMON_FACTORY_MAP_H_
#define SIGNPOST_COMMON_FACTORY_MAP_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace signpost {

// `kind` is what error texts call an entry: "registry", "balancer", ...
template <typename Factory>
class FactoryMap {
 public:
  explicit FactoryMap(std::string kind) : kind_(std::move(kind)) {}

  absl::Status Add(std::string name, Factory factory) {
    if (factories_.count(name) != 0) {
      return absl::AlreadyExistsError(absl::StrCat(kind_, " '", name, "' was added twice"));
    }
    factories_.emplace(std::move(name), std::move(factory));
    return absl::OkStatus();
  }

  // The pointer lives as long as this map.
  absl::StatusOr<const Factory*> Find(absl::string_view name) const {
    auto found = factories_.find(std::string(name));
    if (found == factories_.end()) {
      return absl::NotFoundError(
          absl::StrCat("unknown ", kind_, " '", name, "'; known: ", absl::StrJoin(Names(), ", ")));
    }
    return &found->second;
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& [name, factory] : factories_) names.push_back(name);
    return names;
  }

 private:
  std::string kind_;
  std::map<std::string, Factory> factories_;
};

}  // namespace signpost

#endif  // SIGNPOST_COMMON_FACTORY_MAP_H_

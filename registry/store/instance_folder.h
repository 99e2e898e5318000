// The children of one application's folder as instances. Private to this folder.
//
// Threads: one at a time.
#ifndef SIGNPOST_REGISTRY_STORE_INSTANCE_FOLDER_H_
#define SIGNPOST_REGISTRY_STORE_INSTANCE_FOLDER_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "signpost/registry/service_discovery.h"
#include "signpost/registry/store/store.h"

namespace signpost::store_internal {

class InstanceFolder {
 public:
  InstanceFolder(std::string app, std::string path)
      : app_(std::move(app)), path_(std::move(path)) {}

  // The instances after `delta`, and what changed. A child that comes with the bytes it had is not
  // parsed again.
  InstanceUpdate Apply(const TreeDelta& delta);

 private:
  struct Node {
    std::string bytes;
    bool exists = true;
    InstancePtr instance;  // null: skipped
    std::string why;
  };

  void Set(const StoreChild& child, std::set<std::string>& touched);
  void Remove(const std::string& name, std::set<std::string>& touched);
  void Forget(const std::string& name, const Node& node, std::set<std::string>& touched);
  // The one that counts among the nodes of one address, or null.
  InstancePtr Newest(const std::string& id) const;

  const std::string app_;
  const std::string path_;
  std::map<std::string, Node> nodes_;                         // by child name
  std::map<std::string, std::string> skipped_;                // child name -> why
  std::map<std::string, std::set<std::string>> names_by_id_;  // host:port -> child names
  std::map<std::string, InstancePtr> current_;                // host:port -> what counts
  uint64_t version_ = 0;
};

}  // namespace signpost::store_internal

#endif  // SIGNPOST_REGISTRY_STORE_INSTANCE_FOLDER_H_

// Loads a capture (a JSON array of nodes) into a real ZooKeeper.
#ifndef SIGNPOST_TESTS_INTEGRATION_ZOOKEEPER_TREE_H_
#define SIGNPOST_TESTS_INTEGRATION_ZOOKEEPER_TREE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "signpost/registry/registry_factory.h"

namespace signpost {

struct CapturedNode {
  std::string path;
  std::string data;
  bool ephemeral = false;
};

absl::StatusOr<std::vector<CapturedNode>> ReadCapture(const std::string& file);

// Ephemeral nodes live as long as `centre`.
absl::Status WriteNodes(RegistryCentre& centre, const std::vector<CapturedNode>& nodes);

}  // namespace signpost

#endif  // SIGNPOST_TESTS_INTEGRATION_ZOOKEEPER_TREE_H_

#include "tests/integration/zookeeper_tree.h"

#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "signpost/common/await.h"
#include "signpost/common/json.h"
#include "signpost/common/status.h"

namespace signpost {

absl::StatusOr<std::vector<CapturedNode>> ReadCapture(const std::string& file) {
  std::ifstream in(file);
  if (!in) return absl::NotFoundError(absl::StrCat(file, ": cannot be read"));
  std::stringstream text;
  text << in.rdbuf();
  auto json = Json::Parse(text.str());
  if (!json.ok()) return Annotate(json.status(), file);
  std::vector<CapturedNode> nodes;
  for (const Json& node : json->AsArray()) {
    nodes.push_back({node["path"].AsString(), node["data"].AsString(), node["ephemeral"].AsBool()});
  }
  return nodes;
}

absl::Status WriteNodes(RegistryCentre& centre, const std::vector<CapturedNode>& nodes) {
  for (const CapturedNode& node : nodes) {
    if (node.path == "/") continue;
    auto version = Await<absl::StatusOr<int64_t>>(absl::Seconds(10), [&](auto done) {
      if (node.ephemeral) {
        centre.store().CreateSessionBound(node.path, node.data, absl::Seconds(60), CallOptions(),
                                          std::move(done));
      } else {
        centre.store().Put(node.path, node.data, CallOptions(), std::move(done));
      }
    });
    if (!version.ok()) return version.status();
  }
  return absl::OkStatus();
}

}  // namespace signpost

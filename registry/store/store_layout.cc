#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "signpost/registry/store/store_centre.h"

namespace signpost {
namespace {

// "foo", "/foo", "/foo/" -> "/foo"; "" and "/" -> "".
std::string AsRoot(absl::string_view text) {
  while (absl::ConsumePrefix(&text, "/")) {
  }
  while (absl::ConsumeSuffix(&text, "/")) {
  }
  return text.empty() ? std::string() : absl::StrCat("/", text);
}

}  // namespace

StoreLayout StoreLayout::FromUrl(const Url& url) {
  StoreLayout layout;
  const std::string group = AsRoot(url.Get("group"));
  if (!group.empty()) {
    layout.instances = group;
    layout.metadata_java = group + "/metadata";
    layout.metadata_go = group;
    layout.mapping = group + "/mapping";
    layout.config = group + "/config";
    layout.interfaces = group;
  }
  // As Java: a rootPath that is the default one does not stand against `group`.
  const std::string root_path = AsRoot(url.Get("rootPath"));
  if (!root_path.empty() && !absl::EqualsIgnoreCase(root_path, "/services")) {
    layout.instances = root_path;
  }
  return layout;
}

std::vector<std::string> StoreLayout::MetadataRoots() const {
  std::vector<std::string> roots = {metadata_java};
  if (metadata_go != instances) roots.push_back(metadata_go);
  return roots;
}

}  // namespace signpost

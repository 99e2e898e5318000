#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
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

struct MetadataPaths {
  bool java = false;
  bool go = false;
};

// None: unknown words.
std::optional<MetadataPaths> MetadataPathsOf(const Url& url) {
  MetadataPaths paths;
  for (absl::string_view word : absl::StrSplit(url.Get("metadata-paths", "java,go"), ',')) {
    word = absl::StripAsciiWhitespace(word);
    if (word == "java") {
      paths.java = true;
    } else if (word == "go") {
      paths.go = true;
    } else {
      return std::nullopt;
    }
  }
  return paths;
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
  const std::optional<MetadataPaths> paths = MetadataPathsOf(url);
  if (paths.has_value()) {
    layout.write_java = paths->java;
    layout.write_go = paths->go;
  }
  return layout;
}

absl::Status StoreLayout::Check(const Url& url) {
  if (MetadataPathsOf(url).has_value()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("parameter metadata-paths=", url.Get("metadata-paths"),
                   "; known: java, go, or both by a comma"));
}

std::vector<std::string> StoreLayout::MetadataRoots() const {
  std::vector<std::string> roots;
  if (write_java) roots.push_back(metadata_java);
  if (write_go && metadata_go != instances) roots.push_back(metadata_go);
  // Nowhere would leave every consumer without.
  if (roots.empty()) roots.push_back(metadata_java);
  return roots;
}

}  // namespace signpost

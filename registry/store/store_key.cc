#include "signpost/registry/store/store_key.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "signpost/common/url.h"

namespace signpost {

absl::Status CheckStoreKey(const std::string& key) {
  const auto bad = [&key](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(absl::CHexEscape(key), ": ", why));
  };
  if (key.empty() || key[0] != '/') return bad("a key starts with a slash");
  if (!IsValidUtf8(key)) return bad("a key is UTF-8");
  if (std::any_of(key.begin(), key.end(), absl::ascii_iscntrl)) {
    return bad("control characters are not allowed in a key");
  }
  for (absl::string_view part : absl::StrSplit(absl::string_view(key).substr(1), '/')) {
    if (part.empty()) return bad("a part of the key is empty");
    if (part == "." || part == "..") return bad("relative parts are not allowed in a key");
  }
  return absl::OkStatus();
}

absl::Status CheckStorePrefix(const std::string& prefix) {
  return prefix == "/" ? absl::OkStatus() : CheckStoreKey(prefix);
}

}  // namespace signpost

#include "signpost/registry/store/store_key.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "signpost/common/url.h"

namespace signpost {
namespace {

// Of a key, in a message.
constexpr size_t kShown = 200;

}  // namespace

absl::Status CheckStoreKey(const std::string& key) {
  const auto bad = [&key](absl::string_view why) {
    const absl::string_view shown = absl::string_view(key).substr(0, kShown);
    return absl::InvalidArgumentError(
        absl::StrCat(absl::CHexEscape(shown), key.size() > kShown ? "..." : "", ": ", why));
  };
  if (key.size() > kMaxStoreKeyBytes) {
    return bad(absl::StrCat("a key of ", key.size(), " bytes; the limit is ", kMaxStoreKeyBytes));
  }
  if (key.empty() || key[0] != '/') return bad("a key starts with a slash");
  if (!IsValidUtf8(key)) return bad("a key is UTF-8");
  if (std::any_of(key.begin(), key.end(), absl::ascii_iscntrl)) {
    return bad("control characters are not allowed in a key");
  }
  const auto depth = static_cast<size_t>(std::count(key.begin(), key.end(), '/'));
  if (depth > kMaxStoreKeyParts) {
    return bad(absl::StrCat("a key of ", depth, " parts; the limit is ", kMaxStoreKeyParts));
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

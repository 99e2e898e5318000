#include "signpost/metadata/revision.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "signpost/common/md5.h"
#include "signpost/common/service_instance.h"

namespace signpost {
namespace {

// The order of Java's String.compareTo, which compares UTF-16 units: the supplementary characters
// (first byte F0 and up) come before U+E000..U+FFFF (first byte EE or EF). Else bytes decide.
bool JavaLess(absl::string_view a, absl::string_view b) {
  const size_t common = std::min(a.size(), b.size());
  for (size_t i = 0; i < common; ++i) {
    const auto x = static_cast<unsigned char>(a[i]);
    const auto y = static_cast<unsigned char>(b[i]);
    if (x == y) continue;
    if (x >= 0xEE && y >= 0xEE && (x >= 0xF0) != (y >= 0xF0)) return x >= 0xF0;
    return x < y;
  }
  return a.size() < b.size();
}

// Entries of `map` in Java's order.
template <typename Value>
std::vector<const std::pair<const std::string, Value>*> InJavaOrder(
    const std::map<std::string, Value>& map) {
  std::vector<const std::pair<const std::string, Value>*> entries;
  entries.reserve(map.size());
  for (const auto& entry : map) entries.push_back(&entry);
  std::sort(entries.begin(), entries.end(),
            [](const auto* a, const auto* b) { return JavaLess(a->first, b->first); });
  return entries;
}

}  // namespace

std::string ComputeRevision(const MetadataInfo& info) {
  if (info.services.empty()) return kNoServicesRevision;
  std::string text = info.app;
  for (const auto* entry : InJavaOrder(info.services)) {
    const ServiceInfo& service = entry->second;
    absl::StrAppend(&text, service.match_key(), service.port, service.path, "{");
    absl::string_view separator;
    for (const auto* param : InJavaOrder(service.params)) {
      absl::StrAppend(&text, separator, param->first, "=", param->second);
      separator = ", ";
    }
    text += '}';
  }
  return Md5Hex(text);
}

}  // namespace signpost

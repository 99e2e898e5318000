#include "signpost/common/near_miss.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace signpost {
namespace {

constexpr size_t kMaxEdits = 2;
constexpr size_t kMaxShown = 10;

// Letters to insert, to leave out, to replace, or to swap with the next one; case does not count.
// Only looked at where the sizes differ by no more than kMaxEdits, so it is short.
size_t Edits(absl::string_view a, absl::string_view b) {
  const auto same = [](char x, char y) {
    return absl::ascii_tolower(static_cast<unsigned char>(x)) ==
           absl::ascii_tolower(static_cast<unsigned char>(y));
  };
  std::vector<size_t> before_last(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + !same(a[i - 1], b[j - 1])});
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1])) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    before_last.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

// Of a short name half of it would be another word: `time` is no `side`.
size_t Allowed(absl::string_view a, absl::string_view b) {
  return std::min(a.size(), b.size()) <= 4 ? 1 : kMaxEdits;
}

std::string Quoted(absl::string_view key) {
  return absl::StrCat("'", absl::CHexEscape(key.substr(0, 100)), "'");
}

}  // namespace

absl::string_view NearMiss(absl::string_view key, const std::vector<absl::string_view>& known) {
  absl::string_view nearest;
  size_t fewest = kMaxEdits + 1;
  for (absl::string_view name : known) {
    if (name == key) return name;
    if (std::max(name.size(), key.size()) - std::min(name.size(), key.size()) > kMaxEdits) continue;
    const size_t edits = Edits(key, name);
    if (edits > Allowed(key, name) || edits >= fewest) continue;
    fewest = edits;
    nearest = name;
  }
  return nearest;
}

absl::Status CheckKeys(const Json& object, absl::string_view where,
                       const std::vector<absl::string_view>& known,
                       std::vector<std::string>* unknown) {
  const std::string place = where.empty() ? "" : absl::StrCat(where, ": ");
  for (const auto& [key, value] : object.AsObject()) {
    const absl::string_view near = NearMiss(key, known);
    if (near == key && !near.empty()) continue;
    if (!near.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(place, "unknown key ", Quoted(key), ", did you mean '", near, "'?"));
    }
    if (unknown != nullptr) unknown->push_back(absl::StrCat(place, Quoted(key)));
  }
  return absl::OkStatus();
}

std::string DescribeUnknown(const std::vector<std::string>& unknown) {
  if (unknown.empty()) return "";
  const size_t shown = std::min(unknown.size(), kMaxShown);
  std::string text = absl::StrCat("unknown keys do nothing: ",
                                  absl::StrJoin(unknown.begin(), unknown.begin() + shown, ", "));
  if (shown < unknown.size()) absl::StrAppend(&text, " and ", unknown.size() - shown, " more");
  return text;
}

}  // namespace signpost

// Values as text, for the tests of this folder.
#ifndef SIGNPOST_TESTS_METADATA_HESSIAN2_SHOW_VALUE_H_
#define SIGNPOST_TESTS_METADATA_HESSIAN2_SHOW_VALUE_H_

#include <cstdint>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "signpost/metadata/hessian2/codec.h"
#include "signpost/metadata/hessian2/value.h"

namespace signpost::hessian2 {

// Long ones by their beginning, length and hash (FNV-1a).
inline std::string ShowText(absl::string_view text) {
  constexpr size_t kMost = 40;
  if (text.size() <= kMost) return absl::StrCat("\"", absl::Utf8SafeCHexEscape(text), "\"");
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return absl::StrFormat("\"%s\"...%d/%016x", absl::CHexEscape(text.substr(0, 16)), text.size(),
                         hash);
}

inline std::string Show(const Value& value) {
  std::string text;
  switch (value.kind) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return value.number != 0 ? "true" : "false";
    case Kind::kInt:
      return absl::StrCat(value.number);
    case Kind::kLong:
      return absl::StrCat(value.number, "L");
    case Kind::kDouble:
      return absl::StrFormat("%.17gd", value.real);
    case Kind::kDate:
      return absl::StrCat("date ", value.number);
    case Kind::kString:
      return ShowText(value.text);
    case Kind::kBinary:
      return "binary " + ShowText(value.text);
    case Kind::kList:
      for (const ValuePtr& item : value.items) {
        absl::StrAppend(&text, text.empty() ? "" : ", ", Show(*item));
      }
      return absl::StrCat(value.type, "[", text, "]");
    case Kind::kMap:
    case Kind::kObject:
      for (const auto& [key, each] : value.entries) {
        absl::StrAppend(&text, text.empty() ? "" : ", ", Show(*key), ": ", Show(*each));
      }
      return absl::StrCat(value.kind == Kind::kMap ? "" : "object ", value.type, "{", text, "}");
  }
  return "unknown";
}

// Every value of a message on a line; then a line with the error, if there is one.
inline std::string ShowMessage(absl::string_view bytes, const DecodeLimits& limits = {}) {
  Decoder decoder(bytes, limits);
  std::string lines;
  while (!decoder.done()) {
    const auto value = decoder.Next();
    if (!value.ok()) return absl::StrCat(lines, "error: ", value.status().message(), "\n");
    absl::StrAppend(&lines, Show(**value), "\n");
  }
  return lines;
}

}  // namespace signpost::hessian2

#endif  // SIGNPOST_TESTS_METADATA_HESSIAN2_SHOW_VALUE_H_

// A small JSON document: parse with bounds, walk, build, print.
//
// Threads: values; not shared while changed.
// Errors: kInvalidArgument with the offset. Never aborts, never recurses without bound.
#ifndef SIGNPOST_COMMON_JSON_H_
#define SIGNPOST_COMMON_JSON_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace signpost {

class Json {
 public:
  using Array = std::vector<Json>;
  // In the order of the document; of equal keys the last one counts (as Jackson).
  using Object = std::vector<std::pair<std::string, Json>>;

  struct Limits {
    size_t max_bytes = 8 << 20;  // Default: 8 MiB
    int max_depth = 64;          // Default: 64
  };

  Json() = default;                                              // null
  Json(bool value) : value_(value) {}                            // NOLINT
  Json(int64_t value) : value_(value) {}                         // NOLINT
  Json(int value) : value_(int64_t{value}) {}                    // NOLINT
  Json(double value) : value_(value) {}                          // NOLINT
  Json(std::string value) : value_(std::move(value)) {}          // NOLINT
  Json(absl::string_view value) : value_(std::string(value)) {}  // NOLINT
  Json(const char* value) : value_(std::string(value)) {}        // NOLINT
  Json(Array value) : value_(std::move(value)) {}                // NOLINT
  Json(Object value) : value_(std::move(value)) {}               // NOLINT

  static absl::StatusOr<Json> Parse(absl::string_view text, const Limits& limits);
  static absl::StatusOr<Json> Parse(absl::string_view text) { return Parse(text, Limits()); }

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_int() const { return std::holds_alternative<int64_t>(value_); }
  bool is_number() const { return is_int() || std::holds_alternative<double>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }

  // The value, or the fallback when this is of another kind.
  bool AsBool(bool fallback = false) const;
  int64_t AsInt(int64_t fallback = 0) const;  // also from text that is a whole number
  double AsDouble(double fallback = 0) const;
  const std::string& AsString() const;  // "" for another kind
  // Text of a scalar: strings as they are, numbers and booleans printed; "" for the rest.
  std::string AsText() const;
  const Array& AsArray() const;    // empty for another kind
  const Object& AsObject() const;  // empty for another kind

  // The member, or null when absent or this is no object.
  const Json& operator[](absl::string_view key) const;
  bool Has(absl::string_view key) const;
  // Adds or replaces. Makes this an object if it is null.
  Json& Set(absl::string_view key, Json value);
  // Appends. Makes this an array if it is null.
  Json& Append(Json value);

  // Compact, UTF-8 as it is, members in their order.
  std::string Print() const;
  // Indented by two blanks.
  std::string PrintPretty() const;

  friend bool operator==(const Json& a, const Json& b) { return a.value_ == b.value_; }

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> value_;
};

// An object of strings in key order.
Json JsonFromStringMap(const std::map<std::string, std::string>& map);

}  // namespace signpost

#endif  // SIGNPOST_COMMON_JSON_H_

// Bounded reading of Java's properties format (options).
//
// As java.util.Properties reads it: comments start with `#` or `!`; key and value are separated by
// `=`, `:` or blanks; a line whose end is an odd number of `\` goes on in the next; escapes \t \n
// \r \f \uXXXX (surrogates in pairs), `\` before another character is that character. Stricter:
// the text is UTF-8; a broken \u escape, an empty key and control characters that are no white
// space are errors.
//
// Errors: kInvalidArgument with the line; no value is shown. Never aborts.
#ifndef SIGNPOST_COMMON_PROPERTIES_H_
#define SIGNPOST_COMMON_PROPERTIES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace signpost {

struct PropertiesLimits {
  size_t max_bytes = 1 << 20;   // Default: 1 MiB
  size_t max_entries = 100000;  // Default: 100,000
};

struct Property {
  std::string key;
  std::string value;
  int line = 0;  // where it begins, from 1
};

// In the order of the text; of equal keys the last one counts, as in Java.
absl::StatusOr<std::vector<Property>> ParseProperties(
    absl::string_view text, const PropertiesLimits& limits = PropertiesLimits());

}  // namespace signpost

#endif  // SIGNPOST_COMMON_PROPERTIES_H_

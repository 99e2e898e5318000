// Bounded reading of YAML into Json values (rules, options).
//
// Scalars: `true`/`false`, whole numbers, decimals and null as YAML 1.2 core has them when plain;
// quoted scalars are always strings. Custom tags, aliases beyond the limits, duplicate keys, merge
// keys (`<<`) and deeper nesting are errors.
//
// Errors: kInvalidArgument with line and column. Never aborts.
#ifndef SIGNPOST_COMMON_YAML_H_
#define SIGNPOST_COMMON_YAML_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "signpost/common/json.h"

namespace signpost {

struct YamlLimits {
  size_t max_bytes = 1 << 20;  // Default: 1 MiB; also of all scalars with aliases written out
  int max_depth = 64;          // Default: 64
  size_t max_nodes = 100000;   // Default: 100,000 in all; aliases count as what they stand for
  // True: plain scalars stay the text that they are (`007`, `1.10`), but null. Default: false
  bool plain_is_text = false;
  // True: plain `yes`, `No`, `on`, `OFF`, `True` and so on are booleans, as YAML 1.1 and Java's
  // reader have them; with plain_is_text too. Default: false
  bool yaml_1_1_booleans = false;
};

// All documents of the text; an empty text has none.
absl::StatusOr<std::vector<Json>> ParseYaml(absl::string_view text,
                                            const YamlLimits& limits = YamlLimits());

}  // namespace signpost

#endif  // SIGNPOST_COMMON_YAML_H_

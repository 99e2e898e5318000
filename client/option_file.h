// Reads a file of options to flat keys. Private to client.
//
// `.yaml` and `.yml`: YAML, keys nested or flat (`dubbo.application.name: shop`), lists of scalars
// as comma lists, scalars as they are written. Anything else: Java's properties.
//
// Errors: kNotFound, kPermissionDenied and so on for what cannot be read; kInvalidArgument for what
// cannot be parsed. Both name the file and, where there is one, the line; no value is shown.
#ifndef SIGNPOST_CLIENT_OPTION_FILE_H_
#define SIGNPOST_CLIENT_OPTION_FILE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace signpost {

inline constexpr size_t kMaxOptionFileBytes = 1 << 20;

struct FileOption {
  std::string key;      // as written, parts joined by dots
  std::string value;    // "" for YAML's null
  std::string where;    // `shop.properties line 3: dubbo.application.name`
  bool is_text = true;  // false: a mapping, or a list of more than scalars
};

// In the order of the file; of equal keys the last one counts.
absl::StatusOr<std::vector<FileOption>> ReadOptionFile(const std::string& path);

}  // namespace signpost

#endif  // SIGNPOST_CLIENT_OPTION_FILE_H_

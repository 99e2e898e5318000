// MD5 as Dubbo uses it: a fingerprint, not a protection.
#ifndef SIGNPOST_COMMON_MD5_H_
#define SIGNPOST_COMMON_MD5_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace signpost {

std::array<uint8_t, 16> Md5(absl::string_view bytes);

// 32 lower-case hex digits.
std::string Md5Hex(absl::string_view bytes);

}  // namespace signpost

#endif  // SIGNPOST_COMMON_MD5_H_

// A string as Hessian 2.0 writes it: all that a method with strings alone needs.
//
//   x00-x1f text            length 0-31
//   x30-x33 b0 text         length 0-1023
//   'S' b1 b0 text          length 0-65535
//   'R' b1 b0 text string   a chunk that is not the last
//
// The length counts UTF-16 units, not bytes. Each unit is written as UTF-8 would write it, so a
// character above U+FFFF is two units of three bytes each, as Java and dubbo-go have it.
//
// Source: Hessian 2.0 serialization protocol, section 4.11; Hessian2Output of Dubbo's hessian-lite.
#ifndef SIGNPOST_TESTS_INTEROP_TRIPLE_HESSIAN_STRING_H_
#define SIGNPOST_TESTS_INTEROP_TRIPLE_HESSIAN_STRING_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace signpost::interop {

// kInvalidArgument if `text` is not UTF-8.
absl::StatusOr<std::string> EncodeHessianString(absl::string_view text);

// UTF-8. kInvalidArgument if `data` is anything but one string: another type, null, cut short,
// half of a surrogate pair, more behind it.
absl::StatusOr<std::string> DecodeHessianString(absl::string_view data);

}  // namespace signpost::interop

#endif  // SIGNPOST_TESTS_INTEROP_TRIPLE_HESSIAN_STRING_H_

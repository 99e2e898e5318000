// The messages that Triple wraps around a call of a plain Java interface, in Protobuf's format:
//
//   message TripleRequestWrapper {
//     string serializeType = 1;    // hessian2; hessian4 on the wire from Java
//     repeated bytes args = 2;     // each argument by itself
//     repeated string argTypes = 3;  // java.lang.String
//   }
//   message TripleResponseWrapper {
//     string serializeType = 1;  // as asked
//     bytes data = 2;
//     string type = 3;           // java.lang.String
//   }
//
// By hand: they are too small to ask every builder for the Protobuf compiler and its headers.
//
// Source: triple_wrapper.proto of Dubbo 3.3 (Java and Go have the same).
#ifndef SIGNPOST_TESTS_INTEROP_TRIPLE_TRIPLE_WRAPPER_H_
#define SIGNPOST_TESTS_INTEROP_TRIPLE_TRIPLE_WRAPPER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace signpost::interop {

struct TripleRequest {
  std::string serialize_type;
  std::vector<std::string> args;
  std::vector<std::string> arg_types;
};

struct TripleResponse {
  std::string serialize_type;
  std::string data;
  std::string type;
};

// Fields of other numbers are left out, as Protobuf does. kInvalidArgument for what is no message.
absl::StatusOr<TripleRequest> ParseTripleRequest(absl::string_view data);
absl::StatusOr<TripleResponse> ParseTripleResponse(absl::string_view data);

std::string Serialize(const TripleRequest& request);
std::string Serialize(const TripleResponse& response);

}  // namespace signpost::interop

#endif  // SIGNPOST_TESTS_INTEROP_TRIPLE_TRIPLE_WRAPPER_H_

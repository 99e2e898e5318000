// A value of Hessian 2, the serialization that Dubbo's Java and Go peers use: what a Decoder gives
// and an Encoder takes. Only what calls of MetadataService need has meaning here.
//
// Threads: a value does not change once it is shared.
// Source: the Hessian 2.0 serialization specification, as com.alibaba.com.caucho.hessian writes it.
#ifndef SIGNPOST_METADATA_HESSIAN2_VALUE_H_
#define SIGNPOST_METADATA_HESSIAN2_VALUE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace signpost::hessian2 {

struct Value;
using ValuePtr = std::shared_ptr<const Value>;  // never null: Hessian's null is Kind::kNull

enum class Kind {
  kNull,
  kBool,
  kInt,
  kLong,
  kDouble,
  kDate,
  kString,
  kBinary,
  kList,
  kMap,
  kObject
};

struct Value {
  Kind kind = Kind::kNull;
  int64_t number = 0;           // bool (0 or 1), int, long; date: ms since 1970
  double real = 0;              // double
  std::string text;             // string (UTF-8) or binary
  std::string type;             // of a list, map or object: the Java class; may be empty
  std::vector<ValuePtr> items;  // list
  std::vector<std::pair<ValuePtr, ValuePtr>> entries;  // map; object: field name (a string), value
};

}  // namespace signpost::hessian2

#endif  // SIGNPOST_METADATA_HESSIAN2_VALUE_H_

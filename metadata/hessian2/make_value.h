// Short ways to make values.
//
// Threads: any.
#ifndef SIGNPOST_METADATA_HESSIAN2_MAKE_VALUE_H_
#define SIGNPOST_METADATA_HESSIAN2_MAKE_VALUE_H_

#include <string>
#include <utility>
#include <vector>

#include "signpost/metadata/hessian2/value.h"

namespace signpost::hessian2 {

using Items = std::vector<ValuePtr>;
using Entries = std::vector<std::pair<ValuePtr, ValuePtr>>;

// Null, the booleans and the empty string are there once for the whole process.
const ValuePtr& NullValue();
const ValuePtr& BoolValue(bool value);
ValuePtr IntValue(int32_t value);
ValuePtr LongValue(int64_t value);
ValuePtr DoubleValue(double value);
ValuePtr DateValue(int64_t ms);
ValuePtr StringValue(std::string text);  // UTF-8
ValuePtr BinaryValue(std::string bytes);
ValuePtr ListValue(std::string type, Items items);
ValuePtr MapValue(std::string type, Entries entries);
ValuePtr ObjectValue(std::string type, Entries fields);

}  // namespace signpost::hessian2

#endif  // SIGNPOST_METADATA_HESSIAN2_MAKE_VALUE_H_

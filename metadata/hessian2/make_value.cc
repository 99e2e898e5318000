#include "signpost/metadata/hessian2/make_value.h"

#include <memory>

namespace signpost::hessian2 {
namespace {

std::shared_ptr<Value> Make(Kind kind) {
  auto value = std::make_shared<Value>();
  value->kind = kind;
  return value;
}

ValuePtr Number(Kind kind, int64_t number) {
  auto value = Make(kind);
  value->number = number;
  return value;
}

ValuePtr Text(Kind kind, std::string text) {
  auto value = Make(kind);
  value->text = std::move(text);
  return value;
}

ValuePtr Pairs(Kind kind, std::string type, Entries entries) {
  auto value = Make(kind);
  value->type = std::move(type);
  value->entries = std::move(entries);
  return value;
}

}  // namespace

// Never destroyed, so that they may be used while the process ends.
const ValuePtr& NullValue() {
  static const ValuePtr* const value = new ValuePtr(Make(Kind::kNull));
  return *value;
}

const ValuePtr& BoolValue(bool value) {
  static const ValuePtr* const no = new ValuePtr(Number(Kind::kBool, 0));
  static const ValuePtr* const yes = new ValuePtr(Number(Kind::kBool, 1));
  return value ? *yes : *no;
}

ValuePtr IntValue(int32_t value) { return Number(Kind::kInt, value); }

ValuePtr LongValue(int64_t value) { return Number(Kind::kLong, value); }

ValuePtr DoubleValue(double value) {
  auto made = Make(Kind::kDouble);
  made->real = value;
  return made;
}

ValuePtr DateValue(int64_t ms) { return Number(Kind::kDate, ms); }

ValuePtr StringValue(std::string text) {
  static const ValuePtr* const empty = new ValuePtr(Make(Kind::kString));
  return text.empty() ? *empty : Text(Kind::kString, std::move(text));
}

ValuePtr BinaryValue(std::string bytes) { return Text(Kind::kBinary, std::move(bytes)); }

ValuePtr ListValue(std::string type, Items items) {
  auto value = Make(Kind::kList);
  value->type = std::move(type);
  value->items = std::move(items);
  return value;
}

ValuePtr MapValue(std::string type, Entries entries) {
  return Pairs(Kind::kMap, std::move(type), std::move(entries));
}

ValuePtr ObjectValue(std::string type, Entries fields) {
  return Pairs(Kind::kObject, std::move(type), std::move(fields));
}

}  // namespace signpost::hessian2

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "signpost/metadata/hessian2/codec.h"
#include "signpost/metadata/hessian2/make_value.h"
#include "signpost/metadata/hessian2/reader.h"

namespace signpost::hessian2 {
namespace {

using hessian2_internal::IsBinary;
using hessian2_internal::IsInt;
using hessian2_internal::IsString;

// A value with what shared_ptr and the allocator add.
constexpr size_t kValueBytes = sizeof(Value) + 32;
constexpr size_t kNobody = static_cast<size_t>(-1);

// Of vectors, which have up to twice the room that they need.
template <typename T>
constexpr size_t SlotBytes() {
  return 2 * sizeof(T);
}

}  // namespace

struct Decoder::State : hessian2_internal::Reader {
  struct Class {
    std::string type;
    std::vector<ValuePtr> fields;
  };
  struct Reference {
    ValuePtr value;     // null: not finished
    size_t height = 1;  // how deep it is inside: at least itself
  };
  // Where a value stands, and how high it turns out to be.
  struct Place {
    size_t depth = 0;           // lists, maps and objects around it
    size_t owner = kNobody;     // the object that has it as its `cause`
    size_t* tallest = nullptr;  // of its neighbours so far
  };

  State(absl::string_view the_bytes, const DecodeLimits& the_limits)
      : Reader(the_bytes, the_limits.max_memory_bytes), limits(the_limits) {}

  const DecodeLimits limits;
  // Deques: a class is in use while its objects define further ones.
  std::deque<Class> classes;
  std::deque<std::string> types;
  std::vector<Reference> references;

  // The name of a type, or the number of one that was named before.
  bool Type(std::string& type) {
    uint8_t tag = 0;
    if (!Byte(tag)) return false;
    size_t index = types.size();
    if (IsString(tag)) {
      if (!String(tag, types.emplace_back()) || !Charge(SlotBytes<std::string>())) return false;
    } else {
      Back();
      if (!Index("type", types.size(), index)) return false;
    }
    // Each value has its own copy.
    if (!Charge(types[index].size())) return false;
    type = types[index];
    return true;
  }

  bool Definition() {
    Class& added = classes.emplace_back();
    uint8_t tag = 0;
    if (!Charge(SlotBytes<Class>()) || !Byte(tag) || !String(tag, added.type)) return false;
    size_t count = 0;
    if (!Count("fields of a class", count)) return false;
    for (size_t i = 0; i < count; ++i) {
      std::string name;
      if (!Charge(kValueBytes + SlotBytes<ValuePtr>()) || !Byte(tag) || !String(tag, name)) {
        return false;
      }
      added.fields.push_back(StringValue(std::move(name)));
    }
    return true;
  }

  bool Scalar(ValuePtr& out, ValuePtr value) {
    out = std::move(value);
    return Charge(kValueBytes);
  }

  bool Number(Kind kind, bool read, int64_t number, ValuePtr& out) {
    if (!read) return false;
    if (kind == Kind::kInt) return Scalar(out, IntValue(static_cast<int32_t>(number)));
    return Scalar(out, kind == Kind::kLong ? LongValue(number) : DateValue(number));
  }

  bool Double(uint8_t tag, ValuePtr& out) {
    int64_t number = 0;
    double real = 0;
    if (tag == 'D') {
      if (!Integer(8, number)) return false;
      std::memcpy(&real, &number, sizeof(real));
    } else if (tag == 0x5b || tag == 0x5c) {
      real = tag - 0x5b;
    } else {
      if (!Integer(tag == 0x5d ? 1 : tag == 0x5e ? 2 : 4, number)) return false;
      real = static_cast<double>(number);
      if (tag == 0x5f) real *= 0.001;
    }
    return Scalar(out, DoubleValue(real));
  }

  bool Refer(const Place& place, ValuePtr& out) {
    size_t index = 0;
    if (!Index("reference", references.size(), index)) return false;
    const Reference& reference = references[index];
    if (reference.value == nullptr) {
      if (index != place.owner) return Fail("a reference to a value that is not finished");
      out = NullValue();
      return true;
    }
    if (place.depth + reference.height > limits.max_depth) return TooDeep();
    *place.tallest = std::max(*place.tallest, reference.height);
    out = reference.value;
    return true;
  }

  bool TooDeep() { return Fail(absl::StrCat("deeper than ", limits.max_depth)); }

  // The values inside a list, map or object.
  class Inside;

  bool List(uint8_t tag, const Place& place, ValuePtr& out);
  bool Map(bool typed, const Place& place, ValuePtr& out);
  bool Object(size_t index, const Place& place, ValuePtr& out);
  bool Container(uint8_t tag, const Place& place, ValuePtr& out);
  bool Any(uint8_t tag, const Place& place, ValuePtr& out);
};

class Decoder::State::Inside {
 public:
  Inside(State& state, Kind kind, const Place& place)
      : state_(state),
        place_(place),
        index_(state.references.size()),
        value_(std::make_shared<Value>()) {
    value_->kind = kind;
  }

  Value& value() { return *value_; }

  bool Begin() {
    if (place_.depth >= state_.limits.max_depth) return state_.TooDeep();
    if (!state_.Charge(kValueBytes + SlotBytes<Reference>())) return false;
    state_.references.emplace_back();
    return true;
  }

  bool Next(ValuePtr& out, bool may_be_own_cause = false) {
    uint8_t tag = 0;
    const Place place{place_.depth + 1, may_be_own_cause ? index_ : kNobody, &tallest_};
    return state_.Byte(tag) && state_.Any(tag, place, out);
  }

  bool NextItem() {
    if (!state_.Charge(SlotBytes<ValuePtr>())) return false;
    return Next(value_->items.emplace_back());
  }

  bool NextEntry() {
    if (!state_.Charge(SlotBytes<Entries::value_type>())) return false;
    auto& entry = value_->entries.emplace_back();
    return Next(entry.first) && Next(entry.second);
  }

  bool End(ValuePtr& out) {
    Reference& reference = state_.references[index_];
    reference.height = tallest_ + 1;
    *place_.tallest = std::max(*place_.tallest, reference.height);
    reference.value = value_;
    out = std::move(value_);
    return true;
  }

 private:
  State& state_;
  const Place place_;
  const size_t index_;
  std::shared_ptr<Value> value_;
  size_t tallest_ = 0;
};

bool Decoder::State::List(uint8_t tag, const Place& place, ValuePtr& out) {
  Inside list(*this, Kind::kList, place);
  const bool typed = tag == 'U' || tag == 'V' || (tag >= 0x70 && tag <= 0x77);
  if (!list.Begin() || (typed && !Type(list.value().type))) return false;
  if (tag == 'U' || tag == 'W') {
    for (bool end = false;;) {
      if (!AtEnd(end)) return false;
      if (end) return list.End(out);
      if (!list.NextItem()) return false;
    }
  }
  // Each takes a byte at least.
  size_t count = tag & 7;
  if (tag < 0x70 && !Count("items of a list", count)) return false;
  for (size_t i = 0; i < count; ++i) {
    if (!list.NextItem()) return false;
  }
  return list.End(out);
}

bool Decoder::State::Map(bool typed, const Place& place, ValuePtr& out) {
  Inside map(*this, Kind::kMap, place);
  if (!map.Begin() || (typed && !Type(map.value().type))) return false;
  for (bool end = false;;) {
    if (!AtEnd(end)) return false;
    if (end) return map.End(out);
    if (!map.NextEntry()) return false;
  }
}

bool Decoder::State::Object(size_t index, const Place& place, ValuePtr& out) {
  if (index >= classes.size())
    return Fail(absl::StrCat("class ", index, ": there are ", classes.size()));
  const Class& its_class = classes[index];
  Inside object(*this, Kind::kObject, place);
  if (!object.Begin() || !Charge(its_class.type.size())) return false;
  object.value().type = its_class.type;
  for (const ValuePtr& field : its_class.fields) {
    if (!Charge(SlotBytes<Entries::value_type>())) return false;
    auto& entry = object.value().entries.emplace_back(field, nullptr);
    if (!object.Next(entry.second, field->text == "cause")) return false;
  }
  return object.End(out);
}

bool Decoder::State::Container(uint8_t tag, const Place& place, ValuePtr& out) {
  if (tag == 'H' || tag == 'M') return Map(tag == 'M', place, out);
  if (tag >= 0x70 || (tag >= 'U' && tag <= 'X')) return List(tag, place, out);
  size_t index = tag - 0x60;
  if (tag == 'O' && !Index("class", classes.size(), index)) return false;
  return Object(index, place, out);
}

bool Decoder::State::Any(uint8_t tag, const Place& place, ValuePtr& out) {
  while (tag == 'C') {
    if (!Definition() || !Byte(tag)) return false;
  }
  int64_t number = 0;
  if (IsString(tag) || IsBinary(tag)) {
    std::string text;
    if (!(IsString(tag) ? String(tag, text) : Binary(tag, text))) return false;
    return Scalar(out, IsString(tag) ? StringValue(std::move(text)) : BinaryValue(std::move(text)));
  }
  if (IsInt(tag)) {
    const bool read = Int(tag, number);
    return Number(Kind::kInt, read, number, out);
  }
  if (tag >= 0xd8 || (tag >= 0x38 && tag <= 0x3f)) {
    const bool read = tag < 0x40    ? Compact(tag - 0x3c, 2, number)
                      : tag <= 0xef ? Compact(tag - 0xe0, 0, number)
                                    : Compact(tag - 0xf8, 1, number);
    return Number(Kind::kLong, read, number, out);
  }
  if (tag >= 0x60) return Container(tag, place, out);
  switch (tag) {
    case 'N':
      out = NullValue();
      return true;
    case 'T':
    case 'F':
      out = BoolValue(tag == 'T');
      return true;
    case 0x59:
    case 'L': {
      const bool read = Integer(tag == 'L' ? 8 : 4, number);
      return Number(Kind::kLong, read, number, out);
    }
    case 0x4a: {
      const bool read = Integer(8, number);
      return Number(Kind::kDate, read, number, out);
    }
    case 0x4b: {
      const bool read = Integer(4, number);
      return Number(Kind::kDate, read, number * 60000, out);
    }
    case 'D':
    case 0x5b:
    case 0x5c:
    case 0x5d:
    case 0x5e:
    case 0x5f:
      return Double(tag, out);
    case 0x51:
      return Refer(place, out);
    case 'H':
    case 'M':
    case 'O':
    case 'U':
    case 'V':
    case 'W':
    case 'X':
      return Container(tag, place, out);
    default:
      Back();
      return Fail(absl::StrFormat("tag 0x%02x begins no value", tag));
  }
}

Decoder::Decoder(absl::string_view bytes, const DecodeLimits& limits)
    : state_(std::make_unique<State>(bytes, limits)) {}

Decoder::~Decoder() = default;

bool Decoder::done() const { return state_->left() == 0; }

absl::StatusOr<ValuePtr> Decoder::Next() {
  if (!state_->failure().ok()) return state_->failure();
  ValuePtr value;
  uint8_t tag = 0;
  size_t tallest = 0;
  if (!state_->Byte(tag) || !state_->Any(tag, {0, kNobody, &tallest}, value)) {
    return state_->failure();
  }
  return value;
}

}  // namespace signpost::hessian2

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "signpost/metadata/hessian2/codec.h"
#include "signpost/metadata/hessian2/make_value.h"

namespace signpost::hessian2 {
namespace {

// As Java: longer strings and binaries are written in pieces of so many units.
constexpr size_t kChunk = 0x8000;

// The code point at `at`, which moves behind it; U+FFFD for a byte that begins none.
uint32_t NextPoint(absl::string_view text, size_t& at) {
  const uint8_t first = static_cast<uint8_t>(text[at++]);
  if (first < 0x80) return first;
  const size_t more = first < 0xc2 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : first < 0xf5 ? 3 : 0;
  if (more == 0 || text.size() - at < more) return 0xfffd;
  uint32_t point = first & (0x3f >> more);
  for (size_t i = 0; i < more; ++i) {
    const uint8_t byte = static_cast<uint8_t>(text[at + i]);
    if ((byte & 0xc0) != 0x80) return 0xfffd;
    point = (point << 6) | (byte & 0x3f);
  }
  const bool is_half = point >= 0xd800 && point <= 0xdfff;
  const bool is_long = (more == 2 && point < 0x800) || (more == 3 && point < 0x10000);
  if (is_half || is_long || point > 0x10ffff) return 0xfffd;
  at += more;
  return point;
}

void AppendUnit(uint32_t unit, std::string& out) {
  if (unit < 0x80) {
    out.push_back(static_cast<char>(unit));
    return;
  }
  if (unit < 0x800) {
    out.push_back(static_cast<char>(0xc0 | (unit >> 6)));
  } else {
    out.push_back(static_cast<char>(0xe0 | (unit >> 12)));
    out.push_back(static_cast<char>(0x80 | ((unit >> 6) & 0x3f)));
  }
  out.push_back(static_cast<char>(0x80 | (unit & 0x3f)));
}

bool Fits(int64_t number, int bits) {
  const int64_t bound = int64_t{1} << (bits - 1);
  return number >= -bound && number < bound;
}

}  // namespace

struct Encoder::State {
  // The fields by identity: those of one decoded class are the same values.
  using Shape = std::pair<absl::string_view, std::vector<const Value*>>;

  std::string out;
  std::map<std::string, size_t> types;
  std::map<std::string, size_t> classes;  // by type and fields, each behind its length
  size_t references = 0;
  // Of the value that is being written, which keeps all of them.
  absl::flat_hash_map<const Value*, size_t> seen;
  absl::flat_hash_map<Shape, size_t> shapes;

  void Byte(int64_t byte) { out.push_back(static_cast<char>(byte)); }

  void Bytes(int64_t number, int size) {
    for (int i = size - 1; i >= 0; --i) Byte(number >> (8 * i));
  }

  void Int(int64_t number) {
    if (number >= -0x10 && number <= 0x2f) {
      Byte(0x90 + number);
    } else if (Fits(number, 12)) {
      Byte(0xc8 + (number >> 8));
      Byte(number);
    } else if (Fits(number, 19)) {
      Byte(0xd4 + (number >> 16));
      Bytes(number, 2);
    } else {
      Byte('I');
      Bytes(number, 4);
    }
  }

  void Long(int64_t number) {
    if (number >= -0x08 && number <= 0x0f) {
      Byte(0xe0 + number);
    } else if (Fits(number, 12)) {
      Byte(0xf8 + (number >> 8));
      Byte(number);
    } else if (Fits(number, 19)) {
      Byte(0x3c + (number >> 16));
      Bytes(number, 2);
    } else if (Fits(number, 32)) {
      Byte(0x59);
      Bytes(number, 4);
    } else {
      Byte('L');
      Bytes(number, 8);
    }
  }

  void Double(double real) {
    int64_t bits = 0;
    std::memcpy(&bits, &real, sizeof(bits));
    // Java loses the sign of a negative zero; it reads the long form all the same.
    const bool is_small = real > -3e6 && real < 3e6 && bits != INT64_MIN;
    const int64_t whole = is_small ? static_cast<int64_t>(real) : 0;
    const int64_t mills = is_small ? static_cast<int64_t>(real * 1000) : 0;
    if (is_small && static_cast<double>(whole) == real && Fits(whole, 16)) {
      if (whole == 0 || whole == 1) {
        Byte(0x5b + whole);
      } else {
        const int size = Fits(whole, 8) ? 1 : 2;
        Byte(size == 1 ? 0x5d : 0x5e);
        Bytes(whole, size);
      }
    } else if (is_small && Fits(mills, 32) && 0.001 * static_cast<double>(mills) == real) {
      Byte(0x5f);
      Bytes(mills, 4);
    } else {
      Byte('D');
      Bytes(bits, 8);
    }
  }

  void Date(int64_t ms) {
    if (ms % 60000 == 0 && Fits(ms / 60000, 32)) {
      Byte(0x4b);
      Bytes(ms / 60000, 4);
    } else {
      Byte(0x4a);
      Bytes(ms, 8);
    }
  }

  // The last piece of a string or binary.
  void Length(size_t length, uint8_t direct, size_t most_direct, uint8_t compact, char full) {
    if (length <= most_direct) {
      Byte(direct + static_cast<int64_t>(length));
    } else if (length <= 0x3ff) {
      Byte(compact + static_cast<int64_t>(length >> 8));
      Byte(static_cast<int64_t>(length));
    } else {
      Byte(full);
      Bytes(static_cast<int64_t>(length), 2);
    }
  }

  void String(absl::string_view text) {
    std::string chunk;
    size_t units = 0;
    for (size_t at = 0; at < text.size();) {
      const uint32_t point = NextPoint(text, at);
      const size_t needed = point >= 0x10000 ? 2 : 1;
      // A pair is not split.
      if (units + needed > kChunk) {
        Byte('R');
        Bytes(static_cast<int64_t>(units), 2);
        out += chunk;
        chunk.clear();
        units = 0;
      }
      units += needed;
      if (needed == 2) {
        AppendUnit(0xd800 + ((point - 0x10000) >> 10), chunk);
        AppendUnit(0xdc00 + ((point - 0x10000) & 0x3ff), chunk);
      } else {
        AppendUnit(point, chunk);
      }
    }
    Length(units, 0x00, 0x1f, 0x30, 'S');
    out += chunk;
  }

  void Binary(absl::string_view data) {
    while (data.size() > kChunk) {
      Byte('A');
      Bytes(kChunk, 2);
      out.append(data.data(), kChunk);
      data.remove_prefix(kChunk);
    }
    Length(data.size(), 0x20, 0x0f, 0x34, 'B');
    out.append(data.data(), data.size());
  }

  void Type(const std::string& type) {
    const auto [found, is_new] = types.emplace(type, types.size());
    if (is_new) {
      String(type);
    } else {
      Int(static_cast<int64_t>(found->second));
    }
  }

  void List(const Value& list) {
    const bool typed = !list.type.empty();
    const int64_t count = static_cast<int64_t>(list.items.size());
    if (count <= 7) {
      Byte((typed ? 0x70 : 0x78) + count);
    } else {
      Byte(typed ? 'V' : 'X');
    }
    if (typed) Type(list.type);
    if (count > 7) Int(count);
    for (const ValuePtr& item : list.items) Any(item.get());
  }

  void Map(const Value& map) {
    Byte(map.type.empty() ? 'H' : 'M');
    if (!map.type.empty()) Type(map.type);
    for (const auto& [key, value] : map.entries) {
      Any(key.get());
      Any(value.get());
    }
    Byte('Z');
  }

  static const std::string& NameOf(const ValuePtr& field) {
    return (field == nullptr ? NullValue() : field)->text;
  }

  size_t ClassOf(const Value& object) {
    Shape shape{object.type, {}};
    for (const auto& [field, value] : object.entries) shape.second.push_back(field.get());
    const auto known = shapes.find(shape);
    if (known != shapes.end()) return known->second;
    std::string key = absl::StrCat(object.type.size(), ":", object.type);
    for (const auto& [field, value] : object.entries) {
      absl::StrAppend(&key, NameOf(field).size(), ":", NameOf(field));
    }
    const auto [found, is_new] = classes.emplace(std::move(key), classes.size());
    shapes.emplace(std::move(shape), found->second);
    if (is_new) {
      Byte('C');
      String(object.type);
      Int(static_cast<int64_t>(object.entries.size()));
      for (const auto& [field, value] : object.entries) String(NameOf(field));
    }
    return found->second;
  }

  void Object(const Value& object) {
    const int64_t index = static_cast<int64_t>(ClassOf(object));
    if (index <= 0x0f) {
      Byte(0x60 + index);
    } else {
      Byte('O');
      Int(index);
    }
    for (const auto& [field, value] : object.entries) Any(value.get());
  }

  void Container(const Value& value) {
    const auto [found, is_new] = seen.emplace(&value, references);
    if (!is_new) {
      Byte(0x51);
      Int(static_cast<int64_t>(found->second));
      return;
    }
    ++references;
    if (value.kind == Kind::kList) return List(value);
    if (value.kind == Kind::kMap) return Map(value);
    Object(value);
  }

  void Any(const Value* value) {
    if (value == nullptr) return Byte('N');
    switch (value->kind) {
      case Kind::kNull:
        return Byte('N');
      case Kind::kBool:
        return Byte(value->number != 0 ? 'T' : 'F');
      case Kind::kInt:
        return Fits(value->number, 32) ? Int(value->number) : Long(value->number);
      case Kind::kLong:
        return Long(value->number);
      case Kind::kDouble:
        return Double(value->real);
      case Kind::kDate:
        return Date(value->number);
      case Kind::kString:
        return String(value->text);
      case Kind::kBinary:
        return Binary(value->text);
      case Kind::kList:
      case Kind::kMap:
      case Kind::kObject:
        return Container(*value);
    }
  }
};

Encoder::Encoder() : state_(std::make_unique<State>()) {}

Encoder::~Encoder() = default;

void Encoder::Write(const Value& value) {
  state_->Any(&value);
  state_->seen.clear();
  state_->shapes.clear();
}

std::string Encoder::Take() { return std::exchange(state_->out, {}); }

}  // namespace signpost::hessian2

#include "signpost/metadata/hessian2/reader.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace signpost::hessian2_internal {
namespace {

void AppendAstral(uint32_t high, uint32_t low, std::string& text) {
  const uint32_t point = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
  text.push_back(static_cast<char>(0xf0 | (point >> 18)));
  text.push_back(static_cast<char>(0x80 | ((point >> 12) & 0x3f)));
  text.push_back(static_cast<char>(0x80 | ((point >> 6) & 0x3f)));
  text.push_back(static_cast<char>(0x80 | (point & 0x3f)));
}

}  // namespace

bool IsString(uint8_t tag) {
  return tag <= 0x1f || (tag >= 0x30 && tag <= 0x33) || tag == 'R' || tag == 'S';
}

bool IsBinary(uint8_t tag) {
  return (tag >= 0x20 && tag <= 0x2f) || (tag >= 0x34 && tag <= 0x37) || tag == 'A' || tag == 'B';
}

bool IsInt(uint8_t tag) { return tag == 'I' || (tag >= 0x80 && tag <= 0xd7); }

bool Reader::Fail(absl::string_view what) {
  failure_ = absl::InvalidArgumentError(absl::StrCat("Hessian 2, byte ", position_, ": ", what));
  return false;
}

bool Reader::Charge(size_t size) {
  if (size > max_memory_ - memory_) {
    return Fail(absl::StrCat("needs more than ", max_memory_, " bytes of memory"));
  }
  memory_ += size;
  return true;
}

bool Reader::Byte(uint8_t& byte) {
  if (position_ >= bytes_.size()) return Fail("ends too early");
  byte = static_cast<uint8_t>(bytes_[position_++]);
  return true;
}

bool Reader::Integer(size_t size, int64_t& number) {
  if (left() < size) return Fail("ends in a number");
  uint64_t bits = (bytes_[position_] & 0x80) != 0 ? ~uint64_t{0} : 0;
  for (size_t i = 0; i < size; ++i) {
    bits = (bits << 8) | static_cast<uint8_t>(bytes_[position_++]);
  }
  number = static_cast<int64_t>(bits);
  return true;
}

bool Reader::Compact(int64_t upper, size_t size, int64_t& number) {
  if (left() < size) return Fail("ends in a number");
  for (size_t i = 0; i < size; ++i) {
    upper = upper * 256 + static_cast<uint8_t>(bytes_[position_++]);
  }
  number = upper;
  return true;
}

bool Reader::Int(uint8_t tag, int64_t& number) {
  if (tag == 'I') return Integer(4, number);
  if (tag <= 0xbf) return Compact(tag - 0x90, 0, number);
  if (tag <= 0xcf) return Compact(tag - 0xc8, 1, number);
  return Compact(tag - 0xd4, 2, number);
}

bool Reader::CountNumber(absl::string_view of_what, int64_t& number) {
  uint8_t tag = 0;
  if (!Byte(tag)) return false;
  return IsInt(tag) ? Int(tag, number) : Fail(absl::StrCat(of_what, ": no int"));
}

bool Reader::Count(absl::string_view of_what, size_t& count) {
  int64_t number = 0;
  if (!CountNumber(of_what, number)) return false;
  if (number < 0 || static_cast<uint64_t>(number) > left()) {
    return Fail(absl::StrCat(of_what, ": ", number, ", and ", left(), " bytes are left"));
  }
  count = static_cast<size_t>(number);
  return true;
}

bool Reader::Index(absl::string_view of_what, size_t size, size_t& index) {
  int64_t number = 0;
  if (!CountNumber(of_what, number)) return false;
  if (number < 0 || static_cast<uint64_t>(number) >= size) {
    return Fail(absl::StrCat(of_what, " ", number, ": there are ", size));
  }
  index = static_cast<size_t>(number);
  return true;
}

bool Reader::Length(uint8_t tag, uint8_t direct, uint8_t compact, size_t& length) {
  int64_t number = 0;
  if (tag < direct + 0x20 && tag >= direct && tag < 0x30) {
    length = tag - direct;
    return true;
  }
  const bool is_compact = tag >= compact && tag < compact + 4;
  if (left() < (is_compact ? 1 : 2)) return Fail("ends in a length");
  if (!Compact(is_compact ? tag - compact : 0, is_compact ? 1 : 2, number)) return false;
  length = static_cast<size_t>(number);
  return true;
}

// One UTF-16 unit, written as UTF-8 would write it; ends behind it.
bool Reader::Unit(uint32_t& unit) {
  const auto follow = [this](size_t at, uint32_t& bits) {
    const uint8_t byte = static_cast<uint8_t>(bytes_[position_ + at]);
    bits = (bits << 6) | (byte & 0x3f);
    return (byte & 0xc0) == 0x80;
  };
  const uint8_t first = static_cast<uint8_t>(bytes_[position_]);
  size_t size = 1;
  unit = first;
  if (first >= 0x80) {
    size = (first & 0xe0) == 0xc0 ? 2 : 3;
    if (size == 3 && (first & 0xf0) != 0xe0) return Fail("text that is not UTF-8");
    if (left() < size) return Fail("ends in a string");
    unit = first & (size == 2 ? 0x1f : 0x0f);
    for (size_t i = 1; i < size; ++i) {
      if (!follow(i, unit)) return Fail("text that is not UTF-8");
    }
    if (unit < (size == 2 ? 0x80u : 0x800u)) return Fail("text that is not UTF-8");
  }
  position_ += size;
  return true;
}

// `high` is the first half of a pair; a foreign peer may split it over two chunks.
bool Reader::Chunk(size_t units, std::string& text, uint32_t& high) {
  while (units > 0) {
    if (left() == 0) return Fail("ends in a string");
    const size_t begin = position_;
    while (units > 0 && position_ < bytes_.size() &&
           static_cast<uint8_t>(bytes_[position_]) < 0x80) {
      ++position_;
      --units;
    }
    if (position_ > begin) {
      if (high != 0) return Fail("half of a surrogate pair");
      if (!Charge(position_ - begin)) return false;
      text.append(bytes_.data() + begin, position_ - begin);
      continue;
    }
    uint32_t unit = 0;
    if (!Unit(unit)) return false;
    --units;
    const bool is_low = unit >= 0xdc00 && unit <= 0xdfff;
    if (is_low != (high != 0)) return Fail("half of a surrogate pair");
    if (unit >= 0xd800 && unit <= 0xdbff) {
      high = unit;
      continue;
    }
    if (!Charge(is_low ? 4 : position_ - begin)) return false;
    if (is_low) {
      AppendAstral(std::exchange(high, 0), unit, text);
    } else {
      text.append(bytes_.data() + begin, position_ - begin);
    }
  }
  return true;
}

bool Reader::String(uint8_t tag, std::string& text) {
  uint32_t high = 0;
  for (;;) {
    if (!IsString(tag)) return Fail("a string is expected");
    size_t units = 0;
    if (!Length(tag, 0x00, 0x30, units) || !Chunk(units, text, high)) return false;
    if (tag != 'R') break;
    if (!Byte(tag)) return false;
  }
  return high == 0 || Fail("half of a surrogate pair");
}

bool Reader::Binary(uint8_t tag, std::string& data) {
  for (;;) {
    if (!IsBinary(tag)) return Fail("binary is expected");
    size_t size = 0;
    if (!Length(tag, 0x20, 0x34, size)) return false;
    if (size > left()) return Fail("ends in binary");
    if (!Charge(size)) return false;
    data.append(bytes_.data() + position_, size);
    position_ += size;
    if (tag != 'A') return true;
    if (!Byte(tag)) return false;
  }
}

bool Reader::AtEnd(bool& end) {
  if (left() == 0) return Fail("ends in a list or map");
  end = bytes_[position_] == 'Z';
  if (end) ++position_;
  return true;
}

}  // namespace signpost::hessian2_internal

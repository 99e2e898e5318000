#include "signpost/tests/interop/triple/hessian_string.h"

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace signpost::interop {
namespace {

constexpr size_t kChunk = 0x8000;  // units, as Java's

bool IsHigh(uint32_t unit) { return unit >= 0xd800 && unit <= 0xdbff; }
bool IsLow(uint32_t unit) { return unit >= 0xdc00 && unit <= 0xdfff; }

absl::Status Bad(absl::string_view what, size_t at) {
  return absl::InvalidArgumentError(absl::StrCat("Hessian string, byte ", at, ": ", what));
}

// Reads one character of 1 to `longest` bytes at `at`, and moves `at` behind it. False if it is not
// UTF-8; surrogates are left to the caller.
bool ReadCharacter(absl::string_view data, size_t longest, size_t& at, uint32_t& character) {
  const auto first = static_cast<uint8_t>(data[at]);
  const size_t length = first < 0x80             ? 1
                        : (first & 0xe0) == 0xc0 ? 2
                        : (first & 0xf0) == 0xe0 ? 3
                        : (first & 0xf8) == 0xf0 ? 4
                                                 : 0;
  if (length == 0 || length > longest || length > data.size() - at) return false;
  character = length == 1 ? first : first & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    const auto next = static_cast<uint8_t>(data[at + i]);
    if ((next & 0xc0) != 0x80) return false;
    character = character << 6 | (next & 0x3f);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (character < kLeast[length] || character > 0x10ffff) return false;
  at += length;
  return true;
}

void AppendCharacter(uint32_t character, std::string& out) {
  if (character < 0x80) {
    out.push_back(static_cast<char>(character));
    return;
  }
  if (character < 0x800) {
    out.push_back(static_cast<char>(0xc0 | character >> 6));
  } else if (character < 0x10000) {
    out.push_back(static_cast<char>(0xe0 | character >> 12));
    out.push_back(static_cast<char>(0x80 | (character >> 6 & 0x3f)));
  } else {
    out.push_back(static_cast<char>(0xf0 | character >> 18));
    out.push_back(static_cast<char>(0x80 | (character >> 12 & 0x3f)));
    out.push_back(static_cast<char>(0x80 | (character >> 6 & 0x3f)));
  }
  out.push_back(static_cast<char>(0x80 | (character & 0x3f)));
}

absl::StatusOr<std::u16string> ToUnits(absl::string_view text) {
  std::u16string units;
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    uint32_t character = 0;
    if (!ReadCharacter(text, 4, at, character) || IsHigh(character) || IsLow(character)) {
      return Bad("not UTF-8", start);
    }
    if (character < 0x10000) {
      units.push_back(static_cast<char16_t>(character));
    } else {
      units.push_back(static_cast<char16_t>(0xd800 + ((character - 0x10000) >> 10)));
      units.push_back(static_cast<char16_t>(0xdc00 + ((character - 0x10000) & 0x3ff)));
    }
  }
  return units;
}

void AppendLength(char tag, size_t length, std::string& out) {
  out.push_back(tag);
  out.push_back(static_cast<char>(length >> 8));
  out.push_back(static_cast<char>(length & 0xff));
}

// The head of a chunk: how many units follow, and whether another chunk does.
struct Head {
  size_t length = 0;
  bool last = true;
};

absl::StatusOr<Head> ReadHead(absl::string_view data, size_t& at) {
  if (at == data.size()) return Bad("nothing there", at);
  const auto tag = static_cast<uint8_t>(data[at]);
  const size_t more = tag <= 0x1f                  ? 0
                      : tag >= 0x30 && tag <= 0x33 ? 1
                      : tag == 'S' || tag == 'R'   ? 2
                                                   : 3;
  if (more == 3) return Bad(tag == 'N' ? "null" : "another type", at);
  if (data.size() - at <= more) return Bad("cut short", at);
  Head head;
  head.last = tag != 'R';
  head.length = more == 0 ? tag : more == 1 ? tag - 0x30u : 0;
  for (size_t i = 1; i <= more; ++i) {
    head.length = head.length << 8 | static_cast<uint8_t>(data[at + i]);
  }
  at += 1 + more;
  return head;
}

}  // namespace

absl::StatusOr<std::string> EncodeHessianString(absl::string_view text) {
  auto units = ToUnits(text);
  if (!units.ok()) return units.status();
  std::string out;
  size_t at = 0;
  for (bool last = false; !last;) {
    size_t length = units->size() - at;
    last = length <= kChunk;
    if (!last) {
      // A chunk does not split a surrogate pair.
      length = IsHigh((*units)[at + kChunk - 1]) ? kChunk - 1 : kChunk;
      AppendLength('R', length, out);
    } else if (length <= 0x1f) {
      out.push_back(static_cast<char>(length));
    } else if (length <= 0x3ff) {
      out.push_back(static_cast<char>(0x30 + (length >> 8)));
      out.push_back(static_cast<char>(length & 0xff));
    } else {
      AppendLength('S', length, out);
    }
    for (const size_t end = at + length; at < end; ++at) AppendCharacter((*units)[at], out);
  }
  return out;
}

absl::StatusOr<std::string> DecodeHessianString(absl::string_view data) {
  std::string out;
  uint32_t high = 0;  // the first half of a pair whose second half must follow
  size_t at = 0;
  for (bool last = false; !last;) {
    auto head = ReadHead(data, at);
    if (!head.ok()) return head.status();
    last = head->last;
    for (size_t i = 0; i < head->length; ++i) {
      const size_t start = at;
      uint32_t unit = 0;
      if (at == data.size()) return Bad("cut short", at);
      if (!ReadCharacter(data, 3, at, unit)) return Bad("not a UTF-16 unit as UTF-8", start);
      if (IsLow(unit) != (high != 0)) return Bad("half of a surrogate pair", start);
      if (high != 0) {
        AppendCharacter(0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00), out);
        high = 0;
      } else if (IsHigh(unit)) {
        high = unit;
      } else {
        AppendCharacter(unit, out);
      }
    }
  }
  if (high != 0) return Bad("half of a surrogate pair", at);
  if (at != data.size()) return Bad("more behind the string", at);
  return out;
}

}  // namespace signpost::interop

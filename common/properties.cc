#include "signpost/common/properties.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "signpost/common/url.h"

namespace signpost {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\f'; }

absl::Status Bad(int line, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("properties line ", line, ": ", what));
}

void AppendUtf8(uint32_t code, std::string& out) {
  const auto byte = [&out](uint32_t value) { out.push_back(static_cast<char>(value)); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | code >> 6);
    byte(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    byte(0xE0 | code >> 12);
    byte(0x80 | (code >> 6 & 0x3F));
    byte(0x80 | (code & 0x3F));
  } else {
    byte(0xF0 | code >> 18);
    byte(0x80 | (code >> 12 & 0x3F));
    byte(0x80 | (code >> 6 & 0x3F));
    byte(0x80 | (code & 0x3F));
  }
}

// `\uXXXX` at the start of `text`.
std::optional<uint32_t> UnicodeEscape(absl::string_view text) {
  if (text.size() < 6 || text[0] != '\\' || text[1] != 'u') return std::nullopt;
  uint32_t code = 0;
  for (char c : text.substr(2, 4)) {
    if (!absl::ascii_isxdigit(static_cast<unsigned char>(c))) return std::nullopt;
    const char low = absl::ascii_tolower(static_cast<unsigned char>(c));
    code = code * 16 + static_cast<uint32_t>(low <= '9' ? low - '0' : low - 'a' + 10);
  }
  return code;
}

// Takes the escape at the start of `text`. False: broken.
bool TakeEscape(absl::string_view& text, std::string& out) {
  if (text.size() < 2) {
    // The end of the text; Java drops it too.
    text.remove_prefix(text.size());
    return true;
  }
  const char kind = text[1];
  if (kind != 'u') {
    out.push_back(kind == 't' ? '\t' : kind == 'n' ? '\n' : kind == 'r' ? '\r' : kind);
    if (kind == 'f') out.back() = '\f';
    text.remove_prefix(2);
    return true;
  }
  std::optional<uint32_t> code = UnicodeEscape(text);
  if (!code) return false;
  text.remove_prefix(6);
  if (*code >= 0xDC00 && *code <= 0xDFFF) return false;
  if (*code >= 0xD800 && *code <= 0xDBFF) {
    const std::optional<uint32_t> low = UnicodeEscape(text);
    if (!low || *low < 0xDC00 || *low > 0xDFFF) return false;
    text.remove_prefix(6);
    code = 0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00);
  }
  AppendUtf8(*code, out);
  return true;
}

bool HoldsControl(absl::string_view text) {
  for (char c : text) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c)) && c != '\t' && c != '\n' && c != '\r' &&
        c != '\f') {
      return true;
    }
  }
  return false;
}

// The lines of a text, those that go on put together.
class Lines {
 public:
  explicit Lines(absl::string_view text) : rest_(text) {}

  // The next one that is neither blank nor a comment, without the blanks before it.
  bool Next(std::string& line, int& number) {
    absl::string_view natural;
    while (TakeNatural(natural)) {
      if (natural.empty() || natural[0] == '#' || natural[0] == '!') continue;
      number = number_;
      line.assign(natural.data(), natural.size());
      // Slashes before a join are pairs, so those of the newest part alone decide.
      while (GoesOn(natural)) {
        line.pop_back();
        if (!TakeNatural(natural)) break;
        line.append(natural.data(), natural.size());
      }
      if (line.empty()) continue;
      return true;
    }
    return false;
  }

 private:
  bool TakeNatural(absl::string_view& line) {
    if (rest_.empty()) return false;
    const size_t end = rest_.find_first_of("\r\n");
    line = rest_.substr(0, end);
    size_t next = end == absl::string_view::npos ? rest_.size() : end + 1;
    if (next < rest_.size() && rest_[next - 1] == '\r' && rest_[next] == '\n') ++next;
    rest_.remove_prefix(next);
    ++number_;
    while (!line.empty() && IsBlank(line.front())) line.remove_prefix(1);
    return true;
  }

  static bool GoesOn(absl::string_view line) {
    size_t slashes = 0;
    while (slashes < line.size() && line[line.size() - 1 - slashes] == '\\') ++slashes;
    return slashes % 2 == 1;
  }

  absl::string_view rest_;
  int number_ = 0;
};

absl::StatusOr<Property> ParseLine(absl::string_view text, int number) {
  Property property;
  property.line = number;
  while (!text.empty() && !IsBlank(text.front()) && text.front() != '=' && text.front() != ':') {
    if (text.front() != '\\') {
      property.key.push_back(text.front());
      text.remove_prefix(1);
    } else if (!TakeEscape(text, property.key)) {
      return Bad(number, "a broken \\u escape");
    }
  }
  if (property.key.empty()) return Bad(number, "no key before the value");
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  if (!text.empty() && (text.front() == '=' || text.front() == ':')) {
    text.remove_prefix(1);
    while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  }
  while (!text.empty()) {
    if (text.front() != '\\') {
      property.value.push_back(text.front());
      text.remove_prefix(1);
    } else if (!TakeEscape(text, property.value)) {
      return Bad(number, "a broken \\u escape");
    }
  }
  if (HoldsControl(property.key) || HoldsControl(property.value)) {
    return Bad(number, "control characters");
  }
  return property;
}

}  // namespace

absl::StatusOr<std::vector<Property>> ParseProperties(absl::string_view text,
                                                      const PropertiesLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "properties of ", text.size(), " bytes are over the limit of ", limits.max_bytes));
  }
  if (!IsValidUtf8(text)) return absl::InvalidArgumentError("properties: not UTF-8 text");
  absl::ConsumePrefix(&text, "\xEF\xBB\xBF");
  std::vector<Property> properties;
  Lines lines(text);
  std::string line;
  int number = 0;
  while (lines.Next(line, number)) {
    if (properties.size() >= limits.max_entries) {
      return Bad(number, absl::StrCat("more than ", limits.max_entries, " entries"));
    }
    absl::StatusOr<Property> property = ParseLine(line, number);
    if (!property.ok()) return property.status();
    properties.push_back(*std::move(property));
  }
  return properties;
}

}  // namespace signpost

#include "signpost/common/address_pattern.h"

#include <arpa/inet.h>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "signpost/common/url.h"

namespace signpost {
namespace {

// The numbers between the separators: 4 up to 255, or 8 up to 65535.
struct Address {
  bool v4 = false;
  std::vector<uint32_t> parts;
};

std::optional<Address> ParseAddress(absl::string_view text) {
  const std::string zero_ended(text);
  if (zero_ended.size() != std::char_traits<char>::length(zero_ended.c_str())) return std::nullopt;
  std::array<unsigned char, 16> bytes{};
  Address address;
  if (inet_pton(AF_INET, zero_ended.c_str(), bytes.data()) == 1) {
    address.v4 = true;
    address.parts.assign(bytes.begin(), bytes.begin() + 4);
    return address;
  }
  if (inet_pton(AF_INET6, zero_ended.c_str(), bytes.data()) == 1) {
    for (size_t i = 0; i < bytes.size(); i += 2) {
      address.parts.push_back(uint32_t{bytes[i]} << 8 | bytes[i + 1]);
    }
    return address;
  }
  return std::nullopt;
}

std::optional<uint32_t> ParseNumber(absl::string_view text, bool v4) {
  if (text.empty() || text.size() > (v4 ? 3 : 4)) return std::nullopt;
  uint32_t value = 0;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (!(v4 ? absl::ascii_isdigit(byte) : absl::ascii_isxdigit(byte))) return std::nullopt;
    const uint32_t digit =
        absl::ascii_isdigit(byte) ? c - '0' : absl::ascii_tolower(byte) - 'a' + 10;
    value = value * (v4 ? 10 : 16) + digit;
  }
  if (v4 && value > 255) return std::nullopt;
  return value;
}

// One mask between separators: `*`, a number, or `from-to`.
bool MatchesPart(absl::string_view mask, uint32_t part, bool v4) {
  if (mask == "*") return true;
  const size_t dash = mask.find('-');
  if (dash == absl::string_view::npos) return ParseNumber(mask, v4) == part;
  const auto from = ParseNumber(mask.substr(0, dash), v4);
  const auto to = ParseNumber(mask.substr(dash + 1), v4);
  return from && to && *from <= part && part <= *to;
}

bool IsPart(absl::string_view mask, bool v4) {
  if (mask == "*") return true;
  const size_t dash = mask.find('-');
  if (dash == absl::string_view::npos) return ParseNumber(mask, v4).has_value();
  return ParseNumber(mask.substr(0, dash), v4) && ParseNumber(mask.substr(dash + 1), v4);
}

bool MatchesMasks(absl::string_view pattern, const Address& host) {
  const std::vector<absl::string_view> masks = absl::StrSplit(pattern, host.v4 ? '.' : ':');
  // `2001:db8:*`: a last `*` stands for all that is left.
  const bool open_end = !host.v4 && masks.size() < host.parts.size() && masks.back() == "*";
  if (masks.size() != host.parts.size() && !open_end) return false;
  // Every mask is looked at, so that one malformed part spoils the whole pattern.
  bool matches = true;
  for (size_t i = 0; i < masks.size(); ++i) {
    if (!IsPart(masks[i], host.v4)) return false;
    matches = matches && MatchesPart(masks[i], host.parts[i], host.v4);
  }
  return matches;
}

bool MatchesCidr(absl::string_view pattern, const Address& host) {
  const size_t slash = pattern.find('/');
  const auto network = ParseAddress(UnbracketHost(pattern.substr(0, slash)));
  const absl::string_view digits = pattern.substr(slash + 1);
  const auto prefix = ParseNumber(digits, true);
  if (!network || !prefix || network->v4 != host.v4 || *prefix > (host.v4 ? 32u : 128u)) {
    return false;
  }
  const uint32_t width = host.v4 ? 8 : 16;
  uint32_t left = *prefix;
  for (size_t i = 0; i < host.parts.size() && left > 0; ++i) {
    const uint32_t bits = left < width ? left : width;
    if ((host.parts[i] ^ network->parts[i]) >> (width - bits) != 0) return false;
    left -= bits;
  }
  return true;
}

// Cuts `:port` off. False if there is one that is no port.
bool SplitPort(absl::string_view& pattern, absl::string_view& port) {
  if (absl::StartsWith(pattern, "[")) {
    const size_t close = pattern.find(']');
    if (close == absl::string_view::npos) return false;
    port = pattern.substr(close + 1);
    pattern = pattern.substr(1, close - 1);
    if (port.empty()) return true;
    return absl::ConsumePrefix(&port, ":") && !port.empty();
  }
  const size_t colon = pattern.find(':');
  if (colon == absl::string_view::npos || pattern.rfind(':') != colon) return true;
  port = pattern.substr(colon + 1);
  pattern = pattern.substr(0, colon);
  return !port.empty();
}

bool MatchesPort(absl::string_view wanted, uint16_t port) {
  if (wanted.empty() || wanted == "*") return true;
  uint32_t number = 0;
  return absl::ascii_isdigit(static_cast<unsigned char>(wanted[0])) && wanted.size() <= 5 &&
         absl::SimpleAtoi(wanted, &number) && number == port;
}

}  // namespace

bool MatchesAddressPattern(absl::string_view pattern, absl::string_view host, uint16_t port) {
  pattern = absl::StripAsciiWhitespace(pattern);
  const std::string plain_host = UnbracketHost(host);
  if (pattern.empty() || plain_host.empty()) return false;
  const auto address = ParseAddress(plain_host);
  if (absl::StrContains(pattern, "/")) return address && MatchesCidr(pattern, *address);

  absl::string_view wanted_port;
  if (!SplitPort(pattern, wanted_port) || !MatchesPort(wanted_port, port)) return false;
  // No process listens at 0.0.0.0 for its callers: rules mean "any host" by it.
  if (pattern == "*" || pattern == "*.*.*.*" || pattern == "0.0.0.0") return true;
  if (!address) return absl::EqualsIgnoreCase(pattern, plain_host);
  if (const auto exact = ParseAddress(pattern)) {
    return exact->v4 == address->v4 && exact->parts == address->parts;
  }
  return MatchesMasks(pattern, *address);
}

}  // namespace signpost

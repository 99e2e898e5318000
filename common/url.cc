#include "signpost/common/url.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace signpost {
namespace {

absl::Status Bad(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("URL: ", what));
}

bool IsHex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return absl::ascii_tolower(static_cast<unsigned char>(c)) - 'a' + 10;
}

void SetParameter(absl::string_view pair, Url::Parameters& parameters) {
  const size_t equals = pair.find('=');
  const absl::string_view key = pair.substr(0, equals);
  if (key.empty()) return;
  const absl::string_view value =
      equals == absl::string_view::npos ? absl::string_view() : pair.substr(equals + 1);
  parameters[std::string(key)] = std::string(value);
}

Url::Parameters ParseParameters(absl::string_view text) {
  Url::Parameters parameters;
  while (!text.empty()) {
    size_t end = text.find_first_of("&;");
    // What stands behind a secret without a `=` is more of it: shown, it would be half a password.
    while (end != absl::string_view::npos) {
      const size_t next = text.find_first_of("=&;", end + 1);
      if (next != absl::string_view::npos && text[next] == '=') break;
      if (!IsSecretParameter(text.substr(0, text.find_first_of("=&;")))) break;
      end = next;
    }
    SetParameter(text.substr(0, end), parameters);
    text = end == absl::string_view::npos ? absl::string_view() : text.substr(end + 1);
  }
  // `default.x` also defines x.
  Url::Parameters implied;
  for (const auto& [key, value] : parameters) {
    absl::string_view rest = key;
    if (absl::ConsumePrefix(&rest, "default.") && !rest.empty()) implied[std::string(rest)] = value;
  }
  parameters.insert(implied.begin(), implied.end());
  return parameters;
}

// Percent escapes of user info are decoded (`ab%2312` is `ab#12`); anything else stays.
std::string DecodeUserInfo(absl::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && IsHex(text[i + 1]) && IsHex(text[i + 2])) {
      out.push_back(static_cast<char>(HexValue(text[i + 1]) * 16 + HexValue(text[i + 2])));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

// What would end user info or host early is escaped again.
std::string EncodeUserInfo(absl::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte == 0x7f ||
        absl::StrContains("%#?/@:&;=[]", absl::string_view(&c, 1))) {
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      out.push_back(c);
    }
  }
  return out;
}

absl::StatusOr<uint16_t> ParsePort(absl::string_view text) {
  uint32_t port = 0;
  const bool digits = !text.empty() && text.size() <= 5 &&
                      std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
  if (!digits || !absl::SimpleAtoi(text, &port) || port > 65535) {
    return Bad("the port is not a number from 0 to 65535");
  }
  return static_cast<uint16_t>(port);
}

// `host:port` or `[v6]:port`, either part alone too.
absl::Status ParseHost(absl::string_view text, Url::Parts& parts) {
  const size_t colon = text.rfind(':');
  const size_t bracket = text.rfind(']');
  const bool bare_v6 = text.find(':') != colon && bracket == absl::string_view::npos;
  if (colon == absl::string_view::npos || bare_v6 ||
      (bracket != absl::string_view::npos && colon < bracket)) {
    parts.host = std::string(text);
  } else {
    auto port = ParsePort(text.substr(colon + 1));
    if (!port.ok()) return port.status();
    parts.port = *port;
    parts.host = std::string(text.substr(0, colon));
    if (parts.host.empty()) return Bad("no host before the port");
  }
  parts.host = BracketHost(parts.host);
  for (char c : parts.host) {
    if (absl::ascii_isspace(static_cast<unsigned char>(c)) ||
        absl::ascii_iscntrl(static_cast<unsigned char>(c))) {
      return Bad("the host holds blanks or control characters");
    }
  }
  return absl::OkStatus();
}

absl::Status ParseAuthority(absl::string_view authority, Url::Parts& parts) {
  const size_t at = authority.rfind('@');
  if (at != absl::string_view::npos) {
    const absl::string_view user = authority.substr(0, at);
    authority.remove_prefix(at + 1);
    const size_t colon = user.find(':');
    parts.username = DecodeUserInfo(user.substr(0, colon));
    if (colon != absl::string_view::npos) parts.password = DecodeUserInfo(user.substr(colon + 1));
    if (authority.empty()) return Bad("no host behind the user");
  }
  // A list of servers: the first one, the others are `backup`.
  const size_t comma = authority.find(',');
  if (comma != absl::string_view::npos) {
    std::string& backup = parts.parameters["backup"];
    backup = absl::StrCat(authority.substr(comma + 1), backup.empty() ? "" : ",", backup);
  }
  return ParseHost(authority.substr(0, comma), parts);
}

size_t AuthorityEnd(absl::string_view body) {
  const size_t end = body.find('/');
  return end == absl::string_view::npos ? body.size() : end;
}

// Whether a raw `/`, `?` or `#` may have cut user info in two: what would be host and path then is
// half a password. `text` is all that follows the protocol. A `#` in user info needs no escape.
bool MayHideUserInfo(absl::string_view text) {
  if (absl::StrContains(text.substr(0, text.find_first_of("/?")), '@')) return false;
  if (!absl::StrContains(text.substr(0, text.find_first_of("/?#")), ':')) return false;
  // Values of parameters may hold an `@`.
  const size_t question = text.find('?');
  const size_t end =
      question == absl::string_view::npos ? text.size() : text.find_first_of("=&;", question);
  return absl::StrContains(text.substr(0, end), '@');
}

}  // namespace

Url::Url() : parts_(std::make_shared<const Parts>()) {}
Url::Url(Parts parts) : parts_(std::make_shared<const Parts>(std::move(parts))) {}

absl::StatusOr<Url> Url::Parse(absl::string_view text) {
  if (!IsValidUtf8(text)) return Bad("not UTF-8");
  text = absl::StripAsciiWhitespace(text);
  if (text.empty()) return Bad("empty");
  Parts parts;
  const size_t scheme = text.find("://");
  const size_t question_of_all = text.find('?');
  if (scheme != absl::string_view::npos &&
      (question_of_all == absl::string_view::npos || scheme < question_of_all)) {
    if (scheme == 0) return Bad("no protocol before ://");
    parts.protocol = std::string(text.substr(0, scheme));
    text.remove_prefix(scheme + 3);
  } else if (const size_t file = text.find(":/"); file != absl::string_view::npos && file > 0 &&
                                                  text.find('?') > file &&
                                                  text.find('/') == file + 1) {
    parts.protocol = std::string(text.substr(0, file));
    text.remove_prefix(file + 1);
  }
  if (!parts.protocol.empty() && !IsScheme(parts.protocol)) {
    return Bad("the protocol holds characters that are none of letters, digits, - _ . +");
  }

  if (MayHideUserInfo(text)) {
    return Bad("an @ behind the first / ? or #: in user and password they are written %2F %3F %23");
  }
  const size_t question = text.find('?');
  if (question != absl::string_view::npos) {
    parts.parameters = ParseParameters(text.substr(question + 1));
    text = text.substr(0, question);
  }
  // A `#` discards the rest of the body, unless an `@` follows: then it is part of a password.
  const size_t last_at = text.rfind('@', AuthorityEnd(text));
  const size_t hash = text.find('#', last_at == absl::string_view::npos ? 0 : last_at);
  if (hash != absl::string_view::npos) text = text.substr(0, hash);

  const size_t end = AuthorityEnd(text);
  if (end < text.size()) parts.path = std::string(text.substr(end + 1));
  absl::Status status = ParseAuthority(text.substr(0, end), parts);
  if (!status.ok()) {
    return parts.protocol.empty()
               ? status
               : absl::Status(status.code(),
                              absl::StrCat(status.message(), " (", parts.protocol, "://...)"));
  }
  return Url(std::move(parts));
}

absl::StatusOr<Url> Url::ParseEncoded(absl::string_view node_name) {
  // Parameters are split before they are decoded, so that an encoded `&` inside a value stays there
  // only when it was encoded twice, as Dubbo does.
  auto decoded = FormDecode(node_name);
  if (!decoded) {
    return absl::InvalidArgumentError("URL: the node name is not form-encoded UTF-8");
  }
  return Parse(*decoded);
}

const std::string& Url::protocol() const { return parts_->protocol; }
const std::string& Url::username() const { return parts_->username; }
const std::string& Url::password() const { return parts_->password; }
const std::string& Url::host() const { return parts_->host; }
uint16_t Url::port() const { return parts_->port; }
const std::string& Url::path() const { return parts_->path; }
const Url::Parameters& Url::parameters() const { return parts_->parameters; }
Url::Parts Url::parts() const { return *parts_; }

absl::string_view Url::Get(absl::string_view key, absl::string_view fallback) const {
  auto found = parts_->parameters.find(std::string(key));
  if (found == parts_->parameters.end() || found->second.empty()) return fallback;
  return found->second;
}

bool Url::Has(absl::string_view key) const {
  return parts_->parameters.count(std::string(key)) != 0;
}

absl::StatusOr<int64_t> Url::GetInt(absl::string_view key, int64_t fallback) const {
  const absl::string_view text = Get(key);
  if (text.empty()) return fallback;
  int64_t value = 0;
  if (!absl::SimpleAtoi(text, &value)) {
    return Bad(absl::StrCat("parameter ", key, " is not a whole number"));
  }
  return value;
}

absl::StatusOr<bool> Url::GetBool(absl::string_view key, bool fallback) const {
  const absl::string_view text = Get(key);
  if (text.empty()) return fallback;
  if (absl::EqualsIgnoreCase(text, "true")) return true;
  if (absl::EqualsIgnoreCase(text, "false")) return false;
  return Bad(absl::StrCat("parameter ", key, " is neither true nor false"));
}

absl::string_view Url::GetMethod(absl::string_view method, absl::string_view key,
                                 absl::string_view fallback) const {
  const absl::string_view own = Get(absl::StrCat(method, ".", key));
  return own.empty() ? Get(key, fallback) : own;
}

Url Url::With(absl::string_view key, absl::string_view value) const {
  Parts parts = *parts_;
  parts.parameters[std::string(key)] = std::string(value);
  return Url(std::move(parts));
}

Url Url::Without(absl::string_view key) const {
  if (!Has(key)) return *this;
  Parts parts = *parts_;
  parts.parameters.erase(std::string(key));
  return Url(std::move(parts));
}

absl::string_view Url::service_interface() const { return Get("interface", parts_->path); }

std::string Url::address() const {
  if (parts_->port == 0) return parts_->host;
  return absl::StrCat(parts_->host, ":", parts_->port);
}

std::vector<std::string> Url::addresses() const {
  std::vector<std::string> all = {address()};
  for (absl::string_view item : absl::StrSplit(Get("backup"), ',')) {
    item = absl::StripAsciiWhitespace(item);
    if (item.empty()) continue;
    const auto split = SplitHostPort(item);
    const bool has_port = split && split->second != 0;
    all.push_back(has_port || parts_->port == 0 ? std::string(item)
                                                : JoinHostPort(item, parts_->port));
  }
  return all;
}

std::string Url::ToFullString() const {
  std::string out;
  if (!parts_->protocol.empty()) absl::StrAppend(&out, parts_->protocol, "://");
  if (!parts_->username.empty() || !parts_->password.empty()) {
    absl::StrAppend(&out, EncodeUserInfo(parts_->username));
    if (!parts_->password.empty()) absl::StrAppend(&out, ":", EncodeUserInfo(parts_->password));
    out.push_back('@');
  }
  absl::StrAppend(&out, address());
  if (!parts_->path.empty()) absl::StrAppend(&out, "/", parts_->path);
  char separator = '?';
  for (const auto& [key, value] : parts_->parameters) {
    if (key.empty()) continue;
    out.push_back(separator);
    absl::StrAppend(&out, key, "=", absl::StripAsciiWhitespace(value));
    separator = '&';
  }
  return out;
}

std::string Url::ToString() const {
  Parts parts = *parts_;
  parts.username.clear();
  parts.password.clear();
  for (auto& [key, value] : parts.parameters) {
    if (IsSecretParameter(key)) value = "***";
  }
  return Url(std::move(parts)).ToFullString();
}

std::string Url::ToIdentityString() const {
  Parts parts = *parts_;
  parts.parameters.clear();
  return Url(std::move(parts)).ToFullString();
}

std::string Url::ToEncodedString() const { return FormEncode(ToFullString()); }

bool operator==(const Url& a, const Url& b) {
  if (a.parts_ == b.parts_) return true;
  const Url::Parts &x = *a.parts_, &y = *b.parts_;
  return x.protocol == y.protocol && x.username == y.username && x.password == y.password &&
         x.host == y.host && x.port == y.port && x.path == y.path && x.parameters == y.parameters;
}

bool IsScheme(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.' ||
           c == '+';
  });
}

bool IsSecretParameter(absl::string_view key) {
  const std::string lower = absl::AsciiStrToLower(key);
  // acl-read: may hold digests, from which a weak password can be guessed.
  for (absl::string_view word : {"password", "passwd", "secret", "token", "accesskey", "access-key",
                                 "credential", "private", "acl-read"}) {
    if (absl::StrContains(lower, word)) return true;
  }
  return false;
}

std::string FormEncode(absl::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size() + text.size() / 2);
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte) || c == '.' || c == '-' || c == '*' || c == '_') {
      out.push_back(c);
    } else if (c == ' ') {
      out.push_back('+');
    } else {
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

std::optional<std::string> FormDecode(absl::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      out.push_back(' ');
    } else if (text[i] != '%') {
      out.push_back(text[i]);
    } else if (i + 2 < text.size() && IsHex(text[i + 1]) && IsHex(text[i + 2])) {
      out.push_back(static_cast<char>(HexValue(text[i + 1]) * 16 + HexValue(text[i + 2])));
      i += 2;
    } else {
      return std::nullopt;
    }
  }
  if (!IsValidUtf8(out)) return std::nullopt;
  return out;
}

std::optional<std::pair<std::string, uint16_t>> SplitHostPort(absl::string_view text) {
  absl::string_view host = text;
  absl::string_view port;
  if (absl::StartsWith(text, "[")) {
    const size_t close = text.find(']');
    if (close == absl::string_view::npos) return std::nullopt;
    host = text.substr(1, close - 1);
    absl::string_view rest = text.substr(close + 1);
    if (!rest.empty() && !absl::ConsumePrefix(&rest, ":")) return std::nullopt;
    if (!rest.empty())
      port = rest;
    else if (close + 1 != text.size())
      return std::nullopt;
  } else if (std::count(text.begin(), text.end(), ':') == 1) {
    host = text.substr(0, text.find(':'));
    port = text.substr(host.size() + 1);
    if (port.empty()) return std::nullopt;
  }
  if (host.empty()) return std::nullopt;
  if (port.empty()) return std::make_pair(std::string(host), uint16_t{0});
  auto parsed = ParsePort(port);
  if (!parsed.ok()) return std::nullopt;
  return std::make_pair(std::string(host), *parsed);
}

std::string JoinHostPort(absl::string_view host, uint16_t port) {
  return absl::StrCat(BracketHost(host), ":", port);
}

std::string BracketHost(absl::string_view host) {
  if (std::count(host.begin(), host.end(), ':') < 2 || absl::StartsWith(host, "[")) {
    return std::string(host);
  }
  return absl::StrCat("[", host, "]");
}

std::string UnbracketHost(absl::string_view host) {
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  return std::string(host);
}

bool IsValidUtf8(absl::string_view text) {
  size_t i = 0;
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  while (i < text.size()) {
    const unsigned char first = byte(i);
    size_t length = 1;
    uint32_t code = first;
    uint32_t least = 0;
    if (first < 0x80) {
      ++i;
      continue;
    }
    if (first >= 0xC2 && first <= 0xDF) {
      length = 2, code = first & 0x1F, least = 0x80;
    } else if (first >= 0xE0 && first <= 0xEF) {
      length = 3, code = first & 0x0F, least = 0x800;
    } else if (first >= 0xF0 && first <= 0xF4) {
      length = 4, code = first & 0x07, least = 0x10000;
    } else {
      return false;
    }
    if (i + length > text.size()) return false;
    for (size_t k = 1; k < length; ++k) {
      if ((byte(i + k) & 0xC0) != 0x80) return false;
      code = code << 6 | (byte(i + k) & 0x3F);
    }
    if (code < least || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return false;
    i += length;
  }
  return true;
}

}  // namespace signpost

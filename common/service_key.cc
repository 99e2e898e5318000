#include "signpost/common/service_key.h"

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace signpost {
namespace {

// Whether `offered` is one of the comma list `wanted`; an empty item stands for empty.
bool Listed(absl::string_view wanted, absl::string_view offered) {
  for (absl::string_view item : absl::StrSplit(wanted, ',')) {
    if (absl::StripAsciiWhitespace(item) == offered) return true;
  }
  return false;
}

bool MatchesPart(absl::string_view wanted, absl::string_view offered) {
  return wanted == "*" || wanted == offered ||
         (absl::StrContains(wanted, ",") && Listed(wanted, offered));
}

}  // namespace

absl::StatusOr<ServiceKey> ServiceKey::Parse(absl::string_view text) {
  ServiceKey key;
  absl::string_view rest = text;
  const size_t slash = rest.find('/');
  if (slash != absl::string_view::npos) {
    key.group = std::string(rest.substr(0, slash));
    rest.remove_prefix(slash + 1);
  }
  const size_t colon = rest.find(':');
  if (colon != absl::string_view::npos) {
    key.version = std::string(rest.substr(colon + 1));
    rest = rest.substr(0, colon);
  }
  key.interface_name = std::string(rest);
  if (key.interface_name.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("service '", text, "': no interface in [group/]interface[:version]"));
  }
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isspace(byte) || absl::ascii_iscntrl(byte)) {
      return absl::InvalidArgumentError(
          absl::StrCat("service '", absl::CHexEscape(text), "': blanks or control characters"));
    }
  }
  if (!IsValidUtf8(text) || absl::StrContains(key.interface_name, "/") ||
      absl::StrContains(key.interface_name, ",") || absl::StrContains(key.version, ":")) {
    return absl::InvalidArgumentError(
        absl::StrCat("service '", absl::CHexEscape(text), "': not [group/]interface[:version]"));
  }
  return key;
}

ServiceKey ServiceKey::Of(const Url& url) {
  return ServiceKey{std::string(url.service_interface()), std::string(url.Get("group")),
                    std::string(url.Get("version"))};
}

std::string ServiceKey::ToString() const {
  return absl::StrCat(group, group.empty() ? "" : "/", interface_name, version.empty() ? "" : ":",
                      version);
}

std::string ServiceKey::ToColonString() const {
  return absl::StrCat(interface_name, ":", version, ":", group);
}

std::string ServiceKey::ToDisplayString() const {
  return absl::StrCat(interface_name, version.empty() ? "" : ":", version);
}

std::string MatchKey(const ServiceKey& key, absl::string_view protocol) {
  return absl::StrCat(key.ToString(), protocol.empty() ? "" : ":", protocol);
}

bool Matches(const ServiceKey& consumer, const ServiceKey& provider) {
  return consumer.interface_name == provider.interface_name &&
         MatchesPart(consumer.group, provider.group) &&
         MatchesPart(consumer.version, provider.version);
}

bool MatchesProtocol(absl::string_view wanted, absl::string_view offered) {
  return wanted.empty() || MatchesPart(wanted, offered);
}

}  // namespace signpost

#include "signpost/router/configurator/configurator_match.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/address_pattern.h"
#include "signpost/common/status.h"
#include "signpost/common/url.h"

namespace signpost::configurator_internal {
namespace {

// A rule comes from outside. What one pattern may take, compiled and with what RE2 keeps of
// matches ...
constexpr int64_t kMaxRegexBytes = 256 << 10;
// ... and all of one rule.
constexpr size_t kMaxPatterns = 256;
constexpr size_t kMaxProgramBytes = 4 << 20;
// About what RE2 takes for each instruction of a program.
constexpr size_t kInstructionBytes = 16;
// The texts come from outside too, and many patterns may look at one.
constexpr size_t kMaxMatchedBytes = 4 << 10;

absl::Status Fault(absl::string_view where, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(where, ": ", what));
}

// The first of `keys` that the object has, as index and text. Every other key is a fault.
template <size_t N>
absl::StatusOr<std::pair<size_t, std::string>> ParseChoice(
    const Json& json, absl::string_view where, const std::array<absl::string_view, N>& keys) {
  if (!json.is_object()) return Fault(where, "not a map");
  size_t chosen = N;
  std::string text;
  for (const auto& [key, value] : json.AsObject()) {
    const size_t index = std::find(keys.begin(), keys.end(), key) - keys.begin();
    if (index == N) return Fault(where, absl::StrCat("unknown key ", Quoted(key)));
    if (!value.is_string() && !value.is_bool()) {
      return Fault(absl::StrCat(where, ".", key), "not a text");
    }
    if (index >= chosen) continue;
    chosen = index;
    text = value.AsText();
  }
  if (chosen == N) return Fault(where, "says nothing");
  return std::make_pair(chosen, std::move(text));
}

// UrlUtils.isMatchGlobPattern: the last `*` parts beginning and end.
bool MatchesGlob(absl::string_view pattern, absl::string_view text) {
  const size_t star = pattern.rfind('*');
  if (star == absl::string_view::npos) return pattern == text;
  return text.size() + 1 >= pattern.size() && absl::StartsWith(text, pattern.substr(0, star)) &&
         absl::EndsWith(text, pattern.substr(star + 1));
}

absl::StatusOr<std::vector<StringMatch>> ParseOneOf(const Json& json, absl::string_view where,
                                                    RegexUse& use) {
  if (!json.is_object()) return Fault(where, "not a map");
  for (const auto& [key, value] : json.AsObject()) {
    if (key != "oneof") return Fault(where, absl::StrCat("unknown key ", Quoted(key)));
  }
  const std::string list = absl::StrCat(where, ".oneof");
  if (!json["oneof"].is_array()) return Fault(list, "not a list");
  std::vector<StringMatch> matches;
  for (const Json& one : json["oneof"].AsArray()) {
    absl::StatusOr<StringMatch> match =
        StringMatch::Parse(one, absl::StrCat(list, "[", matches.size(), "]"), use);
    if (!match.ok()) return match.status();
    matches.push_back(*std::move(match));
  }
  return matches;
}

bool MatchesOneOf(const std::vector<StringMatch>& matches, absl::string_view text) {
  return std::any_of(matches.begin(), matches.end(),
                     [&](const StringMatch& match) { return match.Matches(text); });
}

size_t CostOfOneOf(const std::optional<std::vector<StringMatch>>& matches) {
  size_t cost = 0;
  if (!matches) return cost;
  for (const StringMatch& match : *matches) cost += match.cost();
  return cost;
}

// Moves a parsed part to its place.
template <typename T>
absl::Status Take(absl::StatusOr<T> parsed, std::optional<T>& place) {
  if (!parsed.ok()) return parsed.status();
  place = *std::move(parsed);
  return absl::OkStatus();
}

absl::StatusOr<std::pair<std::string, StringMatch>> ParseParam(const Json& json,
                                                               absl::string_view where,
                                                               RegexUse& use) {
  if (!json.is_object()) return Fault(where, "not a map");
  for (const auto& [key, value] : json.AsObject()) {
    if (key != "key" && key != "value") {
      return Fault(where, absl::StrCat("unknown key ", Quoted(key)));
    }
  }
  if (json["key"].AsString().empty()) return Fault(absl::StrCat(where, ".key"), "missing");
  absl::StatusOr<StringMatch> match =
      StringMatch::Parse(json["value"], absl::StrCat(where, ".value"), use);
  if (!match.ok()) return match.status();
  return std::make_pair(json["key"].AsString(), *std::move(match));
}

}  // namespace

std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", absl::CHexEscape(text.substr(0, 100)), "'");
}

absl::StatusOr<StringMatch> StringMatch::Parse(const Json& json, absl::string_view where,
                                               RegexUse& use) {
  static constexpr std::array<absl::string_view, 6> kKeys = {"exact",    "prefix", "regex",
                                                             "wildcard", "empty",  "noempty"};
  auto choice = ParseChoice(json, where, kKeys);
  if (!choice.ok()) return choice.status();
  StringMatch match;
  match.kind_ = static_cast<Kind>(choice->first);
  match.wanted_ = std::move(choice->second);
  if (match.kind_ == Kind::kRegex) {
    const std::string place = absl::StrCat(where, ".regex");
    if (++use.patterns > kMaxPatterns) {
      return Fault(place, absl::StrCat("more than ", kMaxPatterns, " patterns in one rule"));
    }
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(kMaxRegexBytes);
    auto regex = std::make_shared<const re2::RE2>(match.wanted_, options);
    if (!regex->ok()) return Fault(place, regex->error());
    use.program_bytes += regex->ProgramSize() * kInstructionBytes;
    if (use.program_bytes > kMaxProgramBytes) {
      return Fault(place, absl::StrCat("the patterns of this rule take more than ",
                                       kMaxProgramBytes >> 20, " MiB, compiled"));
    }
    match.regex_ = std::move(regex);
  }
  return match;
}

bool StringMatch::Matches(std::optional<absl::string_view> text) const {
  switch (kind_) {
    case Kind::kExact:
      return text == absl::string_view(wanted_);
    case Kind::kPrefix:
      return text && absl::StartsWith(*text, wanted_);
    case Kind::kRegex:
      return text && text->size() <= kMaxMatchedBytes &&
             re2::RE2::FullMatch(re2::StringPiece(text->data(), text->size()), *regex_);
    case Kind::kWildcard:
      return text && (wanted_ == "*" || *text == wanted_);
    case Kind::kEmpty:
      return !text || text->empty();
    case Kind::kNoEmpty:
      return text && !text->empty();
  }
  return false;
}

size_t StringMatch::cost() const {
  return CostOf(wanted_.size() +
                (regex_ == nullptr ? 0 : regex_->ProgramSize() * kInstructionBytes));
}

absl::StatusOr<AddressMatch> AddressMatch::Parse(const Json& json, absl::string_view where) {
  // `cird` is how Dubbo spells it.
  static constexpr std::array<absl::string_view, 4> kKeys = {"cird", "cidr", "wildcard", "exact"};
  static constexpr std::array<Kind, 4> kKinds = {Kind::kCidr, Kind::kCidr, Kind::kWildcard,
                                                 Kind::kExact};
  auto choice = ParseChoice(json, where, kKeys);
  if (!choice.ok()) return choice.status();
  if (choice->second.empty()) return Fault(where, "an empty address");
  AddressMatch match;
  match.kind_ = kKinds[choice->first];
  match.wanted_ = std::move(choice->second);
  return match;
}

bool AddressMatch::Matches(absl::string_view host, uint16_t port) const {
  const std::string text = port == 0 ? UnbracketHost(host) : JoinHostPort(host, port);
  if ((port == 0 ? UnbracketHost(wanted_) : wanted_) == text) return true;
  switch (kind_) {
    case Kind::kExact:
      return false;
    case Kind::kWildcard:
      if (wanted_ == "*" || wanted_ == "0.0.0.0" || MatchesGlob(wanted_, text)) return true;
      break;
    case Kind::kCidr:
      break;
  }
  return MatchesAddressPattern(wanted_, host, port);
}

absl::StatusOr<ConfiguratorMatch> ConfiguratorMatch::Parse(const Json& json,
                                                           absl::string_view where, RegexUse& use) {
  ConfiguratorMatch match;
  if (json.is_null()) return match;
  if (!json.is_object()) return Fault(where, "not a map");
  for (const auto& [key, value] : json.AsObject()) {
    const std::string part = absl::StrCat(where, ".", key);
    absl::Status status;
    if (key == "address") {
      status = Take(AddressMatch::Parse(value, part), match.address_);
    } else if (key == "providerAddress") {
      status = Take(AddressMatch::Parse(value, part), match.provider_address_);
    } else if (key == "service") {
      status = Take(ParseOneOf(value, part, use), match.service_);
    } else if (key == "app") {
      status = Take(ParseOneOf(value, part, use), match.app_);
    } else if (key != "param") {
      status = Fault(where, absl::StrCat("unknown key ", Quoted(key)));
    } else if (!value.is_array()) {
      status = Fault(part, "not a list");
    } else {
      for (const Json& one : value.AsArray()) {
        auto param = ParseParam(one, absl::StrCat(part, "[", match.params_.size(), "]"), use);
        if (!param.ok()) return param.status();
        match.params_.push_back(*std::move(param));
      }
    }
    if (!status.ok()) return status;
  }
  return match;
}

size_t ConfiguratorMatch::cost() const {
  size_t cost = CostOfOneOf(service_) + CostOfOneOf(app_);
  for (const auto* address : {&address_, &provider_address_}) {
    if (*address) cost += (*address)->cost();
  }
  for (const auto& [key, match] : params_) {
    cost += CostOf(key.size()) + match.cost();
  }
  return cost;
}

bool ConfiguratorMatch::Matches(const MatchInput& input) const {
  if (address_ && !address_->Matches(input.host, 0)) return false;
  if (provider_address_ && !provider_address_->Matches(input.provider_host, input.provider_port)) {
    return false;
  }
  if (service_ && !MatchesOneOf(*service_, input.service)) return false;
  if (app_ && !MatchesOneOf(*app_, input.app)) return false;
  return std::all_of(params_.begin(), params_.end(), [&](const auto& param) {
    // A parameter that is not there matches nothing, not even `empty`, as in Java.
    const std::optional<absl::string_view> value = input.parameter(param.first);
    return value && param.second.Matches(value);
  });
}

}  // namespace signpost::configurator_internal

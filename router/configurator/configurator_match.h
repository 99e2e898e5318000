// The `match` of a v3.0 rule. Private to this folder.
//
// Source: ConditionMatch, AddressMatch, ListStringMatch, ParamMatch, StringMatch of Dubbo 3.3. Of
// several keys in one text or address the first counts: exact, prefix, regex, wildcard, empty,
// noempty; cird, wildcard, exact. A text's `wildcard` is equality or `*`, as in Java.
//
// Threads: immutable values.
// Errors: kInvalidArgument naming the place; a key that is not known is one, because leaving it
//   out would make the rule match more than its author wrote.
#ifndef SIGNPOST_ROUTER_CONFIGURATOR_CONFIGURATOR_MATCH_H_
#define SIGNPOST_ROUTER_CONFIGURATOR_CONFIGURATOR_MATCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "signpost/common/json.h"

namespace re2 {
class RE2;
}

namespace signpost::configurator_internal {

// What the patterns of one rule take together; StringMatch::Parse adds to it and refuses what is
// too much.
struct RegexUse {
  size_t patterns = 0;
  size_t program_bytes = 0;
};

// What it takes to look at a text: 1, and 1 more for each 64 bytes.
inline size_t CostOf(size_t bytes) { return 1 + bytes / 64; }

class StringMatch {
 public:
  static absl::StatusOr<StringMatch> Parse(const Json& json, absl::string_view where,
                                           RegexUse& use);
  // nullopt: there is no such value. A regex matches no text of more than 4 KiB.
  bool Matches(std::optional<absl::string_view> text) const;
  size_t cost() const;
  friend bool operator==(const StringMatch& a, const StringMatch& b) {
    return a.kind_ == b.kind_ && a.wanted_ == b.wanted_;
  }

 private:
  enum class Kind { kExact, kPrefix, kRegex, kWildcard, kEmpty, kNoEmpty };
  Kind kind_ = Kind::kExact;
  std::string wanted_;
  std::shared_ptr<const re2::RE2> regex_;
};

class AddressMatch {
 public:
  static absl::StatusOr<AddressMatch> Parse(const Json& json, absl::string_view where);
  // Port 0: only the host is looked at.
  bool Matches(absl::string_view host, uint16_t port) const;
  size_t cost() const { return CostOf(wanted_.size()); }
  friend bool operator==(const AddressMatch& a, const AddressMatch& b) {
    return a.kind_ == b.kind_ && a.wanted_ == b.wanted_;
  }

 private:
  enum class Kind { kCidr, kWildcard, kExact };
  Kind kind_ = Kind::kExact;
  std::string wanted_;
};

// What a match looks at.
struct MatchInput {
  absl::string_view host;  // of the one whose rule it is: the consumer, or the provider
  absl::string_view provider_host;
  uint16_t provider_port = 0;
  absl::string_view service;  // [group/]interface[:version]
  absl::string_view app;
  std::function<std::optional<absl::string_view>(absl::string_view key)> parameter;
};

// All parts that are given must hold; none given: holds.
class ConfiguratorMatch {
 public:
  static absl::StatusOr<ConfiguratorMatch> Parse(const Json& json, absl::string_view where,
                                                 RegexUse& use);
  bool Matches(const MatchInput& input) const;
  // Of all its alternatives.
  size_t cost() const;
  friend bool operator==(const ConfiguratorMatch& a, const ConfiguratorMatch& b) {
    return std::tie(a.address_, a.provider_address_, a.service_, a.app_, a.params_) ==
           std::tie(b.address_, b.provider_address_, b.service_, b.app_, b.params_);
  }

 private:
  std::optional<AddressMatch> address_;
  std::optional<AddressMatch> provider_address_;
  std::optional<std::vector<StringMatch>> service_;
  std::optional<std::vector<StringMatch>> app_;
  std::vector<std::pair<std::string, StringMatch>> params_;
};

// `'text'`, cut and escaped, for error texts.
std::string Quoted(absl::string_view text);

}  // namespace signpost::configurator_internal

#endif  // SIGNPOST_ROUTER_CONFIGURATOR_CONFIGURATOR_MATCH_H_

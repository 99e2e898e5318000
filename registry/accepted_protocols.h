// Which protocols a registry takes: parameter `accepts` of its URL.
//
// `dubbo,tri`: these alone. `-rest`: all but this one. With both kinds the first counts alone.
// Letter case does not count. Source: AbstractRegistry.acceptable of Dubbo 3.3.
//
// Threads: values.
#ifndef SIGNPOST_REGISTRY_ACCEPTED_PROTOCOLS_H_
#define SIGNPOST_REGISTRY_ACCEPTED_PROTOCOLS_H_

#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace signpost {

struct AcceptedProtocols {
  // Neither has any: all.
  std::vector<std::string> allow;
  std::vector<std::string> deny;

  static AcceptedProtocols Parse(absl::string_view list) {
    AcceptedProtocols accepted;
    for (absl::string_view item : absl::StrSplit(list, ',', absl::SkipWhitespace())) {
      item = absl::StripAsciiWhitespace(item);
      if (absl::ConsumePrefix(&item, "-")) {
        accepted.deny.emplace_back(item);
      } else {
        accepted.allow.emplace_back(item);
      }
    }
    return accepted;
  }

  bool Accepts(absl::string_view protocol) const {
    return allow.empty() ? !Contains(deny, protocol) : Contains(allow, protocol);
  }

 private:
  static bool Contains(const std::vector<std::string>& list, absl::string_view protocol) {
    for (const std::string& each : list) {
      if (absl::EqualsIgnoreCase(each, protocol)) return true;
    }
    return false;
  }
};

}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_ACCEPTED_PROTOCOLS_H_

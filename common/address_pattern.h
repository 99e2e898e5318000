// Patterns on addresses, as Dubbo's rules write them: `192.0.2.1`, `192.0.2.*:90`, `192.0.2.60-70`,
// `192.0.2.0/24`, `2001:db8:*`, `0.0.0.0:20880`, `*`.
//
// Source: NetUtils.matchIpExpression of Dubbo 3.3. No name look-up, no exception, ever: what is not
// an address matches only an equal text.
#ifndef SIGNPOST_COMMON_ADDRESS_PATTERN_H_
#define SIGNPOST_COMMON_ADDRESS_PATTERN_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace signpost {

// Whether `host` (brackets optional) and `port` match. A pattern without port matches any port.
// A malformed pattern (`192.0.2.999`) matches nothing.
bool MatchesAddressPattern(absl::string_view pattern, absl::string_view host, uint16_t port);

}  // namespace signpost

#endif  // SIGNPOST_COMMON_ADDRESS_PATTERN_H_

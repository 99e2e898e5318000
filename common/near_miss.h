// A key that nobody knows, in a text that people write: is it a known one, misspelt?
//
// Left out in silence, `providerAdresses` makes a rule act on everything; refused in any case, the
// text of a newer Dubbo would be a fault.
//
// Threads: plain functions.
#ifndef SIGNPOST_COMMON_NEAR_MISS_H_
#define SIGNPOST_COMMON_NEAR_MISS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "signpost/common/json.h"

namespace signpost {

// The nearest of `known` that `key` may be meant to be: without regard to case at most 2 letters
// away, 1 if the known one has no more than 4 letters, where two neighbours that changed places
// count once. Empty: none is near. `key` itself, if it is known.
absl::string_view NearMiss(absl::string_view key, const std::vector<absl::string_view>& known);

// `where: unknown key 'KEY', did you mean 'KNOWN'?` (kInvalidArgument) for the first key of
// `object` that is a near miss. Others that are not known are added to `unknown`, if that is not
// null, as `where: 'KEY'`. An empty `where` is left out.
absl::Status CheckKeys(const Json& object, absl::string_view where,
                       const std::vector<absl::string_view>& known,
                       std::vector<std::string>* unknown);

// `unknown keys do nothing: ...` of what CheckKeys added, at most 10 of them; empty if there are
// none.
std::string DescribeUnknown(const std::vector<std::string>& unknown);

}  // namespace signpost

#endif  // SIGNPOST_COMMON_NEAR_MISS_H_

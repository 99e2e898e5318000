// Whether a URL below a category is meant for a consumer. Private to this folder.
//
// Source: UrlUtils.isMatch and RegistryDirectory of Dubbo 3.3.
//
// Threads: any.
#ifndef SIGNPOST_REGISTRY_INTERFACE_URL_MATCH_H_
#define SIGNPOST_REGISTRY_INTERFACE_URL_MATCH_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "signpost/common/url.h"

namespace signpost::interface_internal {

// Interface, category, enabled, group, version, classifier. Other than at application level a list
// of versions matches none of them; one of groups does.
bool MatchesUrl(const Url& consumer, const Url& provider);

// A parameter that Java reads as a boolean: absent or empty is `fallback`, anything but "true"
// false.
bool IsTrue(const Url& url, absl::string_view key, bool fallback);

// The protocol by which `provider` is called: the first of the consumer's list `wanted` that it
// offers, as its own or in `ext.protocol`; without a list its `preferred.protocol`, else its own.
// "": none of them.
std::string ChooseProtocol(absl::string_view wanted, const Url& provider);

// Of parameter `category`; `*` is Dubbo's four, none is providers. In order, each once; what is no
// name of a category is left out.
std::vector<std::string> CategoriesOf(const Url& consumer);

}  // namespace signpost::interface_internal

#endif  // SIGNPOST_REGISTRY_INTERFACE_URL_MATCH_H_

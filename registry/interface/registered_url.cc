#include "signpost/registry/interface/registered_url.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace signpost::interface_internal {
namespace {

// Of a name, in a message.
constexpr size_t kShown = 500;

// Of the provider's process, of no use to others.
constexpr absl::string_view kLeftOut[] = {"monitor",
                                          "bind.ip",
                                          "bind.port",
                                          "qos.enable",
                                          "qos.host",
                                          "qos.port",
                                          "qos.accept.foreign.ip",
                                          "validation",
                                          "interfaces",
                                          "register-mode",
                                          "pid",
                                          "file-cache",
                                          "executor-management-mode",
                                          "background",
                                          "anyhost",
                                          "threadname",
                                          "threadpool",
                                          "alive",
                                          "queues",
                                          "corethreads",
                                          "threads"};

// The last two are not in Dubbo's list: there a rule that takes a provider out would be lost.
constexpr absl::string_view kSimplifiedProvider[] = {"application",
                                                     "codec",
                                                     "exchanger",
                                                     "serialization",
                                                     "prefer.serialization",
                                                     "cluster",
                                                     "connections",
                                                     "deprecated",
                                                     "group",
                                                     "loadbalance",
                                                     "mock",
                                                     "path",
                                                     "timeout",
                                                     "token",
                                                     "version",
                                                     "warmup",
                                                     "weight",
                                                     "dubbo",
                                                     "release",
                                                     "side",
                                                     "ipv6",
                                                     "serialize.packable.factory",
                                                     "auth",
                                                     "authenticator",
                                                     "username",
                                                     "password",
                                                     "disabled",
                                                     "enabled"};

constexpr absl::string_view kSimplifiedConsumer[] = {"application", "version", "group", "dubbo",
                                                     "release"};

template <typename List>
bool Contains(const List& list, absl::string_view key) {
  return std::find(std::begin(list), std::end(list), key) != std::end(list);
}

// By names of methods Java means every parameter that begins with one of them.
bool IsOfMethod(const Url& url, absl::string_view key) {
  for (absl::string_view method : absl::StrSplit(url.Get("methods"), ',', absl::SkipWhitespace())) {
    if (absl::StartsWith(key, absl::StripAsciiWhitespace(method))) return true;
  }
  return false;
}

bool KeepsProviderKey(const Url& url, absl::string_view key,
                      const InterfaceRegistryOptions& options) {
  if (!options.simplified) {
    return !Contains(kLeftOut, key) && !absl::StartsWith(key, ".") &&
           !absl::StartsWith(key, "triple.");
  }
  if (key == "interface" && url.path() != url.service_interface()) return true;
  return Contains(kSimplifiedProvider, key) || Contains(options.extra_keys, key) ||
         IsOfMethod(url, key);
}

std::string CategoryOf(const Url& url) {
  return url.protocol() == "consumer" ? kConsumers : std::string(url.Get("category", kProviders));
}

std::string DecodeLeniently(absl::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() &&
        absl::ascii_isxdigit(static_cast<unsigned char>(text[i + 1])) &&
        absl::ascii_isxdigit(static_cast<unsigned char>(text[i + 2]))) {
      out += absl::HexStringToBytes(text.substr(i + 1, 2));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

}  // namespace

std::string CategoryPath(absl::string_view root, absl::string_view interface_name,
                         absl::string_view category) {
  return absl::StrCat(root, "/", FormEncode(interface_name), "/", category);
}

bool ShouldRegister(const Url& url, const InterfaceRegistryOptions& options) {
  if (absl::EqualsIgnoreCase(url.Get("register", "true"), "false")) return false;
  if (absl::EqualsIgnoreCase(url.Get("isExtra"), "true")) return false;
  return options.accepts.Accepts(url.protocol());
}

Url RegisteredUrl(const Url& url, const InterfaceRegistryOptions& options) {
  const std::string category = CategoryOf(url);
  Url::Parts parts = url.parts();
  if (category == kConsumers) {
    parts.port = 0;
    parts.path = std::string(url.service_interface());
    for (auto it = parts.parameters.begin(); it != parts.parameters.end();) {
      const bool keep = !options.simplified || Contains(kSimplifiedConsumer, it->first);
      it = keep ? std::next(it) : parts.parameters.erase(it);
    }
    parts.parameters["category"] = kConsumers;
    parts.parameters["check"] = "false";
  } else if (category == kProviders) {
    for (auto it = parts.parameters.begin(); it != parts.parameters.end();) {
      const bool keep = KeepsProviderKey(url, it->first, options);
      it = keep ? std::next(it) : parts.parameters.erase(it);
    }
  }
  return Url(std::move(parts));
}

absl::StatusOr<RegisteredNode> NodeOf(absl::string_view root, const Url& url,
                                      const InterfaceRegistryOptions& options) {
  const auto bad = [&url](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(url.ToString(), ": ", why));
  };
  const std::string interface_name(url.service_interface());
  if (interface_name.empty() || interface_name == "*") return bad("no interface to register");
  if (!IsScheme(url.protocol())) return bad("no protocol");
  if (url.host().empty()) return bad("no host");
  const std::string category = CategoryOf(url);
  // A list, or a `/`, would lead elsewhere.
  if (category == "." || category == ".." || FormEncode(category) != category || category == "*") {
    return bad("parameter category is not the name of one");
  }
  RegisteredNode node;
  node.category = category;
  node.url = RegisteredUrl(url, options);
  node.folder = CategoryPath(root, interface_name, category);
  node.path = absl::StrCat(node.folder, "/", node.url.ToEncodedString());
  node.session_bound = absl::EqualsIgnoreCase(url.Get("dynamic", "true"), "true");
  return node;
}

std::vector<std::string> MisreadParameters(const Url& registered) {
  std::vector<std::string> names;
  for (const auto& [key, value] : registered.parameters()) {
    for (absl::string_view cut : {"timestamp", "pid"}) {
      if (key == cut || !absl::EndsWith(key, cut)) continue;
      if (key < cut || !registered.Has(cut)) names.push_back(key);
    }
  }
  return names;
}

std::string HideNodeName(absl::string_view text, const RegisteredNode& node) {
  const std::string start = node.folder + "/";
  const absl::string_view name = absl::string_view(node.path).substr(start.size());
  std::string out;
  for (;;) {
    const size_t at = text.find(start);
    if (at == absl::string_view::npos) break;
    absl::StrAppend(&out, text.substr(0, at), start);
    text.remove_prefix(at + start.size());
    const size_t same = static_cast<size_t>(
        std::mismatch(text.begin(), text.end(), name.begin(), name.end()).first - text.begin());
    if (same == 0) continue;
    absl::StrAppend(&out, node.url.ToString());
    text.remove_prefix(same);
  }
  return absl::StrCat(out, text);
}

std::string ShowNodeName(absl::string_view name) {
  std::string text(name.substr(0, kShown));
  const bool cut = name.size() > kShown;
  // Some were encoded twice.
  for (int round = 0; round < 3; ++round) text = DecodeLeniently(text);
  // User info, wherever it may begin and end.
  if (const size_t at = text.rfind('@'); at != std::string::npos) {
    const size_t scheme = text.find("://");
    const size_t start = scheme == std::string::npos || scheme > at ? 0 : scheme + 3;
    text = absl::StrCat(text.substr(0, start), "***", text.substr(at));
  }
  std::string out;
  absl::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find_first_of("?&;"), rest.size());
    const absl::string_view part = rest.substr(0, end);
    const size_t equals = part.find('=');
    const bool secret =
        equals != absl::string_view::npos && IsSecretParameter(part.substr(0, equals));
    absl::StrAppend(&out, secret ? part.substr(0, equals + 1) : part, secret ? "***" : "");
    if (end < rest.size()) out.push_back(rest[end]);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return absl::StrCat(out, cut ? "..." : "");
}

}  // namespace signpost::interface_internal

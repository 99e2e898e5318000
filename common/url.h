// Dubbo's URL: `protocol://[user[:password]@]host[:port][/path][?k1=v1&k2=v2...]`.
//
// Format: org.apache.dubbo.common.URL and URLStrParser of Dubbo 3.3; docs/formats/url.md has the
// grammar and where this parser is stricter. Of `host:port,host:port` the others become `backup`.
// Parameters are not percent-decoded by Parse; a whole URL that was form-encoded once (a ZooKeeper
// node name) is read by ParseEncoded.
//
// Threads: immutable; copies are cheap and may be used from any thread.
// Errors: kInvalidArgument; the message names the fault and never holds a password or secret.
#ifndef SIGNPOST_COMMON_URL_H_
#define SIGNPOST_COMMON_URL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace signpost {

class Url {
 public:
  using Parameters = std::map<std::string, std::string>;

  // What a Url is made of. `host` of an IPv6 literal has its brackets; `path` no leading slash;
  // port 0 means none.
  struct Parts {
    std::string protocol;
    std::string username;
    std::string password;
    std::string host;
    uint16_t port = 0;
    std::string path;
    Parameters parameters;
  };

  Url();
  explicit Url(Parts parts);

  static absl::StatusOr<Url> Parse(absl::string_view text);
  // A child name as Dubbo writes it below providers, consumers, routers, configurators. Also takes
  // names whose `?`, `&`, `=` stand unencoded, and lower-case hex.
  static absl::StatusOr<Url> ParseEncoded(absl::string_view node_name);

  const std::string& protocol() const;
  const std::string& username() const;
  const std::string& password() const;
  const std::string& host() const;
  uint16_t port() const;
  const std::string& path() const;
  const Parameters& parameters() const;

  // The value, or `fallback` when the parameter is absent or empty. The text lives as long as
  // some copy of this Url.
  absl::string_view Get(absl::string_view key, absl::string_view fallback = "") const;
  bool Has(absl::string_view key) const;
  // Absent or empty: `fallback`. Not a number, or out of range: kInvalidArgument naming the key.
  absl::StatusOr<int64_t> GetInt(absl::string_view key, int64_t fallback) const;
  absl::StatusOr<bool> GetBool(absl::string_view key, bool fallback) const;
  // `<method>.<key>`, else `key`, else fallback.
  absl::string_view GetMethod(absl::string_view method, absl::string_view key,
                              absl::string_view fallback = "") const;

  // Changed copies.
  Url With(absl::string_view key, absl::string_view value) const;
  Url Without(absl::string_view key) const;
  Parts parts() const;

  // Parameter `interface`, else the path.
  absl::string_view service_interface() const;
  std::string address() const;  // `host:port`, host alone without port
  // address(), then each item of parameter `backup`.
  std::vector<std::string> addresses() const;

  // With user info, parameters sorted by key, values trimmed. For the wire only: holds secrets.
  std::string ToFullString() const;
  // For people and logs: no user info; secret-looking parameters are `***`.
  std::string ToString() const;
  // Protocol, user info, host:port, path.
  std::string ToIdentityString() const;
  // FormEncode(ToFullString()): a node name.
  std::string ToEncodedString() const;
  friend bool operator==(const Url& a, const Url& b);
  friend bool operator!=(const Url& a, const Url& b) { return !(a == b); }
  template <typename H>
  friend H AbslHashValue(H h, const Url& url) {
    return H::combine(std::move(h), url.ToFullString());
  }

 private:
  std::shared_ptr<const Parts> parts_;
};

// Java's form encoder in UTF-8: `A-Z a-z 0-9 . - * _` stay, space is `+`, the rest upper-case %XX.
std::string FormEncode(absl::string_view text);
// The decoder: `+` is space, hex of either case. nullopt on a broken escape or invalid UTF-8.
std::optional<std::string> FormDecode(absl::string_view text);

// What may stand before `://`: letters, digits, `-`, `_`, `.`, `+`.
bool IsScheme(absl::string_view text);
// True for parameter names whose values never reach a log (password, secretKey, token, ...).
bool IsSecretParameter(absl::string_view key);

// `host:port` or `[v6]:port` in its parts (brackets kept off the host). nullopt if malformed.
std::optional<std::pair<std::string, uint16_t>> SplitHostPort(absl::string_view text);
// `host:port`, with brackets round an IPv6 literal that has none.
std::string JoinHostPort(absl::string_view host, uint16_t port);
// `::1` -> `[::1]`.
std::string BracketHost(absl::string_view host);
std::string UnbracketHost(absl::string_view host);
bool IsValidUtf8(absl::string_view text);

}  // namespace signpost

#endif  // SIGNPOST_COMMON_URL_H_

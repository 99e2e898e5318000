#include "signpost/registry/zookeeper/node_acl.h"

#include <arpa/inet.h>

#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "zookeeper.h"

namespace signpost {
namespace zookeeper_internal {
namespace {

constexpr size_t kSha1Bytes = 20;

// `user:<base64 of SHA1>`, as `getAcl` shows it.
bool IsDigest(absl::string_view id) {
  const size_t colon = id.find(':');
  std::string hash;
  return colon != 0 && colon != absl::string_view::npos &&
         absl::Base64Unescape(id.substr(colon + 1), &hash) && hash.size() == kSha1Bytes &&
         absl::EndsWith(id, "=");
}

// `address` or `address/bits`.
bool IsNetwork(absl::string_view id) {
  const size_t slash = id.find('/');
  const std::string address(id.substr(0, slash));
  unsigned char bytes[16];
  const bool v4 = inet_pton(AF_INET, address.c_str(), bytes) == 1;
  if (!v4 && inet_pton(AF_INET6, address.c_str(), bytes) != 1) return false;
  if (slash == absl::string_view::npos) return true;
  uint32_t bits = 0;
  return absl::SimpleAtoi(id.substr(slash + 1), &bits) && bits <= (v4 ? 32u : 128u);
}

// What is wrong with it, or nothing.
absl::string_view Fault(const Reader& reader) {
  if (reader.scheme == "world") {
    return reader.id == "anyone" ? "" : "of `world` there is only `world:anyone`";
  }
  if (reader.scheme == "digest") {
    return IsDigest(reader.id) ? "" : "not `digest:user:<base64 of SHA1 of user:password>`";
  }
  if (reader.scheme == "ip") {
    return IsNetwork(reader.id) ? "" : "not `ip:address` or `ip:address/bits`";
  }
  if (reader.scheme == "sasl") return reader.id.empty() ? "not `sasl:user`" : "";
  return "not `scheme:id`, of a scheme world, digest, ip or sasl";
}

}  // namespace

absl::StatusOr<std::vector<Reader>> ParseReaders(absl::string_view text) {
  std::vector<Reader> readers;
  if (absl::StripAsciiWhitespace(text).empty()) return readers;
  for (absl::string_view item : absl::StrSplit(text, ',')) {
    item = absl::StripAsciiWhitespace(item);
    Reader reader;
    const size_t colon = item.find(':');
    if (colon != absl::string_view::npos) {
      reader = {std::string(item.substr(0, colon)), std::string(item.substr(colon + 1))};
    }
    const absl::string_view fault = Fault(reader);
    if (!fault.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("item ", readers.size() + 1, " is ", fault));
    }
    readers.push_back(std::move(reader));
  }
  return readers;
}

std::string WhyDenied(absl::string_view what, absl::string_view credentials) {
  if (credentials.empty()) {
    return absl::StrCat("nobody may ", what,
                        " it without a login; the registry's URL has no username and password");
  }
  const std::string user = absl::Utf8SafeCHexEscape(credentials.substr(0, credentials.find(':')));
  return absl::StrCat("user '", user, "' with this password may not ", what,
                      " it: the password or the user is wrong (ZooKeeper takes any), or another "
                      "user made it or its folder");
}

struct NodeAcl::Entries {
  std::vector<Reader> readers;
  std::vector<ACL> each;
  ACL_vector vector{};
};

NodeAcl::NodeAcl(bool login, std::vector<Reader> readers) : entries_(std::make_unique<Entries>()) {
  Entries& all = *entries_;
  if (!login) {
    all.vector = ZOO_OPEN_ACL_UNSAFE;
    return;
  }
  all.readers = std::move(readers);
  all.each.push_back(ZOO_CREATOR_ALL_ACL.data[0]);
  for (Reader& reader : all.readers) {
    // The library copies what it is given, and takes it without const.
    all.each.push_back({ZOO_PERM_READ, {reader.scheme.data(), reader.id.data()}});
  }
  all.vector = {static_cast<int32_t>(all.each.size()), all.each.data()};
}

NodeAcl::~NodeAcl() = default;

const ACL_vector* NodeAcl::get() const { return &entries_->vector; }

}  // namespace zookeeper_internal
}  // namespace signpost

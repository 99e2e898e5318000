// Who may do what with the nodes that a session creates, in ZooKeeper's own terms.
//
// Threads: immutable; any.
// C++20, private to this folder.
#ifndef SIGNPOST_REGISTRY_ZOOKEEPER_NODE_ACL_H_
#define SIGNPOST_REGISTRY_ZOOKEEPER_NODE_ACL_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct ACL_vector;  // the C client's

namespace signpost {
namespace zookeeper_internal {

// An identity as ZooKeeper names it: `world:anyone`, `ip:10.0.0.0/8`, `digest:ann:<base64 of
// SHA1>`, `sasl:ann`.
struct Reader {
  std::string scheme;
  std::string id;
};

// A comma list of `scheme:id`, as in parameter `acl-read`; empty: none. kInvalidArgument names the
// item by its number and never shows it: it may be a password that was put there by mistake.
absl::StatusOr<std::vector<Reader>> ParseReaders(absl::string_view text);

// What a server says that knows no such login.
inline constexpr char kLoginRefused[] =
    "the server refuses the credentials; does it know ZooKeeper's digest login?";

// Why the server does not let these credentials (`user:password`, or empty) do `what` ("read") to a
// node; never with the password. It takes any user and password, and remembers who made a node.
std::string WhyDenied(absl::string_view what, absl::string_view credentials);

class NodeAcl {
 public:
  // `login`: the creator has all rights, the readers that of reading, nobody else any. Without a
  // login everybody has all rights.
  NodeAcl(bool login, std::vector<Reader> readers);
  ~NodeAcl();
  NodeAcl(const NodeAcl&) = delete;
  NodeAcl& operator=(const NodeAcl&) = delete;

  // Lives as long as this.
  const ACL_vector* get() const;

 private:
  struct Entries;
  const std::unique_ptr<Entries> entries_;
};

}  // namespace zookeeper_internal
}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_ZOOKEEPER_NODE_ACL_H_

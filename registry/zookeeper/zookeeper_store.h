// ZooKeeper as a registry centre: `zookeeper://[user:password@]host:port[?backup=host:port,...]`.
//
// Parameters: `session` (ms, default 60000), `backup`, `timeout` (ms, default 5000): opening never
// waits, but a watch that has no connection for so long is told kUnavailable.
//
// User info, or `username` and `password`, is ZooKeeper's digest login. Nodes made with it are its
// holder's alone, but for those that `acl-read` (`world:anyone`, or a comma list of ZooKeeper's
// `scheme:id`) lets read them. ZooKeeper takes any password: what is not for these credentials is
// kPermissionDenied, and so is everything while the server refuses such a login at all. List gives
// the name of a child that may not be read, without a value; WatchTree leaves it out, and is told
// why if there is no other.
//
// Session-bound keys are ephemeral nodes; their direct parent is a container node, which the server
// removes some time after its last child; what lies above is persistent. Versions are zxids. One
// session watches 0.9 MB of paths at most and sends requests of 1 MB at most: kResourceExhausted.
// After fork() a child's calls fail with kFailedPrecondition (told at once on the calling thread).
//
// Threads, ownership, errors: as registry/store/store.h and registry/registry_factory.h.
#ifndef SIGNPOST_REGISTRY_ZOOKEEPER_ZOOKEEPER_STORE_H_
#define SIGNPOST_REGISTRY_ZOOKEEPER_ZOOKEEPER_STORE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "signpost/common/executor.h"
#include "signpost/common/url.h"
#include "signpost/registry/registry_factory.h"
#include "signpost/registry/store/store.h"

namespace signpost {

// kInvalidArgument for a bad URL. That nobody answers now is no error.
absl::StatusOr<std::unique_ptr<Store>> OpenZookeeperStore(const Url& url,
                                                          std::shared_ptr<Executor> executor);

// A RegistryFactory.
absl::StatusOr<std::unique_ptr<RegistryCentre>> OpenZookeeperCentre(const Url& url,
                                                                    const CentreOptions& options);

}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_ZOOKEEPER_ZOOKEEPER_STORE_H_

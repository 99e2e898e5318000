// One blocking connection of a client to the registry server. Private to this folder.
//
// Threads: one at a time, but Interrupt: any thread. Errors: see Answer.
#ifndef SIGNPOST_REGISTRY_SERVER_CONNECTION_H_
#define SIGNPOST_REGISTRY_SERVER_CONNECTION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "signpost/registry/server/watch_event.h"
#include "signpost/registry/store/store.h"

namespace signpost {
namespace server_internal {

enum class Outcome {
  kAnswered,        // the server's answer, good or bad
  kUnknownSession,  // nothing was done
  kBroken,          // the connection is of no use any more; what the call did is not known
};

template <typename T>
struct Answer {
  Outcome outcome = Outcome::kBroken;
  absl::StatusOr<T> value;  // kBroken: why
};

struct OpenedSession {
  int64_t id = 0;
  absl::Duration ttl;
};

class Connection {
 public:
  // `timeout`: for connecting, and for each answer. kUnavailable names the address and the reason;
  // also when `stop` becomes true meanwhile.
  static absl::StatusOr<std::unique_ptr<Connection>> Connect(const std::string& host, uint16_t port,
                                                             absl::Duration timeout,
                                                             const std::atomic<bool>& stop);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // While nothing is asked: whether the server has closed it.
  bool stale() const;
  // A call that waits ends with kBroken.
  void Interrupt();
  void set_timeout(absl::Duration timeout);

  Answer<OpenedSession> Open(absl::Duration ttl);
  Answer<bool> CloseSession(int64_t session);
  Answer<StoreValue> Get(int64_t session, const std::string& key);
  Answer<int64_t> Put(int64_t session, const std::string& key, const std::string& value);
  Answer<int64_t> Bind(int64_t session, const std::string& key, const std::string& value);
  Answer<int64_t> CompareAndSet(int64_t session, const std::string& key, const std::string& value,
                                int64_t expected);
  Answer<bool> Remove(int64_t session, const std::string& key, int64_t expected);
  Answer<bool> Exists(int64_t session, const std::string& key);
  Answer<std::vector<StoreChild>> List(int64_t session, const std::string& prefix);
  Answer<bool> Watch(int64_t session, int64_t id, bool tree, const std::string& key);
  Answer<bool> Unwatch(int64_t session, int64_t id);
  Answer<std::vector<WatchEvent>> Poll(int64_t session, int64_t acknowledged, absl::Duration wait,
                                       bool fetch);

 private:
  class Wire;
  explicit Connection(std::unique_ptr<Wire> wire);

  template <typename T, typename Fn>
  Answer<T> Do(Fn fn);

  std::unique_ptr<Wire> wire_;
};

}  // namespace server_internal
}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_SERVER_CONNECTION_H_

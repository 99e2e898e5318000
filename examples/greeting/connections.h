// A connection for each address of a service, kept as long as the address is in the list.
//
//   Connections connections(client.executor(), *connector, print);
//   auto watch = directory->OnChange(
//       [&](const signpost::ServiceAddresses& now) { connections.Update(now.delta); });
//
// It is opened in the background when its address joins, tried again with growing delays while it
// cannot be opened or has broken, and closed when the address leaves. A try that is still to come
// is cancelled then, so nobody knocks at a machine that may be somebody else's by now.
//
// Nothing in here knows Thrift: copy it, and put your framework's connection in place of
// Connection.
#ifndef SIGNPOST_EXAMPLES_GREETING_CONNECTIONS_H_
#define SIGNPOST_EXAMPLES_GREETING_CONNECTIONS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "signpost/common/address_list.h"
#include "signpost/common/backoff.h"
#include "signpost/common/executor.h"

namespace example {

// Port: an open connection. Destroying it closes it. Threads: any.
class Connection {
 public:
  virtual ~Connection() = default;

  // Waits at most about `timeout`. kUnavailable, kDeadlineExceeded: the connection is of no use any
  // more, and whether the provider did it is not known. Anything else: the provider's own answer.
  virtual absl::StatusOr<std::string> Greet(const std::string& name, absl::Duration timeout) = 0;
};

// Port: opens connections.
class Connector {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<std::shared_ptr<Connection>>) &&>;
  virtual ~Connector() = default;

  // Does not block. `done` runs once, on any thread, after a time that the connector bounds; or is
  // dropped when the connector goes. `host`: IPv6 without brackets.
  virtual void Connect(const std::string& host, uint16_t port, Done done) = 0;
};

struct ConnectionEvent {
  enum class Kind {
    kOpened,
    kClosed,     // it broke, its address left, or all is closed
    kRetry,      // it could not be opened; tried again later
    kCancelled,  // the address left before it was open
  };
  Kind kind = Kind::kOpened;
  std::string address;  // host:port
  std::string why;      // empty for kOpened
};

// Threads: Update on `executor`; Close by one thread, not from `told`; the rest from any thread.
//   `told` runs on `executor` and inside Close, no lock held, in the order in which things
//   happened.
// Ownership: `executor` and `connector` must outlive it, and `executor` the connector too. After
//   Close (also by destruction) nothing runs any more; a connection that a caller still holds lives
//   until it lets go.
class Connections {
 public:
  using Told = std::function<void(const ConnectionEvent&)>;

  Connections(signpost::Executor& executor, Connector& connector, Told told,
              signpost::BackoffOptions backoff = DefaultBackoff());
  ~Connections();

  // The first try after a failure soon, later ones at most 5 s apart: a provider that was started
  // again is found while people watch.
  static signpost::BackoffOptions DefaultBackoff();

  // What changed in the list.
  void Update(const signpost::AddressDelta& delta);

  // The open connection; else why there is none (kUnavailable).
  absl::StatusOr<std::shared_ptr<Connection>> Find(const std::string& address) const;

  // A caller says that `connection` is of no use: it is closed and opened anew. Ignored if it has
  // been replaced already.
  void Broken(const std::string& address, const std::shared_ptr<Connection>& connection,
              const absl::Status& why);

  // How many have been opened so far, and a wait (real time) until it is not `seen` any more.
  // False: `timeout` has passed, or all is closed.
  uint64_t opened() const;
  bool AwaitOpened(uint64_t seen, absl::Duration timeout) const;

  // Closes all connections and cancels all tries. Idempotent.
  void Close();

 private:
  class State;
  const std::shared_ptr<State> state_;
};

}  // namespace example

#endif  // SIGNPOST_EXAMPLES_GREETING_CONNECTIONS_H_

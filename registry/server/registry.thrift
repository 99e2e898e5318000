// What a process and the registry server of its machine say to each other: framed, binary protocol.
// The server's answers are its embedded store's; see registry/store/store.h.
namespace cpp signpost.server_wire

struct Value {
  1: binary value,
  2: i64 version,
  3: bool session_bound,
  4: bool owned,
}

struct Child {
  1: binary name,
  2: bool present,  // false: it only has children
  3: Value data,
}

struct Delta {
  1: list<Child> added,
  2: list<Child> changed,
  3: list<binary> removed,
}

// What a watch tells. Neither value nor delta: an error.
struct Event {
  1: i64 sequence,  // grows; acknowledged by the next poll
  2: i64 watch,
  3: i32 code,
  4: string message,
  5: optional Value value,
  6: optional Delta delta,
  7: bool more,  // the next event of this watch goes on with this delta
}

struct Opened {
  1: i64 session,
  2: i64 ttl_ms,  // what the server grants
}

// Codes are those of absl::Status.
exception Refused {
  1: i32 code,
  2: string message,
}

// The session has ended, or the server is another one; nothing was done.
exception UnknownSession {
}

service RegistryService {
  // `version`: of this protocol; Refused (kFailedPrecondition) names the one that is spoken here.
  // Without a poll the session lives for 10 s at most, whatever is granted.
  Opened open(1: i32 version, 2: i64 ttl_ms) throws (1: Refused refused),
  // Its session-bound keys and watches go.
  void close(1: i64 session),

  Value get(1: i64 session, 2: binary key)
      throws (1: Refused refused, 2: UnknownSession unknown),
  i64 put(1: i64 session, 2: binary key, 3: binary value)
      throws (1: Refused refused, 2: UnknownSession unknown),
  i64 bind(1: i64 session, 2: binary key, 3: binary value)
      throws (1: Refused refused, 2: UnknownSession unknown),
  i64 compareAndSet(1: i64 session, 2: binary key, 3: binary value, 4: i64 expected)
      throws (1: Refused refused, 2: UnknownSession unknown),
  void remove(1: i64 session, 2: binary key, 3: i64 expected)
      throws (1: Refused refused, 2: UnknownSession unknown),
  bool exists(1: i64 session, 2: binary key)
      throws (1: Refused refused, 2: UnknownSession unknown),
  list<Child> children(1: i64 session, 2: binary prefix)
      throws (1: Refused refused, 2: UnknownSession unknown),

  // `watch` is the client's number for it; asking again for the same is no error.
  void watch(1: i64 session, 2: i64 watch, 3: bool tree, 4: binary key)
      throws (1: Refused refused, 2: UnknownSession unknown),
  void unwatch(1: i64 session, 2: i64 watch)
      throws (1: UnknownSession unknown),

  // The sign of life. Waits up to `wait_ms` for something to tell. What was told comes again until
  // a poll acknowledges it. Without `fetch`: only the sign of life, answered at once.
  list<Event> poll(1: i64 session, 2: i64 acknowledged, 3: i64 wait_ms, 4: bool fetch)
      throws (1: UnknownSession unknown),
}

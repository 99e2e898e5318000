#include "signpost/registry/server/connection.h"

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "signpost/common/thrift/channel.h"
#include "signpost/common/url.h"
#include "signpost/registry/server/wire.h"

namespace signpost {
namespace server_internal {

class Connection::Wire {
 public:
  Wire(std::unique_ptr<ThriftChannel> channel, std::string name, absl::Duration timeout)
      : channel_(std::move(channel)),
        name_(std::move(name)),
        timeout_(timeout),
        client_(channel_->protocol()) {}

  ThriftChannel& channel() { return *channel_; }
  const std::string& name() const { return name_; }
  absl::Duration timeout() const { return timeout_; }
  void set_timeout(absl::Duration timeout) { timeout_ = timeout; }
  server_wire::RegistryServiceClient& client() { return client_; }

  // The largest answer and what is round it.
  static constexpr size_t kFrameBytes = kMaxAnswerBytes * 2;

 private:
  const std::unique_ptr<ThriftChannel> channel_;
  const std::string name_;
  absl::Duration timeout_;
  server_wire::RegistryServiceClient client_;
};

absl::StatusOr<std::unique_ptr<Connection>> Connection::Connect(const std::string& host,
                                                                uint16_t port,
                                                                absl::Duration timeout,
                                                                const std::atomic<bool>& stop) {
  auto channel = ThriftChannel::Connect(host, port, timeout, Wire::kFrameBytes, stop);
  if (!channel.ok()) {
    return absl::Status(channel.status().code(),
                        absl::StrCat("signpost://", channel.status().message()));
  }
  return std::unique_ptr<Connection>(new Connection(std::make_unique<Wire>(
      *std::move(channel), absl::StrCat("signpost://", JoinHostPort(host, port)), timeout)));
}

Connection::Connection(std::unique_ptr<Wire> wire) : wire_(std::move(wire)) {}

Connection::~Connection() = default;

bool Connection::stale() const { return wire_->channel().stale(); }

void Connection::Interrupt() { wire_->channel().Interrupt(); }

void Connection::set_timeout(absl::Duration timeout) {
  wire_->set_timeout(timeout);
  wire_->channel().set_timeout(timeout);
}

template <typename T, typename Fn>
Answer<T> Connection::Do(Fn fn) {
  try {
    return {Outcome::kAnswered, fn(wire_->client())};
  } catch (const server_wire::Refused& refused) {
    return {Outcome::kAnswered, FromWire(refused)};
  } catch (const server_wire::UnknownSession&) {
    return {Outcome::kUnknownSession,
            absl::UnavailableError(absl::StrCat(wire_->name(), ": the session has ended"))};
  } catch (const std::exception& e) {
    return {Outcome::kBroken, absl::UnavailableError(absl::StrCat(
                                  wire_->name(), ": the connection broke: ", e.what()))};
  }
}

Answer<OpenedSession> Connection::Open(absl::Duration ttl) {
  return Do<OpenedSession>([&](auto& client) {
    server_wire::Opened opened;
    client.open(opened, kProtocolVersion, absl::ToInt64Milliseconds(ttl));
    return OpenedSession{opened.session, absl::Milliseconds(opened.ttl_ms)};
  });
}

Answer<bool> Connection::CloseSession(int64_t session) {
  return Do<bool>([&](auto& client) {
    client.close(session);
    return true;
  });
}

Answer<StoreValue> Connection::Get(int64_t session, const std::string& key) {
  return Do<StoreValue>([&](auto& client) {
    server_wire::Value value;
    client.get(value, session, key);
    return FromWire(std::move(value));
  });
}

Answer<int64_t> Connection::Put(int64_t session, const std::string& key, const std::string& value) {
  return Do<int64_t>([&](auto& client) { return client.put(session, key, value); });
}

Answer<int64_t> Connection::Bind(int64_t session, const std::string& key,
                                 const std::string& value) {
  return Do<int64_t>([&](auto& client) { return client.bind(session, key, value); });
}

Answer<int64_t> Connection::CompareAndSet(int64_t session, const std::string& key,
                                          const std::string& value, int64_t expected) {
  return Do<int64_t>(
      [&](auto& client) { return client.compareAndSet(session, key, value, expected); });
}

Answer<bool> Connection::Remove(int64_t session, const std::string& key, int64_t expected) {
  return Do<bool>([&](auto& client) {
    client.remove(session, key, expected);
    return true;
  });
}

Answer<bool> Connection::Exists(int64_t session, const std::string& key) {
  return Do<bool>([&](auto& client) { return client.exists(session, key); });
}

Answer<std::vector<StoreChild>> Connection::List(int64_t session, const std::string& prefix) {
  return Do<std::vector<StoreChild>>([&](auto& client) {
    std::vector<server_wire::Child> children;
    client.children(children, session, prefix);
    std::vector<StoreChild> result;
    result.reserve(children.size());
    for (server_wire::Child& child : children) result.push_back(FromWire(std::move(child)));
    return result;
  });
}

Answer<bool> Connection::Watch(int64_t session, int64_t id, bool tree, const std::string& key) {
  return Do<bool>([&](auto& client) {
    client.watch(session, id, tree, key);
    return true;
  });
}

Answer<bool> Connection::Unwatch(int64_t session, int64_t id) {
  return Do<bool>([&](auto& client) {
    client.unwatch(session, id);
    return true;
  });
}

Answer<std::vector<WatchEvent>> Connection::Poll(int64_t session, int64_t acknowledged,
                                                 absl::Duration wait, bool fetch) {
  wire_->channel().set_timeout(wait + wire_->timeout());
  return Do<std::vector<WatchEvent>>([&](auto& client) {
    std::vector<server_wire::Event> events;
    client.poll(events, session, acknowledged, absl::ToInt64Milliseconds(wait), fetch);
    std::vector<WatchEvent> result;
    result.reserve(events.size());
    for (server_wire::Event& event : events) result.push_back(FromWire(std::move(event)));
    return result;
  });
}

}  // namespace server_internal
}  // namespace signpost

#include "signpost/registry/server/wire.h"

#include <string>
#include <utility>

namespace signpost::server_internal {
namespace {

absl::Status ToStatus(int32_t code, const std::string& message) {
  // A code of a later version is no success.
  const bool known = code > 0 && code <= static_cast<int>(absl::StatusCode::kUnauthenticated);
  return absl::Status(known ? static_cast<absl::StatusCode>(code) : absl::StatusCode::kUnknown,
                      message);
}

template <typename To, typename From>
std::vector<To> Moved(std::vector<From>&& from, To (*convert)(From)) {
  std::vector<To> result;
  result.reserve(from.size());
  for (From& item : from) result.push_back(convert(std::move(item)));
  return result;
}

}  // namespace

server_wire::Value ToWire(StoreValue value) {
  server_wire::Value result;
  result.value = std::move(value.value);
  result.version = value.version;
  result.session_bound = value.session_bound;
  result.owned = value.owned;
  return result;
}

server_wire::Child ToWire(StoreChild child) {
  server_wire::Child result;
  result.name = std::move(child.name);
  result.present = child.exists;
  result.data = ToWire(std::move(child.data));
  return result;
}

server_wire::Event ToWire(WatchEvent event) {
  server_wire::Event result;
  result.sequence = event.sequence;
  result.watch = event.watch;
  result.more = event.more;
  result.code = event.error.raw_code();
  result.message = std::string(event.error.message());
  if (!event.error.ok()) return result;
  if (!event.tree) {
    result.__isset.value = true;
    result.value = ToWire(std::move(event.value));
    return result;
  }
  result.__isset.delta = true;
  result.delta.added = Moved<server_wire::Child>(std::move(event.delta.added), &ToWire);
  result.delta.changed = Moved<server_wire::Child>(std::move(event.delta.changed), &ToWire);
  result.delta.removed = std::move(event.delta.removed);
  return result;
}

StoreValue FromWire(server_wire::Value value) {
  StoreValue result;
  result.value = std::move(value.value);
  result.version = value.version;
  result.session_bound = value.session_bound;
  result.owned = value.owned;
  return result;
}

StoreChild FromWire(server_wire::Child child) {
  StoreChild result;
  result.name = std::move(child.name);
  result.exists = child.present;
  result.data = FromWire(std::move(child.data));
  return result;
}

WatchEvent FromWire(server_wire::Event event) {
  WatchEvent result;
  result.sequence = event.sequence;
  result.watch = event.watch;
  result.more = event.more;
  if (event.__isset.delta) {
    result.tree = true;
    result.delta.added = Moved<StoreChild>(std::move(event.delta.added), &FromWire);
    result.delta.changed = Moved<StoreChild>(std::move(event.delta.changed), &FromWire);
    result.delta.removed = std::move(event.delta.removed);
  } else if (event.__isset.value) {
    result.value = FromWire(std::move(event.value));
  } else {
    result.error = ToStatus(event.code, event.message);
  }
  return result;
}

absl::Status FromWire(const server_wire::Refused& refused) {
  return ToStatus(refused.code, refused.message);
}

void Refuse(const absl::Status& status) {
  server_wire::Refused refused;
  refused.code = status.raw_code();
  refused.message = std::string(status.message());
  throw refused;
}

void RefuseUnknownSession() { throw server_wire::UnknownSession(); }

}  // namespace signpost::server_internal

// Values to and from the wire of the registry server. Private to this folder.
//
// Threads: any. Errors: what the functions throw is for Thrift's handlers alone.
#ifndef SIGNPOST_REGISTRY_SERVER_WIRE_H_
#define SIGNPOST_REGISTRY_SERVER_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "signpost/registry/server/RegistryService.h"
#include "signpost/registry/server/watch_event.h"
#include "signpost/registry/store/store.h"

namespace signpost::server_internal {

inline constexpr int32_t kProtocolVersion = 1;

// The largest answer: a client reads no more, so a server refuses to send more.
inline constexpr size_t kMaxAnswerBytes = 64 << 20;

server_wire::Value ToWire(StoreValue value);
server_wire::Child ToWire(StoreChild child);
server_wire::Event ToWire(WatchEvent event);
StoreValue FromWire(server_wire::Value value);
StoreChild FromWire(server_wire::Child child);
WatchEvent FromWire(server_wire::Event event);
absl::Status FromWire(const server_wire::Refused& refused);

// How a handler says no.
[[noreturn]] void Refuse(const absl::Status& status);
[[noreturn]] void RefuseUnknownSession();

}  // namespace signpost::server_internal

#endif  // SIGNPOST_REGISTRY_SERVER_WIRE_H_

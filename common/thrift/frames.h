// Thrift's framing and binary protocol with limits that hold: a length in a message is not believed
// before its bytes are there, a long-lived connection is not ended by the sum of its messages, and
// the memory of a large one is not kept.
//
// Threads: as Thrift's: one user at a time.
#ifndef SIGNPOST_COMMON_THRIFT_FRAMES_H_
#define SIGNPOST_COMMON_THRIFT_FRAMES_H_

#include <thrift/protocol/TProtocol.h>
#include <thrift/transport/TTransport.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace signpost {

// Frames of at most `max_bytes` on `socket`. `on_read`, if any, runs before a frame is read (true)
// and after it (false; not if reading throws).
std::shared_ptr<apache::thrift::transport::TTransport> NewThriftFrames(
    std::shared_ptr<apache::thrift::transport::TTransport> socket, size_t max_bytes,
    std::function<void(bool begins)> on_read = nullptr);

// The binary protocol on what NewThriftFrames gave; both versions strict. A list, set or map that
// cannot be in the frame is an exception before memory is taken for it.
std::shared_ptr<apache::thrift::protocol::TProtocol> NewThriftProtocol(
    std::shared_ptr<apache::thrift::transport::TTransport> frames, size_t max_bytes);

}  // namespace signpost

#endif  // SIGNPOST_COMMON_THRIFT_FRAMES_H_

// Thrift's framing and binary protocol with limits that hold: a length in a message is not believed
// before its bytes are there, and a long-lived connection is not ended by the sum of its messages.
//
// Threads: as Thrift's: one user at a time.
#ifndef SIGNPOST_COMMON_THRIFT_FRAMES_H_
#define SIGNPOST_COMMON_THRIFT_FRAMES_H_

#include <thrift/protocol/TProtocol.h>
#include <thrift/transport/TTransport.h>

#include <cstddef>
#include <memory>

namespace signpost {

// Frames of at most `max_bytes` on `socket`.
std::shared_ptr<apache::thrift::transport::TTransport> NewThriftFrames(
    std::shared_ptr<apache::thrift::transport::TTransport> socket, size_t max_bytes);

// The binary protocol on such frames; both versions strict.
std::shared_ptr<apache::thrift::protocol::TProtocol> NewThriftProtocol(
    std::shared_ptr<apache::thrift::transport::TTransport> frames, size_t max_bytes);

}  // namespace signpost

#endif  // SIGNPOST_COMMON_THRIFT_FRAMES_H_

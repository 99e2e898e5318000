// One blocking Thrift connection to a server: framed, binary, with limits and timeouts. Generated
// clients are made on its protocol().
//
// Threads: one at a time, but Interrupt: any thread.
// Errors: Connect: kUnavailable names the address and the reason. What calls on the protocol throw
//   is for the file that makes them.
#ifndef SIGNPOST_COMMON_THRIFT_CHANNEL_H_
#define SIGNPOST_COMMON_THRIFT_CHANNEL_H_

#include <thrift/protocol/TProtocol.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "signpost/common/tcp.h"

namespace apache {
namespace thrift {
namespace transport {
class TSocket;
}  // namespace transport
}  // namespace thrift
}  // namespace apache

namespace signpost {

class ThriftChannel {
 public:
  // `timeout`: for connecting, and for each answer. `max_frame_bytes`: of an answer. Ends early
  // when `stop` becomes true.
  static absl::StatusOr<std::unique_ptr<ThriftChannel>> Connect(const std::string& host,
                                                                uint16_t port,
                                                                absl::Duration timeout,
                                                                size_t max_frame_bytes,
                                                                const std::atomic<bool>& stop);
  ~ThriftChannel();
  ThriftChannel(const ThriftChannel&) = delete;
  ThriftChannel& operator=(const ThriftChannel&) = delete;

  const std::shared_ptr<apache::thrift::protocol::TProtocol>& protocol() const { return protocol_; }

  // While nothing is asked: whether the server has closed it.
  bool stale() const;
  // A call that waits ends with an exception, and so does each further one.
  void Interrupt();
  // For the answers to come.
  void set_timeout(absl::Duration timeout);

 private:
  ThriftChannel(int fd, FileDescriptor copy, absl::Duration timeout, size_t max_frame_bytes);

  // Thrift may close its own after an error, and the number may be another file's then.
  const FileDescriptor copy_;
  const std::shared_ptr<apache::thrift::transport::TSocket> socket_;
  const std::shared_ptr<apache::thrift::protocol::TProtocol> protocol_;
};

}  // namespace signpost

#endif  // SIGNPOST_COMMON_THRIFT_CHANNEL_H_

#include "signpost/common/thrift/frames.h"

#include <thrift/TConfiguration.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/transport/TBufferTransports.h>

#include <cstdint>
#include <utility>

namespace signpost {
namespace {

using apache::thrift::TConfiguration;
using apache::thrift::protocol::TBinaryProtocol;
using apache::thrift::protocol::TProtocol;
using apache::thrift::transport::TFramedTransport;
using apache::thrift::transport::TTransport;

class Frames final : public TFramedTransport {
 public:
  using TFramedTransport::TFramedTransport;

 protected:
  // Thrift counts what was read against the limit of one message, and never starts anew.
  bool readFrame() override {
    resetConsumedMessageSize();
    return TFramedTransport::readFrame();
  }
};

}  // namespace

std::shared_ptr<TTransport> NewThriftFrames(std::shared_ptr<TTransport> socket, size_t max_bytes) {
  const int limit = static_cast<int>(max_bytes);
  return std::make_shared<Frames>(std::move(socket),
                                  std::make_shared<TConfiguration>(limit, limit));
}

std::shared_ptr<TProtocol> NewThriftProtocol(std::shared_ptr<TTransport> frames, size_t max_bytes) {
  const auto limit = static_cast<int32_t>(max_bytes);
  return std::make_shared<TBinaryProtocol>(std::move(frames), limit, limit, /*strict_read=*/true,
                                           /*strict_write=*/true);
}

}  // namespace signpost

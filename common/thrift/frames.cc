#include "signpost/common/thrift/frames.h"

#include <thrift/TConfiguration.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/transport/TBufferTransports.h>

#include <cstdint>
#include <utility>

namespace signpost {
namespace {

using apache::thrift::TConfiguration;
using apache::thrift::protocol::T_STRUCT;
using apache::thrift::protocol::TBinaryProtocol;
using apache::thrift::protocol::TProtocol;
using apache::thrift::protocol::TProtocolException;
using apache::thrift::protocol::TType;
using apache::thrift::transport::TFramedTransport;
using apache::thrift::transport::TTransport;

// Larger buffers are given back after their message.
constexpr uint32_t kKeptBytes = 64 << 10;

class Frames final : public TFramedTransport {
 public:
  Frames(std::shared_ptr<TTransport> socket, std::shared_ptr<TConfiguration> limits,
         std::function<void(bool)> on_read)
      : TFramedTransport(std::move(socket), DEFAULT_BUFFER_SIZE, kKeptBytes, std::move(limits)),
        on_read_(std::move(on_read)) {}

  // Of the frame that is being taken apart.
  size_t left() const { return static_cast<size_t>(rBound_ - rBase_); }

 protected:
  // Thrift counts what was read against the limit of one message, and never starts anew.
  bool readFrame() override {
    resetConsumedMessageSize();
    if (on_read_ != nullptr) on_read_(true);
    const bool read = TFramedTransport::readFrame();
    if (on_read_ != nullptr) on_read_(false);
    return read;
  }

 private:
  const std::function<void(bool)> on_read_;
};

class Protocol final : public TBinaryProtocol {
 public:
  Protocol(const std::shared_ptr<TTransport>& frames, int32_t limit)
      : TBinaryProtocol(frames, limit, limit, /*strict_read=*/true, /*strict_write=*/true),
        frames_(dynamic_cast<const Frames*>(frames.get())) {}

  uint32_t readListBegin_virt(TType& type, uint32_t& size) override {
    const uint32_t read = TBinaryProtocol::readListBegin(type, size);
    Check(type, size);
    return read;
  }
  uint32_t readSetBegin_virt(TType& type, uint32_t& size) override {
    const uint32_t read = TBinaryProtocol::readSetBegin(type, size);
    Check(type, size);
    return read;
  }
  uint32_t readMapBegin_virt(TType& key, TType& value, uint32_t& size) override {
    const uint32_t read = TBinaryProtocol::readMapBegin(key, value, size);
    Check(value, size);
    return read;
  }

 private:
  // An item takes a byte at least, a struct with something in it four.
  void Check(TType type, uint32_t size) const {
    const size_t least = type == T_STRUCT ? 4 : 1;
    if (frames_ == nullptr || size <= frames_->left() / least) return;
    throw TProtocolException(TProtocolException::SIZE_LIMIT, "more items than the frame can hold");
  }

  const Frames* const frames_;  // the transport's
};

}  // namespace

std::shared_ptr<TTransport> NewThriftFrames(std::shared_ptr<TTransport> socket, size_t max_bytes,
                                            std::function<void(bool)> on_read) {
  const int limit = static_cast<int>(max_bytes);
  return std::make_shared<Frames>(std::move(socket), std::make_shared<TConfiguration>(limit, limit),
                                  std::move(on_read));
}

std::shared_ptr<TProtocol> NewThriftProtocol(std::shared_ptr<TTransport> frames, size_t max_bytes) {
  return std::make_shared<Protocol>(frames, static_cast<int32_t>(max_bytes));
}

}  // namespace signpost

#include "signpost/common/thrift/frames.h"

#include <gtest/gtest.h>
#include <thrift/transport/TBufferTransports.h>

#include <memory>
#include <string>

namespace signpost {
namespace {

using apache::thrift::TException;
using apache::thrift::transport::TMemoryBuffer;

// A frame with a text that says it has `length` bytes.
std::string FrameOf(uint32_t length, const std::string& text) {
  std::string bytes;
  const auto add = [&bytes](uint32_t number) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      bytes.push_back(static_cast<char>((number >> shift) & 0xff));
    }
  };
  add(static_cast<uint32_t>(4 + text.size()));
  add(length);
  return bytes + text;
}

std::string ReadText(const std::string& bytes, size_t limit) {
  auto memory = std::make_shared<TMemoryBuffer>();
  memory->write(reinterpret_cast<const uint8_t*>(bytes.data()),
                static_cast<uint32_t>(bytes.size()));
  const auto protocol = NewThriftProtocol(NewThriftFrames(memory, limit), limit);
  std::string text;
  protocol->readString(text);
  return text;
}

TEST(FramesTest, WithinTheLimitIsRead) { EXPECT_EQ(ReadText(FrameOf(5, "hello"), 64), "hello"); }

TEST(FramesTest, AboveTheLimitIsAnError) {
  EXPECT_THROW(ReadText(FrameOf(100, std::string(100, 'x')), 64), TException);
}

TEST(FramesTest, ALengthIsNotBelieved) {
  EXPECT_THROW(ReadText(FrameOf(0x7fffffff, "hello"), 64), TException);
  EXPECT_THROW(ReadText(FrameOf(0xffffffff, "hello"), 64), TException);
  EXPECT_THROW(ReadText(FrameOf(60, "hello"), 64), TException);
}

TEST(FramesTest, AListThatTheFrameCannotHoldTakesNoMemory) {
  // A list of structs (type 12) that says it has two million.
  const std::string bytes("\x00\x00\x00\x05\x0c\x00\x1e\x84\x80", 9);
  auto memory = std::make_shared<TMemoryBuffer>();
  memory->write(reinterpret_cast<const uint8_t*>(bytes.data()),
                static_cast<uint32_t>(bytes.size()));
  const auto protocol = NewThriftProtocol(NewThriftFrames(memory, 64 << 20), 64 << 20);
  apache::thrift::protocol::TType type;
  uint32_t size = 0;
  EXPECT_THROW(protocol->readListBegin(type, size), TException);
}

TEST(FramesTest, TheLimitIsOfAMessageNotOfAConnection) {
  auto memory = std::make_shared<TMemoryBuffer>();
  const auto protocol = NewThriftProtocol(NewThriftFrames(memory, 64), 64);
  for (int i = 0; i < 100; ++i) {
    const std::string bytes = FrameOf(40, std::string(40, 'x'));
    memory->write(reinterpret_cast<const uint8_t*>(bytes.data()),
                  static_cast<uint32_t>(bytes.size()));
    std::string text;
    protocol->readString(text);
    ASSERT_EQ(text.size(), 40u) << i;
  }
}

}  // namespace
}  // namespace signpost

#include "signpost/tests/interop/triple/hessian_string.h"

#include <gtest/gtest.h>

#include <string>

namespace signpost::interop {
namespace {

const std::string kGrin = "\xf0\x9f\x98\x80";                    // U+1F600 as UTF-8
const std::string kGrinUnits = "\xed\xa0\xbd\xed\xb8\x80";       // and its two units
const std::string kEuro = "\xe2\x82\xac", kUmlaut = "\xc3\xbc";  // three bytes, two bytes

std::string Bytes(std::initializer_list<int> bytes) {
  return std::string(bytes.begin(), bytes.end());
}

std::string Repeat(const std::string& text, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += text;
  return out;
}

std::string Encode(const std::string& text) {
  const auto data = EncodeHessianString(text);
  return data.ok() ? *data : "error: " + std::string(data.status().message());
}

void ExpectHead(const std::string& text, const std::string& head) {
  const std::string data = Encode(text);
  EXPECT_EQ(data.substr(0, head.size()), head);
  const auto back = DecodeHessianString(data);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, text);
}

void ExpectRefused(const std::string& data, const std::string& why) {
  const auto text = DecodeHessianString(data);
  ASSERT_FALSE(text.ok()) << *text;
  EXPECT_EQ(text.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(text.status().message().find(why), std::string::npos) << text.status();
}

TEST(HessianString, SpecsExamples) {
  EXPECT_EQ(Encode(""), Bytes({0}));
  EXPECT_EQ(Encode("hello"), Bytes({5}) + "hello");
  EXPECT_EQ(Encode("\xc3\x83"), Bytes({1}) + "\xc3\x83");
  EXPECT_EQ(DecodeHessianString(Bytes({0x53, 0, 5}) + "hello").value(), "hello");
  EXPECT_EQ(DecodeHessianString(Bytes({0x52, 0, 7}) + "hello, " + Bytes({5}) + "world").value(),
            "hello, world");
}

TEST(HessianString, EachLengthHasItsHead) {
  ExpectHead(std::string(31, 'a'), Bytes({0x1f}));
  ExpectHead(std::string(32, 'a'), Bytes({0x30, 32}));
  ExpectHead(std::string(1023, 'a'), Bytes({0x33, 0xff}));
  ExpectHead(std::string(1024, 'a'), Bytes({'S', 4, 0}));
  ExpectHead(std::string(0x8000, 'a'), Bytes({'S', 0x80, 0}));
  ExpectHead(std::string(0x8001, 'a'), Bytes({'R', 0x80, 0}));
  ExpectHead(std::string(200'000, 'a'), Bytes({'R', 0x80, 0}));
}

TEST(HessianString, LengthCountsUtf16Units) {
  ExpectHead(kUmlaut, Bytes({1}) + kUmlaut);
  ExpectHead(kEuro, Bytes({1}) + kEuro);
  ExpectHead(kGrin, Bytes({2}) + kGrinUnits);
  ExpectHead(Repeat(kUmlaut, 31), Bytes({31}));
  ExpectHead(Repeat(kGrin, 16), Bytes({0x30, 32}));
  ExpectHead(Repeat(kGrin, 512), Bytes({'S', 4, 0}));
}

TEST(HessianString, ChunkDoesNotSplitAPair) {
  // The first of 0x7fff + 2 units too many: the pair goes into the next chunk.
  const std::string text = std::string(0x7fff, 'a') + kGrin + "b";
  const std::string data = Encode(text);
  EXPECT_EQ(data,
            Bytes({'R', 0x7f, 0xff}) + std::string(0x7fff, 'a') + Bytes({3}) + kGrinUnits + "b");
  ExpectHead(text, Bytes({'R', 0x7f, 0xff}));
  ExpectHead("a" + Repeat(kGrin, 0x8000), Bytes({'R', 0x7f, 0xff}));
  ExpectHead(Repeat(kGrin, 0x8000), Bytes({'R', 0x80, 0}));
}

TEST(HessianString, PairSplitByAForeignChunkIsRead) {
  EXPECT_EQ(DecodeHessianString(Bytes({'R', 0, 1}) + kGrinUnits.substr(0, 3) + Bytes({1}) +
                                kGrinUnits.substr(3))
                .value(),
            kGrin);
}

TEST(HessianString, NulIsACharacter) {
  ExpectHead(std::string("a\0b", 3), Bytes({3, 'a', 0, 'b'}));
}

TEST(HessianString, WhatIsNotUtf8IsNotWritten) {
  for (const std::string text :
       {"\xff", "a\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\xbd", "\x80", "\xf4\x90\x80\x80",
        "\xf0\x80\x80\x80", "\xc3(", "\xf0\x9f\x98"}) {
    EXPECT_EQ(EncodeHessianString(text).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(HessianString, AnotherTypeIsRefused) {
  ExpectRefused("", "byte 0: nothing there");
  ExpectRefused("N", "null");
  for (int tag = 0; tag < 256; ++tag) {
    if (tag <= 0x1f || (tag >= 0x30 && tag <= 0x33) || tag == 'R' || tag == 'S' || tag == 'N')
      continue;
    ExpectRefused(Bytes({tag}) + "aaaa", "another type");
  }
  ExpectRefused(Bytes({'R', 0, 1, 'a', 'T'}), "byte 4: another type");
}

TEST(HessianString, CutShortAnywhereIsRefused) {
  for (const std::string& text :
       {std::string("hello"), std::string(40, 'a'), std::string(2000, 'a'), kGrin, kEuro,
        std::string(0x8000, 'a') + kGrin}) {
    const std::string data = Encode(text);
    for (size_t size = 0; size < data.size();
         size += size < 8 || size + 8 > data.size() ? 1 : 997) {
      EXPECT_FALSE(DecodeHessianString(data.substr(0, size)).ok()) << size;
    }
  }
}

TEST(HessianString, MoreBehindItIsRefused) { ExpectRefused(Encode("hello") + "!", "byte 6: more"); }

TEST(HessianString, HalfAPairIsRefused) {
  const std::string high = kGrinUnits.substr(0, 3), low = kGrinUnits.substr(3);
  ExpectRefused(Bytes({1}) + high, "half");
  ExpectRefused(Bytes({1}) + low, "half");
  ExpectRefused(Bytes({2}) + high + "a", "half");
  ExpectRefused(Bytes({2}) + low + high, "half");
  ExpectRefused(Bytes({2}) + high + high, "half");
}

TEST(HessianString, FourBytesAreNoUnit) { ExpectRefused(Bytes({2}) + kGrin, "not a UTF-16 unit"); }

}  // namespace
}  // namespace signpost::interop

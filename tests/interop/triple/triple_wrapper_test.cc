#include "signpost/tests/interop/triple/triple_wrapper.h"

#include <gtest/gtest.h>

#include <string>

namespace signpost::interop {
namespace {

std::string Bytes(std::initializer_list<int> bytes) {
  return std::string(bytes.begin(), bytes.end());
}

// As protoc's own library writes greet("world") of Java.
const std::string kRequest = "\x0a\x08hessian4\x12\x06\x05world\x1a\x10java.lang.String";

TEST(TripleWrapper, RequestIsReadAndWritten) {
  const auto request = ParseTripleRequest(kRequest);
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->serialize_type, "hessian4");
  EXPECT_EQ(request->args, std::vector<std::string>{"\x05world"});
  EXPECT_EQ(request->arg_types, std::vector<std::string>{"java.lang.String"});
  EXPECT_EQ(Serialize(*request), kRequest);
}

TEST(TripleWrapper, ResponseIsReadAndWritten) {
  const TripleResponse response{"hessian2", std::string(300, 'a'), "java.lang.String"};
  const std::string data = Serialize(response);
  EXPECT_EQ(data.substr(0, 13), Bytes({0x0a, 8}) + "hessian2" + Bytes({0x12, 0xac, 0x02}));
  const auto back = ParseTripleResponse(data);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->serialize_type, response.serialize_type);
  EXPECT_EQ(back->data, response.data);
  EXPECT_EQ(back->type, response.type);
}

TEST(TripleWrapper, NoFieldsAreAMessage) {
  const auto request = ParseTripleRequest("");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->args.size(), 0u);
}

TEST(TripleWrapper, UnknownFieldsAreLeftOut) {
  const std::string unknown = Bytes({0x20, 0x96, 0x01}) +              // 4: varint
                              Bytes({0x29, 1, 2, 3, 4, 5, 6, 7, 8}) +  // 5: fixed64
                              Bytes({0x35, 1, 2, 3, 4}) +              // 6: fixed32
                              Bytes({0x3a, 2, 'x', 'y'}) +
                              Bytes({0x08, 1}) +            // 7: bytes, 1: varint
                              Bytes({0x82, 0x01, 1, 'z'});  // 16: bytes
  const auto request = ParseTripleRequest(unknown + kRequest);
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->serialize_type, "hessian4");
  EXPECT_EQ(Serialize(*request), kRequest);
}

TEST(TripleWrapper, CutShortIsRefused) {
  // The three fields end where a message may.
  for (size_t size = 1; size < kRequest.size(); ++size) {
    const auto request = ParseTripleRequest(kRequest.substr(0, size));
    EXPECT_EQ(request.ok(), size == 10 || size == 18) << size;
  }
}

TEST(TripleWrapper, GarbageIsRefused) {
  for (const std::string& data : {
           Bytes({0x00, 0x00}),  // field 0
           Bytes({0x0b}),
           Bytes({0x0c}),
           Bytes({0x0e}),
           Bytes({0x0f}),  // groups and 6, 7
           Bytes({0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}),  // a huge length
           std::string(11, '\x80'),  // endless varint
           Bytes({0x29, 1, 2}),
           Bytes({0x20}),
       }) {
    const auto request = ParseTripleRequest(data);
    EXPECT_EQ(request.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(ParseTripleResponse(data).status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(request.status().message().find("TripleRequestWrapper, byte 0"), std::string::npos);
  }
}

}  // namespace
}  // namespace signpost::interop

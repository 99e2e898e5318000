// Frames byte by byte, what Java and Go sent, and bytes that nobody should send.
#include "signpost/metadata/dubbo/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "tests/common/hostile.h"
#include "tests/metadata/dubbo/frames.h"

namespace signpost::metadata_dubbo_internal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr size_t kBound = 1024;

// Header in hex, body as it is.
std::string Golden(const std::string& hex, const std::string& body) {
  return absl::HexStringToBytes(hex) + body;
}

TEST(FrameTest, ARequestIsAsJavaWritesIt) {
  Invocation invocation = QuestionFor("r1");
  invocation.attachments = {{"group", "shop"}};
  EXPECT_EQ(absl::BytesToHexString(EncodeInvocation(0x0102030405060708, invocation)),
            absl::BytesToHexString(Golden("dabbc20001020304050607080000006a",
                                          "\x05"
                                          "2.0.2"
                                          "\x30\x29"
                                          "org.apache.dubbo.metadata.MetadataService"
                                          "\x05"
                                          "1.0.0"
                                          "\x0f"
                                          "getMetadataInfo"
                                          "\x12"
                                          "Ljava/lang/String;"
                                          "\x02"
                                          "r1"
                                          "H"
                                          "\x05"
                                          "group"
                                          "\x04"
                                          "shop"
                                          "Z")));
}

TEST(FrameTest, AnswersAreAsJavaWritesThem) {
  const hessian2::Value null;
  EXPECT_EQ(EncodeAnswer(7, *TextValue("ok"), /*attachments=*/false),
            Golden("dabb0214000000000000000700000004",
                   "\x91\x02"
                   "ok"));
  EXPECT_EQ(EncodeAnswer(7, *TextValue("ok"), /*attachments=*/true),
            Golden("dabb0214000000000000000700000012",
                   "\x94\x02"
                   "okH"
                   "\x05"
                   "dubbo"
                   "\x05"
                   "2.0.2"
                   "Z"));
  EXPECT_EQ(EncodeAnswer(7, null, /*attachments=*/false),
            Golden("dabb0214000000000000000700000001", "\x92"));
  EXPECT_EQ(EncodeAnswer(7, null, /*attachments=*/true), Golden("dabb021400000000000000070000000f",
                                                                "\x95H"
                                                                "\x05"
                                                                "dubbo"
                                                                "\x05"
                                                                "2.0.2"
                                                                "Z"));
  EXPECT_EQ(EncodeError(7, kServiceError, "no"), Golden("dabb0246000000000000000700000003",
                                                        "\x02"
                                                        "no"));
}

TEST(FrameTest, HeartbeatsAreAsJavaWritesThem) {
  EXPECT_EQ(EncodeHeartbeat(9), Golden("dabbe200000000000000000900000001", "N"));
  EXPECT_EQ(EncodeHeartbeatAnswer(Parsed(EncodeHeartbeat(9))),
            Golden("dabb2214000000000000000900000001", "N"));
  // fastjson2's null is another one.
  const std::string other = Golden("dabbf700000000000000000900000002", "\x01\x02");
  EXPECT_EQ(EncodeHeartbeatAnswer(Parsed(other)),
            Golden("dabb3714000000000000000900000002", "\x01\x02"));
}

TEST(FrameTest, EveryFlagIsRead) {
  const std::string request = EncodeInvocation(3, QuestionFor("r1"));
  Frame frame = Parsed(request);
  EXPECT_TRUE(frame.request);
  EXPECT_TRUE(frame.two_way);
  EXPECT_FALSE(frame.event);
  EXPECT_EQ(frame.serialization, kHessian2);
  EXPECT_EQ(frame.id, 3u);
  EXPECT_EQ(frame.status, 0);
  const std::string error = EncodeError(0xffffffffffffffff, kServerTimeout, "late");
  frame = Parsed(error);
  EXPECT_FALSE(frame.request);
  EXPECT_FALSE(frame.two_way);
  EXPECT_EQ(frame.status, 31);
  EXPECT_EQ(frame.id, 0xffffffffffffffff);
  EXPECT_EQ(DecodeErrorText(frame.body), "late");
  const std::string one_way = Golden("dabb8200000000000000000300000000", "");
  EXPECT_FALSE(Parsed(one_way).two_way);
  EXPECT_TRUE(Parsed(EncodeHeartbeat(1)).event);
}

TEST(FrameTest, PartsOfAFrameWait) {
  const std::string whole = EncodeHeartbeat(1);
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto frame = FirstFrame(absl::string_view(whole).substr(0, size), kBound);
    ASSERT_TRUE(frame.ok()) << size << ": " << frame.status();
    EXPECT_FALSE(frame->has_value()) << size;
  }
  // The next one is left alone.
  const auto frame = FirstFrame(whole + "\xda\xbb", kBound);
  ASSERT_TRUE(frame.ok() && frame->has_value());
  EXPECT_EQ((*frame)->bytes(), whole.size());
}

TEST(FrameTest, WhatIsNoFrameIsKnownByItsFirstBytes) {
  for (const std::string& bytes :
       {std::string("G"), std::string("GET / HTTP/1.1\r\n\r\n"), std::string("\xda\xba"),
        std::string(1, '\0'), std::string("\xbb\xda")}) {
    EXPECT_TRUE(absl::IsInvalidArgument(FirstFrame(bytes, kBound).status())) << bytes;
  }
}

TEST(FrameTest, ALengthAboveTheBoundIsRefusedBeforeItsBytesCome) {
  const auto with = [](const std::string& length) {
    return Golden("dabbc2000000000000000001" + length, "");
  };
  EXPECT_TRUE(FirstFrame(with("00000400"), kBound).ok());
  for (const char* length : {"00000401", "7fffffff", "80000000", "ffffffff"}) {
    const auto frame = FirstFrame(with(length), kBound);
    EXPECT_TRUE(absl::IsInvalidArgument(frame.status())) << length;
    EXPECT_THAT(std::string(frame.status().message()), HasSubstr("at most 1024"));
  }
}

TEST(FrameTest, AnInvocationComesBack) {
  const std::string bytes = EncodeInvocation(1, QuestionFor("r1"));
  const auto read = DecodeInvocation(Parsed(bytes).body, hessian2::DecodeLimits());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->dubbo_version, "2.0.2");
  EXPECT_EQ(read->path, hessian2::kMetadataServiceV1);
  EXPECT_EQ(read->version, "1.0.0");
  EXPECT_EQ(read->method, "getMetadataInfo");
  ASSERT_EQ(read->arguments.size(), 1u);
  EXPECT_EQ(read->arguments[0]->text, "r1");
  EXPECT_EQ(read->attachments, QuestionFor("r1").attachments);
}

TEST(FrameTest, WhatJavaLeavesOutIsEmpty) {
  hessian2::Encoder encoder;
  const hessian2::Value null;
  encoder.Write(*TextValue("2.0.2"));
  encoder.Write(*TextValue("a.A"));
  encoder.Write(null);  // the version
  encoder.Write(*TextValue("version"));
  encoder.Write(*TextValue(""));
  encoder.Write(null);  // the attachments
  const auto read = DecodeInvocation(encoder.Take(), hessian2::DecodeLimits());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->version, "");
  EXPECT_TRUE(read->arguments.empty());
  EXPECT_TRUE(read->attachments.empty());
}

TEST(FrameTest, AttachmentsThatAreNoTextAreLeftOut) {
  hessian2::Value map;
  map.kind = hessian2::Kind::kMap;
  const auto number = std::make_shared<hessian2::Value>();
  number->kind = hessian2::Kind::kInt;
  number->number = 5;
  map.entries = {{TextValue("timeout"), number}, {TextValue("group"), TextValue("shop")}};
  hessian2::Encoder encoder;
  for (const char* text : {"2.0.2", "a.A", "1", "version", ""}) encoder.Write(*TextValue(text));
  encoder.Write(map);
  const auto read = DecodeInvocation(encoder.Take(), hessian2::DecodeLimits());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->attachments, (Attachments{{"group", "shop"}}));
}

TEST(FrameTest, BodiesOfAnotherShapeAreErrors) {
  const std::string bytes = EncodeInvocation(1, QuestionFor("r1"));
  const absl::string_view body = Parsed(bytes).body;
  for (size_t size = 0; size < body.size(); ++size) {
    EXPECT_FALSE(DecodeInvocation(body.substr(0, size), hessian2::DecodeLimits()).ok()) << size;
  }
  // A number as path.
  hessian2::Encoder encoder;
  encoder.Write(*TextValue("2.0.2"));
  hessian2::Value number;
  number.kind = hessian2::Kind::kInt;
  encoder.Write(number);
  const absl::Status status = DecodeInvocation(encoder.Take(), hessian2::DecodeLimits()).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("path"));
  for (const char* answer : {"", "\x91", "\x93", "\x96", "\x8f", "\x02no", "N"}) {
    EXPECT_FALSE(DecodeAnswer(answer, hessian2::DecodeLimits()).ok()) << answer;
  }
}

TEST(FrameTest, AllKindsOfAnswers) {
  const auto kind_of = [](const std::string& body) {
    const auto answer = DecodeAnswer(body, hessian2::DecodeLimits());
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? answer->kind : Answer::Kind::kNull;
  };
  EXPECT_EQ(kind_of("\x90\x02no"), Answer::Kind::kException);
  EXPECT_EQ(kind_of("\x91\x02ok"), Answer::Kind::kValue);
  EXPECT_EQ(kind_of("\x92"), Answer::Kind::kNull);
  EXPECT_EQ(kind_of("\x93\x02noHZ"), Answer::Kind::kException);
  EXPECT_EQ(kind_of("\x94\x02okHZ"), Answer::Kind::kValue);
  EXPECT_EQ(kind_of("\x95HZ"), Answer::Kind::kNull);
  // A value that is null, and the null that dubbo-go puts behind everything.
  EXPECT_EQ(kind_of("\x91N"), Answer::Kind::kNull);
  EXPECT_EQ(kind_of("\x94\x02okHZN"), Answer::Kind::kValue);
}

TEST(FrameTest, AnErrorWithoutTextHasNone) {
  EXPECT_EQ(DecodeErrorText(""), "");
  EXPECT_EQ(DecodeErrorText("N"), "");
  EXPECT_EQ(DecodeErrorText("\xff\xff"), "");
}

TEST(FrameTest, ReadsWhatJavaAndGoAnswered) {
  for (const std::string peer : {"java-dubbo", "go-dubbo"}) {
    const std::string request = Recorded(peer + " V1 request");
    const auto asked = DecodeInvocation(Parsed(request).body, hessian2::DecodeLimits());
    ASSERT_TRUE(asked.ok()) << asked.status();
    EXPECT_EQ(asked->attachments.at("group"), peer);
    const auto info = InfoIn(Recorded(peer + " V1 answer"));
    ASSERT_TRUE(info.ok()) << peer << ": " << info.status();
    EXPECT_EQ(info->app, peer);
    EXPECT_EQ(info->revision, asked->arguments.at(0)->text);
    EXPECT_EQ(info->services.count("demo.GreetingService:dubbo"), 1u);
  }
}

TEST(FrameTest, AttachmentsAreForThoseWhoTakeThem) {
  for (const char* version : {"2.0.2", "2.0.3", "2.0.99"}) EXPECT_TRUE(TakesAttachments(version));
  for (const char* version :
       {"", "2", "2.0", "2.0.1", "2.0.100", "2.6.2", "2.7.3", "3.0.0", "2.0.2.1", "x", "2.0.x"}) {
    EXPECT_FALSE(TakesAttachments(version)) << version;
  }
}

TEST(FrameTest, TypesGetTheNamesThatJavaHasForThem) {
  const auto names = ClassNames("Ljava/lang/String;I[J[Ljava/lang/String;[[Z");
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_THAT(*names, ElementsAre("java.lang.String", "int", "[J", "[Ljava.lang.String;", "[[Z"));
  EXPECT_TRUE(ClassNames("")->empty());
  for (const char* types : {"L", "Ljava/lang/String", "[", "[[", "Q", "I;", "java.lang.String"}) {
    EXPECT_FALSE(ClassNames(types).ok()) << types;
  }
  EXPECT_FALSE(ClassNames(std::string(1000, 'I')).ok());
}

TEST(FrameTest, HostileBytesAreErrorsAtWorst) {
  hessian2::DecodeLimits limits;
  limits.max_memory_bytes = 1 << 20;
  const auto use = [&](const std::string& bytes) {
    const auto frame = FirstFrame(bytes, kBound);
    if (!frame.ok() || !frame->has_value()) return;
    EXPECT_LE((*frame)->body.size(), kBound);
    DecodeInvocation((*frame)->body, limits).IgnoreError();
    DecodeAnswer((*frame)->body, limits).IgnoreError();
    DecodeErrorText((*frame)->body);
  };
  ForEachHostileText(EncodeInvocation(1, QuestionFor("r1")), 3000, use);
  ForEachHostileText(Recorded("java-dubbo V1 answer"), 3000, use);
}

}  // namespace
}  // namespace signpost::metadata_dubbo_internal

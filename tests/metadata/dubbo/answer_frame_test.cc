// What is said to which frame. Without a network.
#include "signpost/metadata/dubbo/answer_frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/clock.h"
#include "signpost/metadata/published_metadata.h"
#include "tests/common/hostile.h"
#include "tests/metadata/dubbo/frames.h"

namespace signpost::metadata_dubbo_internal {
namespace {

using testing::HasSubstr;

class AnswerFrameTest : public testing::Test {
 protected:
  AnswerFrameTest() { published_.Publish(InfoOf("r1"), {}); }

  std::string Ask(const Invocation& invocation) {
    return AskBytes(EncodeInvocation(5, invocation));
  }
  std::string AskBytes(const std::string& bytes) { return AnswerFrame(published_, Parsed(bytes)); }
  // The status and the text of an answer that is an error.
  static std::string ErrorOf(const std::string& response) {
    const Frame frame = Parsed(response);
    EXPECT_FALSE(frame.request);
    EXPECT_EQ(frame.id, 5u);
    return absl::StrCat(int{frame.status}, " ", DecodeErrorText(frame.body));
  }

  PublishedMetadata published_{"shop", Clock::Real()};
};

TEST_F(AnswerFrameTest, TellsTheDocument) {
  const std::string response = Ask(QuestionFor("r1"));
  EXPECT_EQ(Parsed(response).id, 5u);
  const auto info = InfoIn(response);
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->app, "shop");
  EXPECT_EQ(info->revision, "r1");
  EXPECT_EQ(info->services, InfoOf("r1").services);
}

TEST_F(AnswerFrameTest, AttachmentsAreForThoseWhoTakeThem) {
  Invocation old = QuestionFor("r1");
  old.dubbo_version = "2.6.2";
  const std::string without = Ask(old);
  EXPECT_EQ(without[kHeaderBytes], '\x91');
  EXPECT_TRUE(InfoIn(without).ok());
  EXPECT_EQ(Ask(QuestionFor("r1"))[kHeaderBytes], '\x94');
}

TEST_F(AnswerFrameTest, AnUnknownRevisionIsAnErrorAndNoDocument) {
  EXPECT_THAT(ErrorOf(Ask(QuestionFor("r2"))), testing::StartsWith("70 "));
}

TEST_F(AnswerFrameTest, GroupAndVersionNeedNotBeNamed) {
  Invocation invocation = QuestionFor("r1");
  invocation.version = "";
  invocation.attachments.clear();
  EXPECT_TRUE(InfoIn(Ask(invocation)).ok());
  invocation.attachments = {{"group", ""}, {"path", "/" + invocation.path}};
  EXPECT_TRUE(InfoIn(Ask(invocation)).ok());
}

TEST_F(AnswerFrameTest, NothingElseIsThere) {
  const auto changed = [](auto change) {
    Invocation invocation = QuestionFor("r1");
    change(invocation);
    return invocation;
  };
  const Invocation others[] = {
      changed([](Invocation& i) { i.path = "a.A"; }),
      changed([](Invocation& i) { i.path = ""; }),
      changed([](Invocation& i) { i.attachments["path"] = "a.A"; }),
      changed([](Invocation& i) { i.attachments["interface"] = "a.A"; }),
      changed([](Invocation& i) { i.attachments["group"] = "other"; }),
      changed([](Invocation& i) { i.attachments["version"] = "2.0.0"; }),
      changed([](Invocation& i) {
        i.version = "2.0.0";
        i.attachments.clear();
      }),
  };
  for (const Invocation& other : others) {
    EXPECT_THAT(ErrorOf(Ask(other)), HasSubstr("60 Not found exported service")) << other.path;
  }
}

TEST_F(AnswerFrameTest, AnErrorQuotesLittleOfWhatWasSent) {
  Invocation invocation = QuestionFor("r1");
  invocation.path = std::string(50000, 'x');
  EXPECT_LT(Ask(invocation).size(), 1000u);
}

TEST_F(AnswerFrameTest, MethodsThatNobodyNeedsAreRefused) {
  for (const char* method : {"$invoke", "$echo", "exportInstanceMetadata", "", "getClass"}) {
    Invocation invocation = QuestionFor("r1");
    invocation.method = method;
    EXPECT_THAT(ErrorOf(Ask(invocation)), testing::StartsWith("40 ")) << method;
  }
  Invocation of_number = QuestionFor("r1");
  of_number.parameter_types = "I";
  EXPECT_THAT(ErrorOf(Ask(of_number)), testing::StartsWith("40 "));
}

TEST_F(AnswerFrameTest, BodiesThatAreNoneAreBadRequests) {
  const std::string header = absl::HexStringToBytes("dabbc2000000000000000005");
  EXPECT_THAT(ErrorOf(AskBytes(header + std::string("\0\0\0\0", 4))), testing::StartsWith("40 "));
  EXPECT_THAT(ErrorOf(AskBytes(header + std::string("\0\0\0\3", 4) + "\xff\xff\xff")),
              testing::StartsWith("40 "));
  // fastjson2
  std::string other = EncodeInvocation(5, QuestionFor("r1"));
  other[2] = '\xd7';
  const std::string answer = AskBytes(other);
  EXPECT_THAT(ErrorOf(answer), HasSubstr("40 serialization 23"));
  EXPECT_EQ(Parsed(answer).serialization, kHessian2);
}

TEST_F(AnswerFrameTest, HeartbeatsAreAnswered) {
  EXPECT_EQ(absl::BytesToHexString(AskBytes(EncodeHeartbeat(5))),
            "dabb2214000000000000000500000001"
            "4e");
}

TEST_F(AnswerFrameTest, NothingIsSaidToThoseWhoWantNoAnswer) {
  std::string one_way = EncodeInvocation(5, QuestionFor("r1"));
  one_way[2] = '\x82';
  EXPECT_EQ(AskBytes(one_way), "");
  std::string event = EncodeHeartbeat(5);
  event[2] = '\xa2';
  EXPECT_EQ(AskBytes(event), "");
  EXPECT_EQ(AskBytes(EncodeError(5, kOk, "")), "");
  EXPECT_EQ(AskBytes(EncodeHeartbeatAnswer(Parsed(EncodeHeartbeat(5)))), "");
}

TEST_F(AnswerFrameTest, WhatNoConsumerWouldTakeIsAnError) {
  MetadataInfo large = InfoOf("r2");
  large.services.begin()->second.params["text"] = std::string(9 << 20, 'x');
  published_.Publish(large, {});
  EXPECT_THAT(ErrorOf(Ask(QuestionFor("r2"))), HasSubstr("50 an answer of 9"));
}

TEST_F(AnswerFrameTest, HostileBytesGetAnErrorAtWorst) {
  ForEachHostileText(EncodeInvocation(5, QuestionFor("r1")), 3000, [&](const std::string& bytes) {
    const auto frame = FirstFrame(bytes, 64 << 10);
    if (!frame.ok() || !frame->has_value()) return;
    const std::string answer = AnswerFrame(published_, **frame);
    if (!answer.empty()) {
      EXPECT_EQ(Parsed(answer).id, (*frame)->id);
    }
  });
}

}  // namespace
}  // namespace signpost::metadata_dubbo_internal

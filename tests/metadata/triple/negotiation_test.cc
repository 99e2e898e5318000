#include "signpost/metadata/triple/negotiation.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/manual_executor.h"

namespace signpost::metadata_triple_internal {
namespace {

constexpr char kAddress[] = "metadata service 192.0.2.1:50051";

TEST(AnsweredVersionsTest, TheLastAnswerCounts) {
  AnsweredVersions versions;
  EXPECT_FALSE(versions.Find("a").has_value());
  versions.Remember("a", ServiceVersion::kV1);
  EXPECT_EQ(versions.Find("a"), ServiceVersion::kV1);
  versions.Remember("a", ServiceVersion::kV2);
  EXPECT_EQ(versions.Find("a"), ServiceVersion::kV2);
  EXPECT_EQ(versions.size(), 1u);
}

TEST(AnsweredVersionsTest, TheOldestAreForgotten) {
  AnsweredVersions versions(3);
  for (int i = 0; i < 100; ++i) versions.Remember(absl::StrCat(i), ServiceVersion::kV1);
  EXPECT_EQ(versions.size(), 3u);
  EXPECT_FALSE(versions.Find("96").has_value());
  EXPECT_TRUE(versions.Find("97").has_value());
  for (int i = 0; i < 100; ++i) versions.Remember("99", ServiceVersion::kV2);
  EXPECT_TRUE(versions.Find("97").has_value());
}

// Answers when the test says so.
class FakeCall final : public VersionedCall {
 public:
  void Start(ServiceVersion version, absl::Duration left, Question::Done done) override {
    asked.push_back(version);
    lefts.push_back(left);
    done_ = std::move(done);
  }
  void Cancel() override { cancelled = true; }
  void Answer(absl::StatusOr<MetadataInfo> answer) {
    Question::Done done = std::move(done_);
    std::move(done)(std::move(answer));
  }

  std::vector<ServiceVersion> asked;
  std::vector<absl::Duration> lefts;
  bool cancelled = false;

 private:
  Question::Done done_;
};

class NegotiationTest : public testing::Test {
 protected:
  void Ask(ServiceVersion expected) {
    call_ = std::make_shared<FakeCall>();
    answer_.reset();
    question_ = std::make_shared<NegotiatedQuestion>(kAddress, expected, answered_, call_, clock_);
    question_->Start(absl::Seconds(5), [this](absl::StatusOr<MetadataInfo> answer) {
      answer_.emplace(std::move(answer));
    });
  }
  static MetadataInfo Info() {
    MetadataInfo info;
    info.revision = "r1";
    return info;
  }
  using Versions = std::vector<ServiceVersion>;

  SimulatedClock clock_;
  std::shared_ptr<AnsweredVersions> answered_ = std::make_shared<AnsweredVersions>();
  std::shared_ptr<FakeCall> call_;
  std::shared_ptr<NegotiatedQuestion> question_;
  std::optional<absl::StatusOr<MetadataInfo>> answer_;
};

TEST_F(NegotiationTest, TheExpectedOneIsAsked) {
  for (const ServiceVersion version : {ServiceVersion::kV2, ServiceVersion::kV1}) {
    answered_ = std::make_shared<AnsweredVersions>();
    Ask(version);
    EXPECT_EQ(call_->asked, Versions{version});
    EXPECT_EQ(call_->lefts.front(), absl::Seconds(5));
    EXPECT_FALSE(answer_.has_value());
    call_->Answer(Info());
    ASSERT_TRUE(answer_.has_value());
    EXPECT_TRUE(answer_->ok());
    EXPECT_EQ(answered_->Find(kAddress), version);
  }
}

TEST_F(NegotiationTest, UnimplementedLeadsToTheOtherInTheTimeThatIsLeft) {
  Ask(ServiceVersion::kV2);
  clock_.Advance(absl::Seconds(2));
  call_->Answer(absl::UnimplementedError("no"));
  EXPECT_FALSE(answer_.has_value());
  EXPECT_EQ(call_->asked, (Versions{ServiceVersion::kV2, ServiceVersion::kV1}));
  EXPECT_EQ(call_->lefts.back(), absl::Seconds(3));
  call_->Answer(Info());
  ASSERT_TRUE(answer_.has_value() && answer_->ok());
  // And is asked at once from now on.
  Ask(ServiceVersion::kV2);
  EXPECT_EQ(call_->asked, Versions{ServiceVersion::kV1});
  // Until it is another process.
  call_->Answer(absl::UnimplementedError("no"));
  call_->Answer(Info());
  ASSERT_TRUE(answer_.has_value() && answer_->ok());
  EXPECT_EQ(answered_->Find(kAddress), ServiceVersion::kV2);
}

TEST_F(NegotiationTest, NotFoundIsAnAnswerToo) {
  Ask(ServiceVersion::kV2);
  call_->Answer(absl::UnimplementedError("no"));
  call_->Answer(absl::NotFoundError("r1"));
  ASSERT_TRUE(answer_.has_value());
  EXPECT_TRUE(absl::IsNotFound(answer_->status()));
  EXPECT_EQ(answered_->Find(kAddress), ServiceVersion::kV1);
}

TEST_F(NegotiationTest, NeitherIsAnErrorThatNamesBoth) {
  Ask(ServiceVersion::kV2);
  call_->Answer(absl::UnimplementedError("first"));
  call_->Answer(absl::UnimplementedError("second"));
  ASSERT_TRUE(answer_.has_value());
  EXPECT_TRUE(absl::IsUnimplemented(answer_->status()));
  EXPECT_EQ(answer_->status().message(), absl::StrCat(kAddress, ", MetadataServiceV2: first; ",
                                                      kAddress, ", MetadataService: second"));
  EXPECT_EQ(call_->asked.size(), 2u);
  EXPECT_FALSE(answered_->Find(kAddress).has_value());
}

TEST_F(NegotiationTest, OtherErrorsEndIt) {
  for (const absl::Status& status :
       {absl::UnavailableError("x"), absl::InternalError("x"), absl::DeadlineExceededError("x")}) {
    Ask(ServiceVersion::kV2);
    call_->Answer(status);
    ASSERT_TRUE(answer_.has_value());
    EXPECT_EQ(answer_->status().code(), status.code());
    EXPECT_EQ(answer_->status().message(), absl::StrCat(kAddress, ", MetadataServiceV2: x"));
    EXPECT_EQ(call_->asked.size(), 1u);
    EXPECT_FALSE(answered_->Find(kAddress).has_value());
  }
}

TEST_F(NegotiationTest, NoTimeIsLeftForTheOther) {
  Ask(ServiceVersion::kV2);
  clock_.Advance(absl::Seconds(5));
  call_->Answer(absl::UnimplementedError("no"));
  ASSERT_TRUE(answer_.has_value());
  EXPECT_TRUE(absl::IsDeadlineExceeded(answer_->status()));
  EXPECT_EQ(call_->asked.size(), 1u);
}

TEST_F(NegotiationTest, CancelReachesTheCall) {
  Ask(ServiceVersion::kV2);
  question_->Cancel();
  EXPECT_TRUE(call_->cancelled);
  // A call that was cancelled still says so, which lets the question go.
  call_->Answer(absl::CancelledError("gave up"));
  EXPECT_TRUE(answer_.has_value());
}

// The question lives until it has answered, whoever asked.
TEST_F(NegotiationTest, ItsOwnerMayBeGone) {
  Ask(ServiceVersion::kV2);
  question_.reset();
  call_->Answer(absl::UnimplementedError("no"));
  call_->Answer(Info());
  EXPECT_TRUE(answer_.has_value());
}

}  // namespace
}  // namespace signpost::metadata_triple_internal

#include "signpost/client/fan_out_registrar.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace signpost::client_internal {
namespace {

class HeldRegistrar final : public Registrar {
 public:
  void Register(const Url& url, const CallOptions&, DoneCallback done) override {
    Hold("+" + url.path(), std::move(done));
  }
  void Unregister(const Url& url, const CallOptions&, DoneCallback done) override {
    Hold("-" + url.path(), std::move(done));
  }
  void UnregisterAll(const CallOptions&, DoneCallback done) override {
    Hold("none", std::move(done));
  }
  void Answer(const absl::Status& status) { std::move(done_)(status); }
  std::string asked;

 private:
  void Hold(std::string what, DoneCallback done) {
    asked = std::move(what);
    done_ = std::move(done);
  }
  DoneCallback done_;
};

class FanOutRegistrarTest : public testing::Test {
 protected:
  DoneCallback Answered() {
    return [this](absl::Status status) { answers_.push_back(std::move(status)); };
  }
  std::shared_ptr<HeldRegistrar> first_ = std::make_shared<HeldRegistrar>();
  std::shared_ptr<HeldRegistrar> second_ = std::make_shared<HeldRegistrar>();
  FanOutRegistrar both_{{first_, second_}};
  const Url url_ = *Url::Parse("tri://192.0.2.1:1/a.A");
  std::vector<absl::Status> answers_;
};

TEST_F(FanOutRegistrarTest, AnswersOnceWhenAllHave) {
  both_.Register(url_, CallOptions(), Answered());
  EXPECT_EQ(first_->asked, "+a.A");
  EXPECT_EQ(second_->asked, "+a.A");
  second_->Answer(absl::OkStatus());
  EXPECT_TRUE(answers_.empty());
  first_->Answer(absl::OkStatus());
  EXPECT_EQ(answers_, std::vector<absl::Status>{absl::OkStatus()});
}

TEST_F(FanOutRegistrarTest, TellsTheFirstError) {
  both_.Unregister(url_, CallOptions(), Answered());
  EXPECT_EQ(second_->asked, "-a.A");
  second_->Answer(absl::UnavailableError("second"));
  first_->Answer(absl::UnavailableError("first"));
  EXPECT_EQ(answers_, std::vector<absl::Status>{absl::UnavailableError("second")});
}

TEST_F(FanOutRegistrarTest, UnregistersAllEverywhere) {
  both_.UnregisterAll(CallOptions(), Answered());
  EXPECT_EQ(first_->asked, "none");
  EXPECT_EQ(second_->asked, "none");
  first_->Answer(absl::OkStatus());
  second_->Answer(absl::InternalError("x"));
  EXPECT_EQ(answers_, std::vector<absl::Status>{absl::InternalError("x")});
}

TEST_F(FanOutRegistrarTest, NoneAnswersAtOnce) {
  FanOutRegistrar none({});
  none.Register(url_, CallOptions(), Answered());
  none.Unregister(url_, CallOptions(), Answered());
  none.UnregisterAll(CallOptions(), Answered());
  EXPECT_EQ(answers_.size(), 3u);
  EXPECT_TRUE(answers_[0].ok());
}

}  // namespace
}  // namespace signpost::client_internal

// Directory over several registry centres: calls go to those that have something for them.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "signpost/client/directory.h"
#include "signpost/common/manual_executor.h"
#include "tests/client/two_levels.h"

namespace signpost {
namespace {

class DirectoryCentresTest : public testing::Test {
 protected:
  ~DirectoryCentresTest() override { Close(); }

  void Open(std::vector<CentreRegistries> centres, std::vector<RouterFactory> routers = {}) {
    Directory::Parts parts = PartsOf(executor_, std::move(centres));
    parts.routers = std::move(routers);
    directory_ = std::make_unique<Directory>(std::move(parts));
    executor_->RunUntilIdle();
  }
  void Close() {
    directory_.reset();
    executor_->RunUntilIdle();
  }
  static Request Method(absl::string_view method) {
    Request request;
    request.method = method;
    return request;
  }

  SimulatedClock clock_;
  std::shared_ptr<ManualExecutor> executor_ = std::make_shared<ManualExecutor>(clock_);
  TwoLevels levels_{executor_};
  std::unique_ptr<Directory> directory_;
};

TEST_F(DirectoryCentresTest, PicksAreSpreadOverTwoCentres) {
  TwoLevels other(executor_, levels_.table);
  CentreRegistries second = other.Centre();
  second.application = nullptr;
  second.migration = nullptr;
  Open({levels_.Centre(), second});
  levels_.PublishApplication(2);
  // The second one is not known yet.
  EXPECT_EQ(CountPicks(*directory_).application, 1000);
  other.PublishInterface(2);
  PickCounts counts = CountPicks(*directory_);
  EXPECT_EQ(counts.failed, 0);
  EXPECT_NEAR(counts.application, 500, 100);
  EXPECT_EQ(directory_->addresses()->size(), 4u);
  Follower follower(*directory_);
  executor_->RunUntilIdle();
  // One of them has nothing any more: the other one has all calls.
  other.PublishInterface(0, absl::UnavailableError("no provider"));
  EXPECT_EQ(CountPicks(*directory_).application, 1000);
  EXPECT_TRUE(follower.Follows());
  other.PublishInterface(1);
  levels_.PublishApplication(0, absl::UnavailableError("shop: no instance"));
  EXPECT_EQ(CountPicks(*directory_).interface, 1000);
  EXPECT_TRUE(follower.Follows());
  EXPECT_EQ(directory_->addresses()->size(), 1u);
  EXPECT_EQ(directory_->levels().size(), 1u);  // the second centre has one level
  Close();
}

TEST_F(DirectoryCentresTest, TwoCentresWithoutAnythingSayTheSameToAll) {
  TwoLevels other(executor_, levels_.table);
  Open({ApplicationLevel(levels_.application), ApplicationLevel(other.application)});
  levels_.PublishApplication(0, absl::NotFoundError("no mapping here"));
  other.PublishApplication(0, absl::UnavailableError("no mapping there"));
  std::vector<absl::Status> answers;
  directory_->WhenReady(absl::ZeroDuration(),
                        [&](absl::Status status) { answers.push_back(std::move(status)); });
  executor_->RunUntilIdle();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].message(), "org.example.Greeter: no mapping here");
  EXPECT_EQ(answers[0], directory_->Pick(Request()).status());
  Close();
}

TEST_F(DirectoryCentresTest, ACentreThatHasNoneIsNoFault) {
  TwoLevels other(executor_, levels_.table);
  Open({ApplicationLevel(levels_.application), ApplicationLevel(other.application)});
  levels_.PublishApplication(0, absl::NotFoundError("no mapping here"));
  other.PublishApplication(2);
  EXPECT_TRUE(directory_->state().ok()) << directory_->state();
  EXPECT_EQ(directory_->addresses()->size(), 2u);
  // One whose list may still come is: what is told is not whole.
  levels_.PublishApplication(0, absl::UnavailableError("shop: no metadata"));
  EXPECT_EQ(directory_->state().message(), "shop: no metadata");
  EXPECT_TRUE(directory_->Pick(Request()).ok());
  Close();
}

TEST_F(DirectoryCentresTest, ACallThatOneCentreHasNothingForGoesToTheOther) {
  TwoLevels other(executor_, levels_.table);
  Open({ApplicationLevel(levels_.application), ApplicationLevel(other.application)},
       {[](const RouterOptions&) { return std::make_unique<LevelRouter>(true); }});
  levels_.PublishApplication(2);
  other.application->Publish(TwoLevels::Specs(TwoLevels::kInterfaceFrom, 2));
  EXPECT_EQ(CountPicks(*directory_, 200, Method("save")).interface, 200);
  EXPECT_EQ(CountPicks(*directory_, 200, Method("find")).failed, 0);
  EXPECT_EQ(CountPicks(*directory_, 10, Method("drop")).failed, 10);
  Close();
}

}  // namespace
}  // namespace signpost

// Directory over both levels: what serves, and that no call fails while that changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "signpost/client/directory.h"
#include "signpost/common/manual_executor.h"
#include "tests/client/two_levels.h"
#include "tests/support/kept_log.h"

namespace signpost {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class DirectoryLevelsTest : public testing::Test {
 protected:
  ~DirectoryLevelsTest() override {
    directory_.reset();
    executor_->RunUntilIdle();
    EXPECT_EQ(executor_->pending_timers(), 0u);
  }

  void Open(std::vector<CentreRegistries> centres, std::vector<RouterFactory> routers = {}) {
    Directory::Parts parts = PartsOf(executor_, std::move(centres));
    parts.routers = std::move(routers);
    directory_ = std::make_unique<Directory>(std::move(parts));
    executor_->RunUntilIdle();
  }
  void Open() { Open({levels_.Centre()}); }
  void Close() {
    directory_.reset();
    executor_->RunUntilIdle();
  }
  static Request Method(absl::string_view method) {
    Request request;
    request.method = method;
    return request;
  }
  std::string Why() const {
    const auto levels = directory_->levels();
    return levels.empty() ? "" : levels.front();
  }

  SimulatedClock clock_;
  std::shared_ptr<ManualExecutor> executor_ = std::make_shared<ManualExecutor>(clock_);
  TwoLevels levels_{executor_};
  std::unique_ptr<Directory> directory_;
};

TEST_F(DirectoryLevelsTest, TheTableOfStepsListsAndProportions) {
  enum class Serves { kNothing, kInterface, kApplication, kShared };
  const auto expected = [](const std::string& step, bool application, bool interface,
                           int proportion) {
    if (step == "FORCE_INTERFACE") return interface ? Serves::kInterface : Serves::kNothing;
    if (step == "FORCE_APPLICATION") return application ? Serves::kApplication : Serves::kNothing;
    if (!application) return interface ? Serves::kInterface : Serves::kNothing;
    if (!interface || proportion == 100) return Serves::kApplication;
    return proportion == 0 ? Serves::kInterface : Serves::kShared;
  };
  for (const std::string step : {"FORCE_INTERFACE", "APPLICATION_FIRST", "FORCE_APPLICATION"}) {
    for (const bool application : {false, true}) {
      for (const bool interface : {false, true}) {
        for (const int proportion : {0, 50, 100}) {
          SCOPED_TRACE(absl::StrCat(step, " application=", application, " interface=", interface,
                                    " proportion=", proportion));
          levels_.Rule(absl::StrCat("step: ", step, "\nproportion: ", proportion));
          Open();
          EXPECT_EQ(levels_.application->subscribed.empty(), step == "FORCE_INTERFACE");
          EXPECT_EQ(levels_.interface->subscribed.empty(), step == "FORCE_APPLICATION");
          levels_.PublishApplication(application ? 3 : 0);
          levels_.PublishInterface(interface ? 3 : 0);
          const PickCounts counts = CountPicks(*directory_);
          switch (expected(step, application, interface, proportion)) {
            case Serves::kNothing:
              EXPECT_EQ(counts.failed, 1000);
              EXPECT_TRUE(directory_->addresses()->empty());
              break;
            case Serves::kInterface:
              EXPECT_EQ(counts.interface, 1000);
              EXPECT_EQ(directory_->addresses()->size(), 3u);
              break;
            case Serves::kApplication:
              EXPECT_EQ(counts.application, 1000);
              EXPECT_EQ(directory_->addresses()->size(), 3u);
              break;
            case Serves::kShared:
              EXPECT_EQ(counts.failed, 0);
              // 1000 draws of 50%: 100 off is six standard deviations.
              EXPECT_NEAR(counts.application, 500, 100);
              EXPECT_EQ(directory_->addresses()->size(), 6u);
              break;
          }
          EXPECT_THAT(Why(), HasSubstr(step));
          Close();
        }
      }
    }
  }
}

// TC-12, the consumer's half: the metadata of the application's revision is not there yet.
TEST_F(DirectoryLevelsTest, TheInterfaceLevelServesWhileMetadataIsMissing) {
  Open();
  levels_.PublishApplication(0, absl::UnavailableError("shop: no metadata for revision r1"));
  levels_.PublishInterface(1);
  EXPECT_EQ(CountPicks(*directory_).interface, 1000);
  EXPECT_THAT(Why(), HasSubstr("shop: no metadata for revision r1"));
  // The document appears.
  levels_.PublishApplication(1);
  EXPECT_EQ(CountPicks(*directory_).application, 1000);
  EXPECT_EQ(directory_->addresses()->size(), 1u);
  EXPECT_TRUE(directory_->state().ok());
}

// TC-38.
TEST_F(DirectoryLevelsTest, AProviderThatRegistersBothWaysReplacesOneOfTheInterfaceLevel) {
  Open();
  Follower follower(*directory_);
  levels_.PublishInterface(1);
  levels_.PublishApplication(0, absl::NotFoundError("no mapping"));
  executor_->RunUntilIdle();
  EXPECT_EQ(CountPicks(*directory_).interface, 1000);
  // The new one comes before the old one goes.
  levels_.PublishInterface(2);
  EXPECT_EQ(CountPicks(*directory_).failed, 0);
  levels_.PublishApplication(1);
  PickCounts counts = CountPicks(*directory_);
  EXPECT_EQ(counts.application, 1000);
  levels_.interface->Publish({GreeterAt(TwoLevels::kInterfaceFrom + 2)});
  EXPECT_EQ(CountPicks(*directory_).application, 1000);
  EXPECT_EQ(directory_->addresses()->size(), 1u);  // once, not by each level
  EXPECT_TRUE(follower.Follows());
  // The application-level list becomes empty.
  levels_.PublishApplication(0, absl::UnavailableError("shop: no instance"));
  counts = CountPicks(*directory_);
  EXPECT_EQ(counts.interface, 1000);
  EXPECT_EQ(directory_->addresses()->size(), 1u);
  EXPECT_TRUE(follower.Follows());
}

// TC-39, with its texts.
TEST_F(DirectoryLevelsTest, TextsOfTheMigrationRule) {
  KeptLog log;
  CentreRegistries centre = levels_.Centre();
  centre.migration_options.proportion = 50;  // the configured default
  Open({centre});
  levels_.PublishApplication(2);
  levels_.PublishInterface(2);
  levels_.Rule("step: APPLICATION_FIRST\r\nproportion: 0");
  EXPECT_EQ(CountPicks(*directory_).interface, 1000);
  levels_.Rule("step: APPLICATION_FIRST\r\nproportion: 100");
  EXPECT_EQ(CountPicks(*directory_).application, 1000);
  levels_.Rule("");
  PickCounts counts = CountPicks(*directory_);
  EXPECT_EQ(counts.failed, 0);
  EXPECT_NEAR(counts.application, 500, 100);
  levels_.Rule("step: APPLICATION_FIRST\r\nproportion: 0");
  levels_.Rule("step: APPLICATION_FORCE");
  EXPECT_EQ(CountPicks(*directory_).interface, 1000);
  EXPECT_THAT(log.text(), HasSubstr("FORCE_INTERFACE, APPLICATION_FIRST, FORCE_APPLICATION"));
  EXPECT_THAT(log.text(), HasSubstr("APPLICATION_FORCE"));
  EXPECT_THAT(log.text(), HasSubstr("the previous rule stays"));
}

TEST_F(DirectoryLevelsTest, ARuleThatGoesLeavesTheDefault) {
  Open();
  levels_.PublishApplication(2);
  levels_.PublishInterface(2);
  levels_.Rule("step: FORCE_INTERFACE");
  EXPECT_EQ(CountPicks(*directory_).interface, 1000);
  levels_.source.Remove(TwoLevels::kRule);
  executor_->RunUntilIdle();
  EXPECT_FALSE(levels_.application->subscribed.empty());
  // Until that level is known again, the other one serves.
  EXPECT_EQ(CountPicks(*directory_).interface, 1000);
  levels_.PublishApplication(2);
  EXPECT_EQ(CountPicks(*directory_).application, 1000);
}

TEST_F(DirectoryLevelsTest, ACallForWhichOneLevelHasNothingGoesToTheOther) {
  Open({levels_.Centre()},
       {[](const RouterOptions&) { return std::make_unique<LevelRouter>(true); }});
  levels_.PublishApplication(2);
  levels_.PublishInterface(2);
  EXPECT_EQ(CountPicks(*directory_, 100, Method("find")).application, 100);
  EXPECT_EQ(CountPicks(*directory_, 100, Method("save")).interface, 100);
  // Neither level: the one that serves says why.
  EXPECT_EQ(directory_->Pick(Method("drop")).status().message(),
            "org.example.Greeter: rule level/drop leaves none of 2 addresses");
  // A level that alone counts leaves no call to the other one.
  levels_.Rule("step: FORCE_APPLICATION");
  EXPECT_EQ(CountPicks(*directory_, 100, Method("save")).failed, 100);
  EXPECT_EQ(CountPicks(*directory_, 100, Method("find")).application, 100);
}

TEST_F(DirectoryLevelsTest, TheOtherDirectionToo) {
  levels_.Rule("step: APPLICATION_FIRST\nproportion: 0");
  Open({levels_.Centre()},
       {[](const RouterOptions&) { return std::make_unique<LevelRouter>(false); }});
  levels_.PublishApplication(2);
  levels_.PublishInterface(2);
  EXPECT_EQ(CountPicks(*directory_, 100, Method("find")).interface, 100);
  EXPECT_EQ(CountPicks(*directory_, 100, Method("save")).application, 100);
}

TEST_F(DirectoryLevelsTest, AFollowerOfDeltasHoldsTheAddressesThroughEverySwitch) {
  Open();
  Follower follower(*directory_);
  executor_->RunUntilIdle();
  levels_.PublishInterface(3);
  EXPECT_TRUE(follower.Follows());
  levels_.PublishApplication(2);
  EXPECT_TRUE(follower.Follows());
  for (const char* rule : {"proportion: 50", "proportion: 0", "proportion: 50", "proportion: 100",
                           "step: FORCE_APPLICATION", "step: APPLICATION_FIRST\nproportion: 50",
                           "step: FORCE_APPLICATION", "step: APPLICATION_FIRST\nproportion: 0"}) {
    SCOPED_TRACE(rule);
    levels_.Rule(rule);
    EXPECT_TRUE(follower.Follows());
    levels_.PublishInterface(4);
    EXPECT_TRUE(follower.Follows());
    levels_.PublishApplication(3);
    EXPECT_TRUE(follower.Follows());
    levels_.PublishApplication(1);
    EXPECT_TRUE(follower.Follows());
    levels_.PublishInterface(2);
    EXPECT_TRUE(follower.Follows());
    // The same list again: nothing added, nothing removed.
    levels_.PublishInterface(2);
    EXPECT_TRUE(follower.Follows());
  }
  levels_.PublishApplication(0, absl::UnavailableError("shop: no instance"));
  EXPECT_TRUE(follower.Follows());
  levels_.PublishInterface(0, absl::UnavailableError("no provider"));
  EXPECT_TRUE(follower.Follows());
  EXPECT_TRUE(directory_->addresses()->empty());
  levels_.PublishInterface(1);
  EXPECT_TRUE(follower.Follows());
  EXPECT_GT(follower.told(), 20);
}

TEST_F(DirectoryLevelsTest, OfTheLevelThatDoesNotServeNobodyHears) {
  Open();
  levels_.PublishInterface(1);
  levels_.PublishApplication(2);
  Follower follower(*directory_);
  executor_->RunUntilIdle();
  const int told = follower.told();
  for (int i = 2; i < 6; ++i) levels_.PublishInterface(i);
  EXPECT_EQ(follower.told(), told);
  levels_.PublishApplication(3);
  EXPECT_EQ(follower.told(), told + 1);
  EXPECT_TRUE(follower.Follows());
}

TEST_F(DirectoryLevelsTest, TwoListsNeverHaveOneVersion) {
  Open();
  levels_.PublishInterface(1);
  const uint64_t by_interface = directory_->addresses()->version();
  levels_.PublishApplication(1);
  EXPECT_NE(directory_->addresses()->version(), by_interface);
}

TEST_F(DirectoryLevelsTest, OneWhoComesLateGetsTheWholeUnion) {
  levels_.Rule("proportion: 50");
  Open();
  levels_.PublishApplication(2);
  levels_.PublishInterface(3);
  Follower follower(*directory_);
  executor_->RunUntilIdle();
  EXPECT_EQ(follower.told(), 1);
  EXPECT_TRUE(follower.Follows());
  EXPECT_EQ(directory_->addresses()->size(), 5u);
}

TEST_F(DirectoryLevelsTest, StateIsOfWhatServes) {
  Open();
  levels_.PublishApplication(0, absl::NotFoundError("no mapping"));
  EXPECT_EQ(directory_->state().message(),
            "no mapping; at interface level: addresses are not known yet");
  // The other level may still come.
  EXPECT_EQ(directory_->state().code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(directory_->complete());
  levels_.PublishInterface(0, absl::NotFoundError("no provider"));
  EXPECT_EQ(directory_->state().message(), "no mapping; at interface level: no provider");
  EXPECT_EQ(directory_->state().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(directory_->complete());
  levels_.PublishInterface(1);
  EXPECT_TRUE(directory_->state().ok());
  levels_.PublishApplication(1, absl::UnavailableError("shop: no metadata for revision r2"));
  EXPECT_EQ(directory_->state().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(directory_->apps(), ElementsAre("shop"));
  directory_->Close();
  EXPECT_FALSE(directory_->complete());
}

TEST_F(DirectoryLevelsTest, WhatAloneCountsIsComplete) {
  levels_.Rule("step: FORCE_INTERFACE");
  Open();
  EXPECT_FALSE(directory_->complete());
  levels_.PublishInterface(0, absl::NotFoundError("no provider"));
  EXPECT_TRUE(directory_->complete());
  EXPECT_EQ(directory_->state(), absl::NotFoundError("no provider"));
  levels_.Rule("step: APPLICATION_FIRST");
  EXPECT_FALSE(directory_->complete());
  levels_.PublishApplication(1);
  EXPECT_TRUE(directory_->complete());
}

TEST_F(DirectoryLevelsTest, WhatWaitsHearsOfBothLevels) {
  Open();
  std::vector<absl::Status> answers;
  directory_->WhenReady(absl::Seconds(5),
                        [&](absl::Status status) { answers.push_back(std::move(status)); });
  levels_.PublishApplication(0, absl::NotFoundError("no mapping at /dubbo/mapping/x"));
  levels_.PublishInterface(0, absl::NotFoundError("no provider at /dubbo/x/providers"));
  executor_->RunUntilIdle();
  EXPECT_THAT(answers, IsEmpty());
  executor_->AdvanceAndRun(absl::Seconds(5));
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].message(),
            "org.example.Greeter: no mapping at /dubbo/mapping/x; at interface level: no provider "
            "at /dubbo/x/providers");
  EXPECT_EQ(answers[0], directory_->Pick(Request()).status());
  // One level is enough.
  directory_->WhenReady(absl::Seconds(5),
                        [&](absl::Status status) { answers.push_back(std::move(status)); });
  executor_->RunUntilIdle();
  levels_.PublishInterface(1);
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_TRUE(answers[1].ok());
}

TEST_F(DirectoryLevelsTest, OverridesGateTheFirstWord) {
  CentreRegistries centre = levels_.Centre();
  centre.configurators = levels_.configurators.Watch();
  Open({centre});
  Follower follower(*directory_);
  executor_->RunUntilIdle();
  levels_.PublishApplication(2);
  levels_.PublishInterface(2);
  EXPECT_EQ(follower.told(), 0);
  EXPECT_EQ(directory_->Pick(Request()).status().message(),
            "org.example.Greeter: addresses are not known yet");
  levels_.configurators.Tell(
      {"override://192.0.2.1:20880/org.example.Greeter?category=configurators&disabled=true"});
  EXPECT_GT(follower.told(), 0);
  EXPECT_TRUE(follower.Follows());
  EXPECT_EQ(directory_->addresses()->size(), 1u);
  levels_.configurators.Tell();
  EXPECT_TRUE(follower.Follows());
  EXPECT_EQ(directory_->addresses()->size(), 2u);
}

TEST_F(DirectoryLevelsTest, OverridesThatDisableAllOfOneLevelLeaveCallsToTheOther) {
  CentreRegistries centre = levels_.Centre();
  centre.configurators = levels_.configurators.Watch();
  Open({centre});
  levels_.configurators.Tell(
      {"override://192.0.2.1:20880/org.example.Greeter?category=configurators&disabled=true"});
  levels_.PublishApplication(1);
  levels_.PublishInterface(1);
  EXPECT_EQ(CountPicks(*directory_).interface, 1000);
  levels_.PublishInterface(0);
  EXPECT_THAT(std::string(directory_->Pick(Request()).status().message()),
              HasSubstr("override rules disable all 1 addresses"));
}

TEST_F(DirectoryLevelsTest, ASwitchByRuleFailsNoPick) {
  const KeptLog quiet(LogLevel::kError);
  Open();
  levels_.PublishApplication(3);
  levels_.PublishInterface(3);
  std::atomic<bool> stop{false};
  std::atomic<int> picks{0};
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!stop.load()) {
        auto pick = directory_->Pick(Request());
        if (pick.ok()) {
          directory_->Done(*pick, CallOutcome());
        } else {
          ++failures;
        }
        ++picks;
      }
    });
  }
  for (int i = 0; i < 100 || picks.load() < 2000; ++i) {
    levels_.Rule("step: FORCE_INTERFACE");
    levels_.Rule("step: FORCE_APPLICATION");
    levels_.PublishApplication(1 + i % 3);
    levels_.Rule("step: APPLICATION_FIRST\nproportion: 50");
    levels_.PublishInterface(1 + i % 4);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures.load(), 0);
}

TEST_F(DirectoryLevelsTest, AfterAForceStepTheOtherLevelIsLeft) {
  Open();
  levels_.PublishApplication(1);
  levels_.PublishInterface(1);
  EXPECT_EQ(levels_.interface->unsubscribed, 0);
  levels_.Rule("step: FORCE_APPLICATION");
  EXPECT_EQ(levels_.interface->unsubscribed, 1);
  EXPECT_TRUE(levels_.interface->subscribed.empty());
  EXPECT_EQ(CountPicks(*directory_).application, 1000);
  Close();
  EXPECT_TRUE(levels_.application->subscribed.empty());
  EXPECT_EQ(levels_.interface->unsubscribed, 1);
}

TEST_F(DirectoryLevelsTest, CloseFromAnotherThreadWhileAListComes) {
  const KeptLog quiet(LogLevel::kError);
  for (int round = 0; round < 50; ++round) {
    CentreRegistries centre = levels_.Centre();
    centre.register_consumers = true;
    Open({centre});
    levels_.PublishApplication(1);
    std::atomic<bool> started{false};
    std::thread closing([&] {
      while (!started.load()) std::this_thread::yield();
      directory_->Close();
    });
    for (int i = 0; i < 10; ++i) {
      if (i == 2) started = true;
      levels_.PublishApplication(1 + i % 3);
      levels_.PublishInterface(1 + i % 3);
      levels_.Rule(i % 2 == 0 ? "step: FORCE_INTERFACE" : "step: APPLICATION_FIRST");
    }
    closing.join();
    EXPECT_EQ(directory_->Pick(Request()).status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_TRUE(levels_.application->subscribed.empty());
    EXPECT_TRUE(levels_.interface->subscribed.empty());
    // Each node that was registered was taken off.
    EXPECT_EQ(levels_.interface->registers.size(), levels_.interface->unregisters.size());
    Close();
    levels_.Rule("");
  }
}

}  // namespace
}  // namespace signpost

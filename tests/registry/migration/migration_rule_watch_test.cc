#include "signpost/registry/migration/migration_rule_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/manual_executor.h"
#include "tests/support/fake_config_source.h"
#include "tests/support/kept_log.h"

namespace signpost {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kKey[] = "web.migration";
constexpr char kPath[] = "fake:/config/DUBBO_SERVICEDISCOVERY_MIGRATION/web.migration";

class MigrationRuleWatchTest : public testing::Test {
 protected:
  void Make(const std::string& app = "web") {
    watch_ = std::make_unique<MigrationRuleWatch>(executor_, &source_, app);
    told_.clear();
    subscription_ = Subscribe(told_);
    Run();
  }
  // Keeps the proportion of each rule told; -1: it says none.
  Subscription Subscribe(std::vector<int>& told) {
    return watch_->Subscribe([this, &told](const MigrationRuleWatch::RulePtr& rule) {
      EXPECT_TRUE(executor_.IsCurrent());
      ASSERT_NE(rule, nullptr);
      told.push_back(rule->fields.proportion.value_or(-1));
    });
  }
  void Run() { executor_.RunUntilIdle(); }
  void Write(std::string text) {
    source_.Write(kKey, std::move(text));
    Run();
  }
  void Fail(absl::Status error) {
    source_.Fail(kKey, std::move(error));
    Run();
  }
  int proportion() const {
    const auto rule = watch_->rule();
    return rule == nullptr ? -2 : rule->fields.proportion.value_or(-1);
  }
  std::string state() const { return std::string(watch_->state().message()); }

  SimulatedClock clock_;
  ManualExecutor executor_{clock_};
  FakeConfigSource source_{executor_};
  KeptLog log_;
  std::unique_ptr<MigrationRuleWatch> watch_;
  std::vector<int> told_;
  Subscription subscription_;
};

TEST_F(MigrationRuleWatchTest, WatchesWhereDubboKeepsTheRule) {
  const ConfigKey key = MigrationRuleWatch::KeyOf("demo-consumer");
  EXPECT_EQ(key.group, "DUBBO_SERVICEDISCOVERY_MIGRATION");
  EXPECT_EQ(key.key, "demo-consumer.migration");
  Make();
  EXPECT_EQ(source_.watches(kKey), 1u);
  EXPECT_EQ(source_.started(), 1);
}

TEST_F(MigrationRuleWatchTest, AMisspeltKeyKeepsTheRuleBefore) {
  Make();
  Write("proportion: 10");
  Write("proportion: 20\nstepp: FORCE_APPLICATION");
  EXPECT_EQ(proportion(), 10);
  EXPECT_THAT(log_.lines(),
              ElementsAre(absl::StrCat("migration rule ", kPath,
                                       ": unknown key 'stepp', did you mean 'step'?; the previous "
                                       "rule stays")));
}

TEST_F(MigrationRuleWatchTest, AnUnknownKeyIsSaidOnceAndTheRuleHolds) {
  Make();
  Write("proportion: 10\ncolour: red");
  EXPECT_EQ(proportion(), 10);
  EXPECT_EQ(state(), "");
  const std::string said =
      absl::StrCat("migration rule ", kPath, ": unknown keys do nothing: 'colour'");
  EXPECT_THAT(log_.lines(), ElementsAre(said));
  Write("proportion: 20\ncolour: red");
  EXPECT_EQ(proportion(), 20);
  EXPECT_THAT(log_.lines(), SizeIs(1));
  // Without it, and with it again.
  Write("proportion: 30");
  Write("proportion: 30\ncolour: red");
  EXPECT_THAT(log_.lines(), ElementsAre(said, said));
}

TEST_F(MigrationRuleWatchTest, NothingIsSaidBeforeTheSourceAnswers) {
  source_.SetSilent(true);
  Make();
  EXPECT_THAT(told_, IsEmpty());
  EXPECT_EQ(watch_->rule(), nullptr);
  EXPECT_TRUE(watch_->state().ok());
  Write("proportion: 30");
  EXPECT_THAT(told_, ElementsAre(30));
  EXPECT_EQ(proportion(), 30);
}

TEST_F(MigrationRuleWatchTest, NoItemIsTheRuleThatSaysNothing) {
  Make();
  EXPECT_THAT(told_, ElementsAre(-1));
  ASSERT_NE(watch_->rule(), nullptr);
  EXPECT_EQ(*watch_->rule(), MigrationRule());
  EXPECT_TRUE(watch_->state().ok());
  EXPECT_THAT(log_.lines(), IsEmpty());
}

TEST_F(MigrationRuleWatchTest, ManyServicesShareOneWatch) {
  Make();
  Write("proportion: 30");
  std::vector<std::vector<int>> told(100);
  std::vector<Subscription> subscriptions;
  for (auto& one : told) subscriptions.push_back(Subscribe(one));
  Run();
  Write("proportion: 40");
  for (const auto& one : told) EXPECT_THAT(one, ElementsAre(30, 40));
  EXPECT_THAT(told_, ElementsAre(-1, 30, 40));
  EXPECT_EQ(source_.started(), 1);
}

TEST_F(MigrationRuleWatchTest, WhoComesBetweenHearsThePresentRuleAndThenTheNext) {
  Make();
  Write("proportion: 30");
  source_.Write(kKey, "proportion: 40");  // on its way
  std::vector<int> told;
  const Subscription late = Subscribe(told);
  Run();
  EXPECT_THAT(told, ElementsAre(30, 40));
}

TEST_F(MigrationRuleWatchTest, WhoCancelsHearsNothingMore) {
  Make();
  std::vector<int> told;
  Subscription other = Subscribe(told);
  Run();
  source_.Write(kKey, "proportion: 30");
  other.Cancel();
  Run();
  EXPECT_THAT(told, ElementsAre(-1));
  EXPECT_THAT(told_, ElementsAre(-1, 30));
}

TEST_F(MigrationRuleWatchTest, TheSameIsNoChange) {
  Make();
  Write("proportion: 30");
  const auto rule = watch_->rule();
  Write("proportion: 30");
  // Another text that says the same.
  Write("# as before\r\nkey: web\r\nproportion: '30'\r\n");
  EXPECT_THAT(told_, ElementsAre(-1, 30));
  EXPECT_EQ(watch_->rule(), rule);
}

TEST_F(MigrationRuleWatchTest, ADeletedOrEmptyRuleBringsTheDefaultsBack) {
  Make();
  Write("proportion: 30");
  source_.Remove(kKey);
  Run();
  EXPECT_THAT(told_, ElementsAre(-1, 30, -1));
  Write("proportion: 40");
  Write("");
  EXPECT_THAT(told_, ElementsAre(-1, 30, -1, 40, -1));
  Write("proportion: 50");
  Write("# proportion: 50\n");
  EXPECT_THAT(told_, ElementsAre(-1, 30, -1, 40, -1, 50, -1));
  EXPECT_TRUE(watch_->state().ok());
  EXPECT_THAT(log_.lines(), IsEmpty());
}

// TC-39: the wrong name.
TEST_F(MigrationRuleWatchTest, ARuleThatIsNoneLeavesThePreviousOneAndIsSaidOnce) {
  Make();
  Write("proportion: 30");
  Write("step: APPLICATION_FORCE");
  Write("step: APPLICATION_FORCE");
  EXPECT_THAT(told_, ElementsAre(-1, 30));
  EXPECT_EQ(proportion(), 30);
  EXPECT_EQ(state(), absl::StrCat("migration rule ", kPath,
                                  ": step: 'APPLICATION_FORCE' is not one of FORCE_INTERFACE, "
                                  "APPLICATION_FIRST, FORCE_APPLICATION"));
  EXPECT_TRUE(absl::IsInvalidArgument(watch_->state()));
  ASSERT_THAT(log_.lines(), SizeIs(1));
  EXPECT_EQ(log_.lines()[0], state() + "; the previous rule stays");
  // Another fault is said too.
  Write("proportion: 101");
  EXPECT_EQ(proportion(), 30);
  EXPECT_THAT(log_.lines(), SizeIs(2));
  EXPECT_THAT(state(), HasSubstr("proportion: '101'"));
  // A good one ends the fault.
  Write("proportion: 40");
  EXPECT_THAT(told_, ElementsAre(-1, 30, 40));
  EXPECT_TRUE(watch_->state().ok());
  EXPECT_THAT(log_.lines(), SizeIs(2));
}

TEST_F(MigrationRuleWatchTest, AfterAFaultTheRuleOfBeforeIsNoChange) {
  Make();
  Write("proportion: 30");
  Write("{");
  EXPECT_FALSE(watch_->state().ok());
  Write("proportion: 30");
  EXPECT_TRUE(watch_->state().ok());
  EXPECT_THAT(told_, ElementsAre(-1, 30));
}

TEST_F(MigrationRuleWatchTest, AFirstRuleThatIsNoneIsNoRule) {
  source_.Write(kKey, "- step: FORCE_INTERFACE");
  Make();
  EXPECT_THAT(told_, ElementsAre(-1));
  EXPECT_EQ(state(), absl::StrCat("migration rule ", kPath, ": not a YAML mapping"));
  ASSERT_THAT(log_.lines(), SizeIs(1));
  EXPECT_EQ(log_.lines()[0], state() + "; none holds for now");
  Write("proportion: 30");
  EXPECT_THAT(told_, ElementsAre(-1, 30));
}

TEST_F(MigrationRuleWatchTest, HostileItemsChangeNothing) {
  Make();
  Write("proportion: 30");
  for (const std::string& text :
       {std::string("\0", 1), std::string("\xff\xfe"), std::string(2 << 20, 'x'),
        std::string(100000, '['), std::string("proportion: [1]"),
        std::string("proportion: 1\nproportion: 2")}) {
    Write(text);
    EXPECT_EQ(proportion(), 30);
    EXPECT_FALSE(watch_->state().ok());
    EXPECT_LT(state().size(), 1000u);
  }
  EXPECT_THAT(told_, ElementsAre(-1, 30));
}

TEST_F(MigrationRuleWatchTest, ACentreThatIsAwayKeepsNobodyFromStarting) {
  source_.Fail(kKey, absl::UnavailableError("no connection"));
  Make();
  EXPECT_THAT(told_, ElementsAre(-1));
  EXPECT_EQ(watch_->state(),
            absl::UnavailableError(absl::StrCat("migration rule ", kPath, ": no connection")));
  ASSERT_THAT(log_.lines(), SizeIs(1));
  EXPECT_THAT(log_.lines()[0], HasSubstr("no connection"));
  EXPECT_THAT(log_.lines()[0], HasSubstr("none holds for now"));
  Write("proportion: 30");
  EXPECT_THAT(told_, ElementsAre(-1, 30));
  EXPECT_TRUE(watch_->state().ok());
}

TEST_F(MigrationRuleWatchTest, ALostConnectionKeepsTheLastGoodRule) {
  Make();
  Write("proportion: 30");
  Fail(absl::UnavailableError("no connection"));
  Fail(absl::DeadlineExceededError("no answer"));
  EXPECT_EQ(proportion(), 30);
  EXPECT_THAT(state(), HasSubstr("no answer"));
  // One warning for the whole run of failures.
  ASSERT_THAT(log_.lines(), SizeIs(1));
  EXPECT_THAT(log_.lines()[0], HasSubstr("no connection"));
  EXPECT_THAT(log_.lines()[0], HasSubstr("the present one stays"));
  // Back, with the same text: no change, and well again.
  Write("proportion: 30");
  EXPECT_TRUE(watch_->state().ok());
  EXPECT_THAT(told_, ElementsAre(-1, 30));
  // The next run of failures is said again, and a rule that went meanwhile goes.
  Fail(absl::PermissionDeniedError("not yours"));
  EXPECT_THAT(log_.lines(), SizeIs(2));
  EXPECT_TRUE(absl::IsPermissionDenied(watch_->state()));
  source_.Remove(kKey);
  Run();
  EXPECT_THAT(told_, ElementsAre(-1, 30, -1));
}

TEST_F(MigrationRuleWatchTest, AFaultAndAFailureAreBothSaid) {
  Make();
  Write("proportion: 30");
  Write("proportion: all");
  Fail(absl::UnavailableError("no connection"));
  EXPECT_THAT(log_.lines(), SizeIs(2));
  // The same fault, after nothing was known for a while.
  Write("proportion: all");
  EXPECT_THAT(log_.lines(), SizeIs(3));
  EXPECT_EQ(proportion(), 30);
  EXPECT_TRUE(absl::IsInvalidArgument(watch_->state()));
}

TEST_F(MigrationRuleWatchTest, WithoutApplicationOrSourceThereIsNoRule) {
  for (const char* app : {"", "a/b", "..", "a b", "a\n"}) {
    Make(app);
    EXPECT_THAT(told_, ElementsAre(-1)) << app;
    EXPECT_TRUE(watch_->state().ok()) << app;
  }
  EXPECT_EQ(source_.started(), 0);

  watch_ = std::make_unique<MigrationRuleWatch>(executor_, nullptr, "web");
  std::vector<int> told;
  const Subscription subscription = Subscribe(told);
  Run();
  EXPECT_THAT(told, ElementsAre(-1));
  EXPECT_EQ(proportion(), -1);
}

TEST_F(MigrationRuleWatchTest, NothingRunsAfterItsEnd) {
  Make();
  source_.Write(kKey, "proportion: 30");
  watch_.reset();
  Run();
  EXPECT_EQ(source_.watches(kKey), 0u);
  Write("proportion: 40");
  EXPECT_THAT(told_, ElementsAre(-1));
  subscription_.Cancel();  // may come later
}

TEST_F(MigrationRuleWatchTest, ASubscriberMayEndTheWatch) {
  Make();
  std::vector<int> told;
  const Subscription last =
      watch_->Subscribe([this, &told](const MigrationRuleWatch::RulePtr& rule) {
        told.push_back(rule->fields.proportion.value_or(-1));
        if (told.back() == 30) watch_.reset();
      });
  Run();
  Write("proportion: 30");
  EXPECT_EQ(watch_, nullptr);
  EXPECT_EQ(source_.watches(kKey), 0u);
  Write("proportion: 40");
  EXPECT_THAT(told, ElementsAre(-1, 30));
}

TEST_F(MigrationRuleWatchTest, ASubscriberMayAskAndSubscribe) {
  Make();
  std::vector<int> told;
  Subscription inner;
  const Subscription outer = watch_->Subscribe([&](const MigrationRuleWatch::RulePtr& rule) {
    EXPECT_EQ(watch_->rule(), rule);
    EXPECT_TRUE(watch_->state().ok());
    if (told.empty()) inner = Subscribe(told);
  });
  Run();
  Write("proportion: 30");
  EXPECT_THAT(told, ElementsAre(-1, 30));
}

}  // namespace
}  // namespace signpost

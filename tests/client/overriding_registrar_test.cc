#include "signpost/client/overriding_registrar.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/client/fake_registry.h"
#include "tests/client/overriding_test.h"
#include "tests/support/kept_log.h"

namespace signpost::client_internal {
namespace {

TEST_F(OverridingRegistrarTest, NothingIsRegisteredBeforeTheRulesAreKnown) {
  const Answer answer = Register(kU1);
  EXPECT_EQ(watched_.count(kU1), 1u);
  EXPECT_TRUE(TakeAsked().empty());
  EXPECT_FALSE(answer->has_value());
  executor_->AdvanceAndRun(absl::Seconds(2));
  Tell(kU1, Weight200());
  EXPECT_EQ(TakeAsked(), Texts{absl::StrCat("+", kU2)});
  // With what is left of the time.
  EXPECT_EQ(registrar_->options.timeout, absl::Seconds(3));
  ASSERT_TRUE(answer->has_value());
  EXPECT_TRUE((*answer)->ok());
  EXPECT_EQ(executor_->pending_timers(), 0u);
}

TEST_F(OverridingRegistrarTest, WithoutRulesTheUrlItself) {
  registrar_->answer = absl::PermissionDeniedError("read-only");
  const Answer answer = Register(kU1);
  Tell(kU1, None());
  EXPECT_EQ(TakeAsked(), Texts{absl::StrCat("+", kU1)});
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ(**answer, registrar_->answer);
}

TEST_F(OverridingRegistrarTest, TheDeadlineAnswersAndTheExportStaysDesired) {
  const Answer first = Register(kU1, Within(absl::Seconds(1)));
  const Answer second = Register(kU1, Within(absl::Seconds(3)));
  EXPECT_EQ(watches_, 1);
  executor_->AdvanceAndRun(absl::Seconds(1));
  ASSERT_TRUE(first->has_value());
  EXPECT_TRUE(absl::IsDeadlineExceeded(**first));
  EXPECT_EQ((*first)->message(), "override rules are not known yet: registry r: not connected");
  EXPECT_FALSE(second->has_value());
  executor_->AdvanceAndRun(absl::Seconds(2));
  ASSERT_TRUE(second->has_value());
  EXPECT_TRUE(absl::IsDeadlineExceeded(**second));
  EXPECT_TRUE(TakeAsked().empty());
  // The rules come after all have given up.
  executor_->AdvanceAndRun(absl::Hours(1));
  Tell(kU1, Weight200());
  EXPECT_EQ(TakeAsked(), Texts{absl::StrCat("+", kU2)});
}

TEST_F(OverridingRegistrarTest, AnInfiniteTimeoutWaits) {
  const Answer answer = Register(kU1, Within(absl::InfiniteDuration()));
  EXPECT_EQ(executor_->pending_timers(), 0u);
  executor_->AdvanceAndRun(absl::Hours(100));
  EXPECT_FALSE(answer->has_value());
  Tell(kU1, None());
  EXPECT_EQ(registrar_->options.timeout, absl::InfiniteDuration());
  ASSERT_TRUE(answer->has_value());
  EXPECT_TRUE((*answer)->ok());
}

TEST_F(OverridingRegistrarTest, NoTimeAtAllAnswersAtOnce) {
  const Answer answer = Register(kU1, Within(absl::ZeroDuration()));
  ASSERT_TRUE(answer->has_value());
  EXPECT_TRUE(absl::IsDeadlineExceeded(**answer));
  Tell(kU1, None());
  EXPECT_EQ(TakeAsked(), Texts{absl::StrCat("+", kU1)});
}

TEST_F(OverridingRegistrarTest, WaitingEndsWhenItIsCancelled) {
  CallOptions options;
  const Answer answer = Register(kU1, options);
  const Answer other = Register(kU1);
  options.cancel.Cancel();
  EXPECT_FALSE(answer->has_value());  // not on the thread that cancels
  executor_->RunUntilIdle();
  ASSERT_TRUE(answer->has_value());
  EXPECT_TRUE(absl::IsCancelled(**answer));
  EXPECT_FALSE(other->has_value());
  EXPECT_EQ(executor_->pending_timers(), 1u);
  // One that was cancelled before.
  const Answer late = Register(kU1, options);
  ASSERT_TRUE(late->has_value());
  EXPECT_TRUE(absl::IsCancelled(**late));
  Tell(kU1, None());
  EXPECT_EQ(TakeAsked(), Texts{absl::StrCat("+", kU1)});
  ASSERT_TRUE(other->has_value());
  EXPECT_TRUE((*other)->ok());
}

TEST_F(OverridingRegistrarTest, CancellingLateChangesNothing) {
  CallOptions options;
  const Answer answer = Register(kU1, options);
  Tell(kU1, None());
  ASSERT_TRUE(answer->has_value());
  EXPECT_TRUE((*answer)->ok());
  options.cancel.Cancel();
  executor_->RunUntilIdle();
  // Also when nobody is there any more.
  CallOptions orphan;
  overriding_->Register(Parsed(kOther), orphan, [](const absl::Status&) {});
  executor_->RunUntilIdle();
  overriding_.reset();
  orphan.cancel.Cancel();
  executor_->RunUntilIdle();
}

TEST_F(OverridingRegistrarTest, EveryCallThatWaitsIsAnswered) {
  std::vector<Answer> answers;
  for (int i = 0; i < 3; ++i) answers.push_back(Register(kU1));
  Tell(kU1, None());
  for (const Answer& answer : answers) {
    ASSERT_TRUE(answer->has_value());
    EXPECT_TRUE((*answer)->ok());
  }
  EXPECT_EQ(registrar_->there(), Texts{kU1});
  // One that comes later, as at WaitPublished, does not wait.
  TakeAsked();
  const Answer later = Register(kU1);
  ASSERT_TRUE(later->has_value());
  EXPECT_EQ(TakeAsked(), Texts{absl::StrCat("+", kU1)});
  EXPECT_EQ(watches_, 1);
}

TEST_F(OverridingRegistrarTest, ALaterRegistrationIsOfTheUrlThatRulesMade) {
  Register(kU1);
  Tell(kU1, Weight200());
  TakeAsked();
  Register(kU1);
  EXPECT_EQ(TakeAsked(), Texts{absl::StrCat("+", kU2)});
}

// TC-36 (a), (b): what does not change the provider's URL writes nothing.
TEST_F(OverridingRegistrarTest, WhatLeadsToTheSameUrlWritesNothing) {
  Register(kU1);
  Tell(kU1, None());
  TakeAsked();
  const Texts no_change = {
      // For consumers.
      "override://0.0.0.0/a.A?side=consumer&configVersion=v2.7&timeout=500",
      // What is so already.
      "override://0.0.0.0/a.A?weight=100",
      "absent://0.0.0.0/a.A?weight=200",
      // For others.
      "override://192.0.2.1:20881/a.A?weight=200",
      "override://192.0.2.7:20880/a.A?weight=200",
      "override://0.0.0.0/a.A?application=other&weight=200",
      "override://0.0.0.0/a.A?group=g&weight=200",
      // Which service it is.
      "override://0.0.0.0/a.A?version=2.0.0&interface=b.B&weight=200",
  };
  for (const std::string& rule : no_change) {
    for (int i = 0; i < 20; ++i) {
      Tell(kU1, Rules({rule}));
      Tell(kU1, None());
    }
    EXPECT_TRUE(TakeAsked().empty()) << rule;
  }
  EXPECT_EQ(registrar_->there(), Texts{kU1});
}

// TC-36 (c): one update per change, the new node before the old one goes. TC-35 in the registered
// data.
TEST_F(OverridingRegistrarTest, AChangeRegistersTheNewOneAndThenTakesTheOldOff) {
  KeptLog log;
  Register(kU1);
  Tell(kU1, None());
  TakeAsked();
  const int gaps = registrar_->gaps();
  for (int i = 0; i < 20; ++i) {
    Tell(kU1, Weight200());
    EXPECT_EQ(TakeAsked(), (Texts{absl::StrCat("+", kU2), absl::StrCat("-", kU1)}));
    Tell(kU1, Weight200());
    EXPECT_TRUE(TakeAsked().empty());
    Tell(kU1, None());
    EXPECT_EQ(TakeAsked(), (Texts{absl::StrCat("+", kU1), absl::StrCat("-", kU2)}));
  }
  EXPECT_EQ(registrar_->gaps(), gaps);
  EXPECT_EQ(registrar_->there(), Texts{kU1});
  EXPECT_EQ(log.lines().size(), 40u);
}

// TC-35, the provider's side.
TEST_F(OverridingRegistrarTest, WhatCanNeverBeRegisteredLeavesTheOneBefore) {
  Register(kU1);
  Tell(kU1, None());
  TakeAsked();
  registrar_->FailFor([](const std::string& what) { return what == absl::StrCat("+", kU2); });
  KeptLog log;
  Tell(kU1, Weight200());
  EXPECT_EQ(TakeAsked(),
            (Texts{absl::StrCat("+", kU2), absl::StrCat("+", kU1), absl::StrCat("-", kU2)}));
  EXPECT_EQ(registrar_->there(), Texts{kU1});
  EXPECT_TRUE(absl::StrContains(
      log.text(),
      "&weight=200 cannot be registered, tri://192.0.2.1:20880/a.A?application=shop&"
      "weight=100 is: path too long"));
  // A rule that can be followed is.
  Tell(kU1, Rules({"override://0.0.0.0/a.A?weight=300"}));
  EXPECT_EQ(registrar_->there(), Texts{"tri://192.0.2.1:20880/a.A?application=shop&weight=300"});
  EXPECT_EQ(registrar_->gaps(), 0);
}

TEST_F(OverridingRegistrarTest, WhatCanNeverBeRegisteredFirstIsRegisteredAsExported) {
  registrar_->FailFor([](const std::string& what) { return what == absl::StrCat("+", kU2); });
  KeptLog log;
  const Answer first = Register(kU1);
  const Answer second = Register(kU1);
  Tell(kU1, Weight200());
  for (const Answer& answer : {first, second}) {
    ASSERT_TRUE(answer->has_value());
    EXPECT_TRUE((*answer)->ok()) << **answer;
  }
  EXPECT_EQ(registrar_->there(), Texts{kU1});
  EXPECT_TRUE(absl::StrContains(log.text(), "weight=100 is: path too long"));
}

TEST_F(OverridingRegistrarTest, TwoChangesInARowLeaveOneUrl) {
  Register(kU1);
  Tell(kU1, None());
  const ConfiguratorsCallback rules = watched_[kU1];
  executor_->Post([&] {
    rules(Weight200());
    rules(Rules({"override://0.0.0.0/a.A?weight=300"}));
  });
  executor_->RunUntilIdle();
  EXPECT_EQ(registrar_->there(), Texts{"tri://192.0.2.1:20880/a.A?application=shop&weight=300"});
  EXPECT_EQ(registrar_->gaps(), 0);
}

TEST_F(OverridingRegistrarTest, UnregisterTakesOffWhatIsStillLeaving) {
  Register(kU1);
  Tell(kU1, None());
  const ConfiguratorsCallback rules = watched_[kU1];
  executor_->Post([&] {
    // Its task comes before the registrar's answer.
    overriding_->Unregister(Parsed(kU1), CallOptions(), [](const absl::Status&) {});
    rules(Weight200());
  });
  executor_->RunUntilIdle();
  EXPECT_TRUE(registrar_->there().empty());
}

TEST_F(OverridingRegistrarTest, RemovalRestoresTheUrlThatWasExported) {
  const std::string o1 = "override://0.0.0.0/a.A?weight=200";
  const std::string o2 = "override://0.0.0.0/a.A?timeout=500";
  Register(kU1);
  Tell(kU1, None());
  Tell(kU1, Rules({o1}));
  Tell(kU1, Rules({o1, o2}));
  const std::string both = "tri://192.0.2.1:20880/a.A?application=shop&timeout=500&weight=200";
  EXPECT_EQ(registrar_->there(), Texts{both});
  Tell(kU1, Rules({o1}));
  EXPECT_EQ(registrar_->there(), Texts{kU2});
  Tell(kU1, None());
  EXPECT_EQ(registrar_->there(), Texts{kU1});
  EXPECT_EQ(registrar_->gaps(), 0);
}

TEST_F(OverridingRegistrarTest, WhatIsExportedTogetherIsRegisteredTogether) {
  Register(kU1);
  Register(kOther);
  Tell(kU1, None());
  EXPECT_TRUE(TakeAsked().empty());
  Tell(kOther, None());
  EXPECT_EQ(TakeAsked().size(), 2u);
  // One that is taken back before its rules come keeps nobody.
  const char kThird[] = "tri://192.0.2.1:20880/c.C?application=shop";
  const char kFourth[] = "tri://192.0.2.1:20880/d.D?application=shop";
  Register(kThird);
  Register(kFourth);
  Tell(kThird, None());
  EXPECT_TRUE(TakeAsked().empty());
  Unregister(kFourth);
  EXPECT_EQ(TakeAsked().front(), absl::StrCat("+", kThird));
}

TEST_F(OverridingRegistrarTest, RulesOfOneServiceLeaveOthersAlone) {
  Register(kU1);
  Register(kOther);
  Tell(kOther, None());
  // For a moment it may still become one revision with the other.
  EXPECT_TRUE(TakeAsked().empty());
  executor_->AdvanceAndRun(absl::Seconds(1));
  EXPECT_EQ(TakeAsked(), Texts{absl::StrCat("+", kOther)});
  Tell(kU1, Weight200());
  EXPECT_EQ(TakeAsked(), Texts{absl::StrCat("+", kU2)});
  Tell(kOther, Weight200());
  EXPECT_TRUE(TakeAsked().empty());
  Unregister(kOther);
  EXPECT_EQ(TakeAsked(), Texts{absl::StrCat("-", kOther)});
  EXPECT_EQ(watched_.size(), 1u);
}

TEST_F(OverridingRegistrarTest, UnregisterTakesOffWhatRulesMade) {
  Register(kU1);
  Tell(kU1, Weight200());
  TakeAsked();
  registrar_->answer = absl::UnavailableError("away");
  const Answer answer = Unregister(kU1);
  EXPECT_EQ(TakeAsked(), Texts{absl::StrCat("-", kU2)});
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ(**answer, registrar_->answer);
  EXPECT_TRUE(watched_.empty());
  // Exported anew it asks for the rules anew.
  registrar_->answer = absl::OkStatus();
  Register(kU1);
  EXPECT_EQ(watches_, 2);
  EXPECT_TRUE(TakeAsked().empty());
  Tell(kU1, None());
  EXPECT_EQ(registrar_->there(), Texts{kU1});
}

TEST_F(OverridingRegistrarTest, UnregisterOfWhatWasNeverRegisteredIsHandedOn) {
  const Answer answer = Unregister(kU1);
  EXPECT_EQ(TakeAsked(), Texts{absl::StrCat("-", kU1)});
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ(watches_, 0);
}

TEST_F(OverridingRegistrarTest, UnregisterWhileWaitingEndsTheWaiting) {
  const Answer first = Register(kU1);
  const Answer second = Register(kU1);
  const Answer gone = Unregister(kU1);
  for (const Answer& answer : {first, second}) {
    ASSERT_TRUE(answer->has_value());
    EXPECT_TRUE(absl::IsCancelled(**answer)) << **answer;
  }
  ASSERT_TRUE(gone->has_value());
  EXPECT_TRUE((*gone)->ok()) << **gone;
  EXPECT_TRUE(watched_.empty());
  EXPECT_EQ(executor_->pending_timers(), 0u);
  TakeAsked();
  executor_->AdvanceAndRun(absl::Hours(1));
  EXPECT_TRUE(TakeAsked().empty());
  EXPECT_TRUE(registrar_->there().empty());
}

TEST_F(OverridingRegistrarTest, UnregisterAllEndsAllWaitingAndAllWatches) {
  const Answer waiting = Register(kU1);
  Register(kOther);
  Tell(kOther, None());
  TakeAsked();
  const Answer gone = UnregisterAll();
  EXPECT_EQ(TakeAsked(), Texts{"none"});
  ASSERT_TRUE(waiting->has_value());
  EXPECT_TRUE(absl::IsCancelled(**waiting));
  ASSERT_TRUE(gone->has_value());
  EXPECT_TRUE((*gone)->ok());
  EXPECT_TRUE(watched_.empty());
  EXPECT_EQ(executor_->pending_timers(), 0u);
}

TEST_F(OverridingRegistrarTest, OfflineAndOnlineAgain) {
  for (const char* url : {kU1, kOther}) {
    Register(url);
    Tell(url, None());
  }
  UnregisterAll();
  EXPECT_TRUE(registrar_->there().empty());
  TakeAsked();
  // The rules that are valid then count.
  const Answer first = Register(kU1);
  const Answer second = Register(kOther);
  EXPECT_TRUE(TakeAsked().empty());
  Tell(kU1, Weight200());
  Tell(kOther, None());
  ASSERT_TRUE(first->has_value());
  ASSERT_TRUE(second->has_value());
  EXPECT_EQ(registrar_->there(), (Texts{kU2, kOther}));
  EXPECT_EQ(watches_, 4);
}

// An export that takes another one's place: the new one is there before the old one goes.
TEST_F(OverridingRegistrarTest, TwoExportsThatRulesMakeOneUrlOf) {
  const std::string u3 = "tri://192.0.2.1:20880/a.A?application=shop&weight=300";
  Register(kU1);
  Tell(kU1, Weight200());
  Register(u3);
  Tell(u3, Weight200());
  EXPECT_EQ(registrar_->there(), Texts{kU2});
  TakeAsked();
  const Answer answer = Unregister(kU1);
  ASSERT_TRUE(answer->has_value());
  EXPECT_TRUE((*answer)->ok());
  EXPECT_TRUE(TakeAsked().empty());
  EXPECT_EQ(registrar_->there(), Texts{kU2});
  Tell(u3, None());
  EXPECT_EQ(registrar_->there(), Texts{u3});
  Unregister(u3);
  EXPECT_TRUE(registrar_->there().empty());
}

TEST_F(OverridingRegistrarTest, TwoExportsOfOneUrlPartWhenTheRuleGoes) {
  Register(kU1);
  Register(kU2);
  Tell(kU1, Weight200());
  Tell(kU2, Weight200());
  EXPECT_EQ(registrar_->there(), Texts{kU2});
  TakeAsked();
  Tell(kU1, None());
  EXPECT_EQ(TakeAsked(), Texts{absl::StrCat("+", kU1)});
  Tell(kU2, None());
  EXPECT_EQ(registrar_->there(), (Texts{kU1, kU2}));
}

TEST_F(OverridingRegistrarTest, ACallbackMayExportAndTakeBack) {
  int answers = 0;
  overriding_->Register(Parsed(kU1), CallOptions(), [&](const absl::Status&) {
    ++answers;
    overriding_->Unregister(Parsed(kU1), CallOptions(), [&](const absl::Status&) { ++answers; });
    overriding_->Register(Parsed(kOther), CallOptions(), [&](const absl::Status&) { ++answers; });
  });
  executor_->RunUntilIdle();
  Tell(kU1, None());
  Tell(kOther, None());
  EXPECT_EQ(answers, 3);
  EXPECT_EQ(registrar_->there(), Texts{kOther});
}

TEST_F(OverridingRegistrarTest, RulesThatAreKnownAtOnce) {
  overriding_ = std::make_unique<OverridingRegistrar>(
      executor_, registrar_,
      [](const Url&, const ConfiguratorsCallback& on_change) {
        on_change(Weight200());
        return Subscription();
      },
      [] { return std::string(); });
  const Answer answer = Register(kU1);
  EXPECT_EQ(TakeAsked(), Texts{absl::StrCat("+", kU2)});
  ASSERT_TRUE(answer->has_value());
  EXPECT_TRUE((*answer)->ok());
  EXPECT_EQ(executor_->pending_timers(), 0u);
}

TEST_F(OverridingRegistrarTest, NothingHappensAfterItHasGone) {
  Register(kU1);
  const ConfiguratorsCallback callback = watched_.at(kU1);
  overriding_.reset();
  executor_->RunUntilIdle();
  EXPECT_TRUE(watched_.empty());
  callback(Weight200());
  executor_->AdvanceAndRun(absl::Hours(1));
  EXPECT_TRUE(TakeAsked().empty());
}

TEST_F(OverridingRegistrarTest, LogsHideSecrets) {
  KeptLog log;
  const std::string secret = "tri://192.0.2.1:20880/a.A?application=shop&token=hunter2";
  Register(secret);
  Tell(secret, None());
  Tell(secret, Rules({"override://0.0.0.0/a.A?token=swordfish&weight=5"}));
  EXPECT_TRUE(absl::StrContains(log.text(), "override rules: tri://192.0.2.1:20880/a.A"))
      << log.text();
  EXPECT_FALSE(absl::StrContains(log.text(), "hunter2"));
  EXPECT_FALSE(absl::StrContains(log.text(), "swordfish"));
}

// The fake that other tests of providers use, with its calls left open.
TEST_F(OverridingRegistrarTest, AnswersComeWhenTheCentreHasIt) {
  auto registry = std::make_shared<FakeRegistry>();
  overriding_ = std::make_unique<OverridingRegistrar>(executor_, registry, Watching(),
                                                      [] { return std::string(); });
  const Answer answer = Register(kU1);
  Tell(kU1, None());
  ASSERT_EQ(registry->registers.size(), 1u);
  EXPECT_FALSE(answer->has_value());
  // A change does not wait for the answer. The old one is taken off when the new one is there, or
  // is tried again and again.
  Tell(kU1, Weight200());
  ASSERT_EQ(registry->registers.size(), 2u);
  EXPECT_TRUE(registry->unregisters.empty());
  EXPECT_EQ(registry->registers[1].url, Parsed(kU2));
  FakeRegistry::Answer(registry->registers, absl::OkStatus());
  ASSERT_TRUE(answer->has_value());
  FakeRegistry::Answer(registry->registers, absl::UnavailableError("away"));
  ASSERT_EQ(registry->unregisters.size(), 1u);
  EXPECT_EQ(registry->unregisters[0].url, Parsed(kU1));
  FakeRegistry::Answer(registry->unregisters, absl::UnavailableError("away"));
}

}  // namespace
}  // namespace signpost::client_internal

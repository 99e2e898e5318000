// The provider's side, through InterfaceRegistry: what is desired is there in the end.
#include "signpost/registry/interface/interface_registrar.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "tests/registry/interface/interface_test.h"
#include "tests/support/forwarding_store.h"
#include "tests/support/kept_log.h"

namespace signpost {
namespace {

constexpr char kU1[] = "tri://192.0.2.1:1/org.example.Echo?side=provider&timestamp=1&weight=1";
constexpr char kU2[] = "tri://192.0.2.1:1/org.example.Echo?side=provider&timestamp=1&weight=2";

class InterfaceRegistrarTest : public InterfaceTest {};

TEST_F(InterfaceRegistrarTest, ProvidersAreSessionBoundUnlessTheySayOtherwise) {
  auto process = Start();
  Export(*process, kU1);
  EXPECT_EQ(Nodes(), Texts{kU1});
  EXPECT_TRUE(Read(PathOf(kU1))->session_bound);
  const std::string fixed = "tri://192.0.2.1:1/org.example.Echo?dynamic=false&side=provider";
  Export(*process, fixed);
  EXPECT_FALSE(Read(PathOf(fixed))->session_bound);
  EXPECT_EQ(process->registry->registered_paths(), (Texts{PathOf(fixed), PathOf(kU1)}));
  Withdraw(*process, fixed);
  EXPECT_EQ(Nodes(), Texts{kU1});
  EXPECT_EQ(process->registry->registered_paths(), Texts{PathOf(kU1)});
  process.reset();
  EXPECT_EQ(Nodes(), Texts{});
}

TEST_F(InterfaceRegistrarTest, ConsumersAndRulesHaveTheirOwnFolders) {
  auto process = Start();
  Export(*process, "consumer://192.0.2.9/org.example.Echo?application=web&category=providers");
  EXPECT_EQ(Nodes("/dubbo/org.example.Echo/consumers"),
            Texts{"consumer://192.0.2.9/org.example.Echo?application=web&category=consumers&"
                  "check=false"});
  const std::string rule =
      "override://0.0.0.0/org.example.Echo?category=configurators&"
      "dynamic=false&weight=7";
  Export(*process, rule);
  EXPECT_EQ(Nodes("/dubbo/org.example.Echo/configurators"), Texts{rule});
  EXPECT_EQ(Nodes(), Texts{});
}

TEST_F(InterfaceRegistrarTest, TheRegistryUrlHasItsSay) {
  auto process = Start("simplified=true&extra-keys=mine,other&accepts=tri&group=g");
  Export(*process, "tri://192.0.2.1:1/org.example.Echo?mine=1&methods=a&timestamp=5&weight=5");
  Export(*process, "rest://192.0.2.1:1/org.example.Echo");
  Export(*process, "tri://192.0.2.1:1/org.example.Echo?weight=6&register=false");
  EXPECT_EQ(Nodes("/g/org.example.Echo/providers"),
            Texts{"tri://192.0.2.1:1/org.example.Echo?mine=1&weight=5"});
  EXPECT_EQ(Nodes(), Texts{});
}

TEST_F(InterfaceRegistrarTest, UrlsOfOneNodeAreOneRegistrationEach) {
  auto process = Start();
  const std::string written = "tri://192.0.2.1:1/org.example.Echo?side=provider";
  Export(*process, written + "&pid=1");
  Export(*process, written + "&pid=2");
  Export(*process, written + "&pid=2");
  Withdraw(*process, written + "&pid=2");
  EXPECT_EQ(Nodes(), Texts{written});
  Withdraw(*process, written + "&pid=3");
  EXPECT_EQ(Nodes(), Texts{written});
  Withdraw(*process, written + "&pid=1");
  EXPECT_EQ(Nodes(), Texts{});
}

TEST_F(InterfaceRegistrarTest, BadUrlsEndWithTheirFault) {
  auto process = Start();
  for (const char* url : {"tri://192.0.2.1:1", "tri://192.0.2.1:1/a.A?category=a,b"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(**Register(*process, url, absl::Seconds(5)))) << url;
  }
  // The key would be too long.
  const auto answer = Register(
      *process, "tri://192.0.2.1:1/a.A?token=sesame&x=" + std::string(70000, 'x'), absl::Hours(1));
  ASSERT_TRUE(answer->has_value());
  EXPECT_TRUE(absl::IsInvalidArgument(**answer)) << **answer;
  EXPECT_FALSE(absl::StrContains((*answer)->message(), "sesame"));
}

TEST_F(InterfaceRegistrarTest, ANewSessionWritesAllAgain) {
  auto process = Start();
  const std::string fixed = "tri://192.0.2.1:1/org.example.Echo?dynamic=false";
  Export(*process, kU1);
  Export(*process, fixed);
  Export(*process, "consumer://192.0.2.1/org.example.Echo");
  const int64_t version = Read(PathOf(fixed))->version;
  local_->ExpireSession(process->centre->store());
  executor_->RunUntilIdle();
  EXPECT_EQ(Nodes(), (Texts{fixed, kU1}));
  EXPECT_TRUE(Read(PathOf(kU1))->session_bound);
  EXPECT_EQ(Nodes("/dubbo/org.example.Echo/consumers").size(), 1u);
  EXPECT_EQ(Read(PathOf(fixed))->version, version);
}

TEST_F(InterfaceRegistrarTest, WhatWasDeletedInAGapIsWrittenAgain) {
  auto process = Start();
  Export(*process, kU1);
  Export(*process, kU2);
  const int64_t version = Read(PathOf(kU2))->version;
  local_->SetOffline(true);
  executor_->AdvanceAndRun(absl::Seconds(1));
  local_->SetOffline(false);
  Delete(PathOf(kU1));
  executor_->AdvanceAndRun(absl::Seconds(1));
  EXPECT_EQ(Nodes(), (Texts{kU1, kU2}));
  // What is there is left alone.
  EXPECT_EQ(Read(PathOf(kU2))->version, version);
}

// A leaf left by another session would go with it.
TEST_F(InterfaceRegistrarTest, ALeafOfAnotherSessionIsReplaced) {
  auto before = Start();
  Export(*before, kU1);
  auto process = Start();
  Export(*process, kU1);
  before.reset();
  executor_->RunUntilIdle();
  EXPECT_EQ(Nodes(), Texts{kU1});
}

TEST_F(InterfaceRegistrarTest, WhatAnotherProcessTookOverIsLeftToIt) {
  auto before = Start();
  Export(*before, kU1);
  auto process = Start();
  Export(*process, kU1);
  Withdraw(*before, kU1);
  EXPECT_EQ(Nodes(), Texts{kU1});
}

TEST_F(InterfaceRegistrarTest, WhatFailsIsWrittenWhenTheCentreIsBack) {
  auto process = Start();
  local_->SetOffline(true);
  const Answer patient = Register(*process, kU1, absl::Minutes(10));
  const Answer hasty = Register(*process, kU1, absl::Seconds(3));
  executor_->AdvanceAndRun(absl::Seconds(5));
  EXPECT_FALSE(patient->has_value());
  ASSERT_TRUE(hasty->has_value());
  EXPECT_TRUE(absl::IsDeadlineExceeded(**hasty)) << **hasty;
  EXPECT_TRUE(absl::StrContains((*hasty)->message(), "org.example.Echo"));
  local_->SetOffline(false);
  executor_->AdvanceAndRun(absl::Seconds(1));
  ASSERT_TRUE(patient->has_value());
  EXPECT_TRUE((*patient)->ok()) << **patient;
  EXPECT_EQ(Nodes(), Texts{kU1});
}

TEST_F(InterfaceRegistrarTest, ACallerMayGiveUp) {
  auto process = Start();
  local_->SetOffline(true);
  CallOptions options;
  std::optional<absl::Status> done;
  process->registry->Register(*Url::Parse(kU1), options, [&](absl::Status s) { done = s; });
  executor_->RunUntilIdle();
  options.cancel.Cancel();
  executor_->RunUntilIdle();
  ASSERT_TRUE(done.has_value());
  EXPECT_TRUE(absl::IsCancelled(*done));
  // It stays desired.
  local_->SetOffline(false);
  executor_->AdvanceAndRun(absl::Seconds(1));
  EXPECT_EQ(Nodes(), Texts{kU1});
}

TEST_F(InterfaceRegistrarTest, UnregisterAllTakesEverythingOff) {
  auto process = Start();
  std::optional<absl::Status> done;
  const auto all = [&](absl::Duration timeout) {
    done.reset();
    CallOptions options;
    options.timeout = timeout;
    process->registry->UnregisterAll(options, [&](absl::Status s) { done = s; });
    executor_->RunUntilIdle();
  };
  all(absl::Seconds(5));
  ASSERT_TRUE(done.has_value() && done->ok());
  Export(*process, kU1);
  Export(*process, "tri://192.0.2.1:1/org.example.Other?dynamic=false");
  local_->SetOffline(true);
  all(absl::Seconds(2));
  executor_->AdvanceAndRun(absl::Seconds(3));
  ASSERT_TRUE(done.has_value());
  EXPECT_TRUE(absl::IsDeadlineExceeded(*done)) << *done;
  local_->SetOffline(false);
  executor_->AdvanceAndRun(absl::Seconds(1));
  EXPECT_EQ(Nodes(), Texts{});
  EXPECT_EQ(Nodes("/dubbo/org.example.Other/providers"), Texts{});
  EXPECT_EQ(process->registry->registered_paths(), Texts{});
}

// One registrar serves providers and consumers.
TEST_F(InterfaceRegistrarTest, UnregisterAllLeavesTheNodesOfConsumers) {
  auto process = Start();
  const auto all = [&] {
    std::optional<absl::Status> done;
    process->registry->UnregisterAll({}, [&](absl::Status s) { done = s; });
    executor_->RunUntilIdle();
    return done;
  };
  const std::string consumer = "consumer://192.0.2.9/org.example.Echo";
  Export(*process, consumer);
  Export(*process, kU1);
  EXPECT_EQ(all(), absl::OkStatus());
  EXPECT_EQ(Nodes(), Texts{});
  EXPECT_EQ(Nodes("/dubbo/org.example.Echo/consumers").size(), 1u);
  EXPECT_EQ(process->registry->registered_paths().size(), 1u);
  // Nor does it wait for one that is not written, or not taken off.
  local_->SetOffline(true);
  const Answer gone = Unregister(*process, consumer, absl::Minutes(1));
  EXPECT_EQ(all(), absl::OkStatus());
  EXPECT_FALSE(gone->has_value());
  local_->SetOffline(false);
  executor_->AdvanceAndRun(absl::Seconds(1));
  EXPECT_EQ(Nodes("/dubbo/org.example.Echo/consumers"), Texts{});
}

// Dubbo Java deletes the path, whoever wrote it.
TEST_F(InterfaceRegistrarTest, APersistentNodeOfAnotherProcessCanBeTakenOff) {
  const std::string fixed = "tri://192.0.2.1:1/org.example.Echo?dynamic=false&side=provider";
  PutProvider(fixed);
  auto process = Start();
  Withdraw(*process, fixed);
  EXPECT_EQ(Nodes(), Texts{});
  // It is gone already.
  Withdraw(*process, fixed);

  PutProvider(fixed);
  local_->SetOffline(true);
  const Answer patient = Unregister(*process, fixed, absl::Minutes(5));
  executor_->AdvanceAndRun(absl::Seconds(10));
  EXPECT_FALSE(patient->has_value());
  local_->SetOffline(false);
  executor_->AdvanceAndRun(absl::Seconds(1));
  ASSERT_TRUE(patient->has_value());
  EXPECT_TRUE((*patient)->ok()) << **patient;
  EXPECT_EQ(Nodes(), Texts{});

  // What goes with a session is its own process' business.
  auto other = Start();
  Export(*other, kU1);
  Withdraw(*process, kU1);
  EXPECT_EQ(Nodes(), Texts{kU1});
}

TEST_F(InterfaceRegistrarTest, AnOppositeWishEndsThoseWhoWait) {
  auto process = Start();
  local_->SetOffline(true);
  const Answer there = Register(*process, kU1, absl::Minutes(5));
  EXPECT_FALSE(there->has_value());
  const Answer gone = Unregister(*process, kU1, absl::Minutes(5));
  ASSERT_TRUE(there->has_value());
  EXPECT_TRUE(absl::IsCancelled(**there)) << **there;
  EXPECT_FALSE(gone->has_value());
  const Answer again = Register(*process, kU1, absl::Minutes(5));
  ASSERT_TRUE(gone->has_value());
  EXPECT_TRUE(absl::IsCancelled(**gone)) << **gone;

  auto all = std::make_shared<std::optional<absl::Status>>();
  CallOptions options;
  options.timeout = absl::Minutes(5);
  process->registry->UnregisterAll(options, [all](absl::Status s) { *all = s; });
  executor_->RunUntilIdle();
  ASSERT_TRUE(again->has_value());
  EXPECT_TRUE(absl::IsCancelled(**again)) << **again;
  // Another URL is another wish.
  const Answer other = Register(*process, kU2, absl::Minutes(5));
  EXPECT_FALSE(all->has_value());
  const Answer last = Register(*process, kU1, absl::Minutes(5));
  ASSERT_TRUE(all->has_value());
  EXPECT_TRUE(absl::IsCancelled(**all)) << **all;
  // The same wish once more ends nobody.
  const Answer twice = Register(*process, kU1, absl::Minutes(5));
  EXPECT_FALSE(last->has_value() || twice->has_value() || other->has_value());

  local_->SetOffline(false);
  executor_->AdvanceAndRun(absl::Seconds(1));
  for (const Answer& each : {other, last, twice}) {
    ASSERT_TRUE(each->has_value());
    EXPECT_TRUE((*each)->ok()) << **each;
  }
  EXPECT_EQ(Nodes(), (Texts{kU1, kU2}));
}

TEST_F(InterfaceRegistrarTest, UnregisterAllWaitsForWhatWasThereAlone) {
  auto process = Start();
  Export(*process, kU1);
  local_->SetOffline(true);
  auto all = std::make_shared<std::optional<absl::Status>>();
  CallOptions options;
  options.timeout = absl::Minutes(5);
  process->registry->UnregisterAll(options, [all](absl::Status s) { *all = s; });
  const std::string other = "tri://192.0.2.1:1/org.example.Other?side=provider";
  Register(*process, other, absl::Minutes(5));
  const Answer gone = Unregister(*process, other, absl::Minutes(5));
  EXPECT_FALSE(all->has_value());
  local_->SetOffline(false);
  executor_->AdvanceAndRun(absl::Seconds(1));
  ASSERT_TRUE(all->has_value() && gone->has_value());
  EXPECT_TRUE((*all)->ok()) << **all;
  EXPECT_TRUE((*gone)->ok()) << **gone;
  EXPECT_EQ(Nodes(), Texts{});
}

TEST_F(InterfaceRegistrarTest, NodesThatDifferInSecretsAloneAreTwoPaths) {
  auto process = Start();
  const std::string one = "tri://192.0.2.1:1/org.example.Echo?token=apple";
  const std::string two = "tri://192.0.2.1:1/org.example.Echo?token=pear";
  Export(*process, one);
  Export(*process, two);
  const std::string shown = PathOf("tri://192.0.2.1:1/org.example.Echo?token=***");
  EXPECT_EQ(process->registry->registered_paths(), (Texts{shown, shown}));
  Withdraw(*process, two);
  EXPECT_EQ(process->registry->registered_paths(), Texts{shown});
}

// TC-47
TEST_F(InterfaceRegistrarTest, AChangeWhileCutOffEndsInOneNode) {
  for (const bool new_session : {false, true}) {
    auto process = Start();
    Export(*process, kU1);
    local_->SetOffline(true);
    executor_->AdvanceAndRun(absl::Seconds(1));
    const Answer added = Register(*process, kU2, absl::Minutes(5));
    const Answer removed = Unregister(*process, kU1, absl::Minutes(5));
    executor_->AdvanceAndRun(absl::Seconds(20));
    EXPECT_FALSE(added->has_value() || removed->has_value());
    if (new_session) local_->ExpireSession(process->centre->store());
    local_->SetOffline(false);
    executor_->AdvanceAndRun(absl::Seconds(1));
    EXPECT_EQ(Nodes(), Texts{kU2});
    ASSERT_TRUE(added->has_value() && removed->has_value()) << new_session;
    EXPECT_TRUE((*added)->ok() && (*removed)->ok());
    executor_->AdvanceAndRun(absl::Minutes(5));
    EXPECT_EQ(Nodes(), Texts{kU2});
    process.reset();
    executor_->RunUntilIdle();
  }
}

// A Store that refuses some writes.
class PickyStore final : public ForwardingStore {
 public:
  PickyStore(std::unique_ptr<Store> target, Executor& executor)
      : ForwardingStore(std::move(target)), executor_(executor) {}
  void CreateSessionBound(const std::string& key, std::string value, absl::Duration ttl,
                          const CallOptions& options, VersionCallback done,
                          ParentKind parents) override {
    const absl::Status refusal = refuse ? refuse(key) : absl::OkStatus();
    if (!refusal.ok()) {
      executor_.Post([done = std::move(done), refusal]() mutable { std::move(done)(refusal); });
      return;
    }
    ForwardingStore::CreateSessionBound(key, std::move(value), ttl, options, std::move(done),
                                        parents);
  }
  std::function<absl::Status(const std::string& key)> refuse;

 private:
  Executor& executor_;
};

// TC-47: also where the first attempt at the new one fails.
TEST_F(InterfaceRegistrarTest, ReplacingAUrlLeavesNoMomentWithoutANode) {
  auto owned = std::make_unique<PickyStore>(NewLocalStore(local_, executor_), *executor_);
  PickyStore& store = *owned;
  auto process = Start("", std::move(owned));
  auto consumer = Start();
  Export(*process, kU1);
  auto listener = Subscribe(*consumer, Consumer());
  ASSERT_EQ(listener->Hosts(), Texts{"192.0.2.1:1"});
  store.refuse = [](const std::string& key) { return absl::UnavailableError(key + ": not now"); };
  const Answer added = Register(*process, kU2, absl::Minutes(1));
  const Answer removed = Unregister(*process, kU1, absl::Minutes(1));
  executor_->AdvanceAndRun(absl::Milliseconds(200));
  EXPECT_EQ(Nodes(), Texts{kU1});
  EXPECT_FALSE(removed->has_value());
  store.refuse = nullptr;
  executor_->AdvanceAndRun(absl::Seconds(20));
  EXPECT_EQ(Nodes(), Texts{kU2});
  EXPECT_TRUE(added->has_value() && (*added)->ok());
  EXPECT_TRUE(removed->has_value() && (*removed)->ok());
  // The consumer saw the change, not a gap.
  EXPECT_EQ(listener->Hosts(), Texts{"192.0.2.1:1"});
  EXPECT_EQ(listener->last.list->spec(0).weight, 2);
}

TEST_F(InterfaceRegistrarTest, WhatCanNeverBeWrittenHoldsUpNothing) {
  auto owned = std::make_unique<PickyStore>(NewLocalStore(local_, executor_), *executor_);
  PickyStore& store = *owned;
  auto process = Start("", std::move(owned));
  Export(*process, kU1);
  store.refuse = [](const std::string& key) {
    return absl::PermissionDeniedError(key + ": may not");
  };
  const KeptLog log;
  const std::string secret = std::string(kU2) + "&token=sesame";
  const Answer added = Register(*process, secret, absl::Hours(1));
  ASSERT_TRUE(added->has_value());
  EXPECT_TRUE(absl::IsPermissionDenied(**added)) << **added;
  Withdraw(*process, kU1);
  EXPECT_EQ(Nodes(), Texts{});
  executor_->AdvanceAndRun(absl::Minutes(10));
  EXPECT_EQ(log.lines().size(), 1u) << log.text();
  EXPECT_FALSE(absl::StrContains(log.text() + (*added)->ToString(), "sesame")) << **added;
  // It is tried again all the same.
  store.refuse = nullptr;
  executor_->AdvanceAndRun(absl::Minutes(1));
  EXPECT_EQ(Nodes(), Texts{secret.substr(0, secret.find("&weight")) + "&token=sesame&weight=2"});
  EXPECT_FALSE(absl::StrContains(process->registry->registered_paths().at(0), "sesame"));
}

TEST_F(InterfaceRegistrarTest, ThereAndGoneAndThereAgain) {
  auto process = Start();
  std::vector<absl::Status> answers;
  const auto keep = [&](absl::Status s) { answers.push_back(s); };
  for (int i = 0; i < 3; ++i) {
    process->registry->Register(*Url::Parse(kU1), {}, keep);
    process->registry->Unregister(*Url::Parse(kU1), {}, keep);
    process->registry->UnregisterAll({}, keep);
  }
  process->registry->Register(*Url::Parse(kU1), {}, keep);
  executor_->RunUntilIdle();
  EXPECT_EQ(Nodes(), Texts{kU1});
  ASSERT_EQ(answers.size(), 10u);
  // Each of the others was overtaken by its opposite.
  EXPECT_TRUE(answers.back().ok()) << answers.back();
  answers.pop_back();
  for (const absl::Status& each : answers) EXPECT_TRUE(absl::IsCancelled(each)) << each;
}

TEST_F(InterfaceRegistrarTest, ParametersThatJavaMisreadsAreWarnedOf) {
  auto process = Start();
  const KeptLog log;
  Export(*process, "tri://192.0.2.1:1/a.A?last.pid=1");
  Export(*process, "tri://192.0.2.1:1/a.A?last.pid=1");
  ASSERT_EQ(log.lines().size(), 1u) << log.text();
  EXPECT_TRUE(absl::StrContains(log.text(), "last.pid"));
}

}  // namespace
}  // namespace signpost

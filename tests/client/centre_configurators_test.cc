#include "signpost/client/centre_configurators.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/manual_executor.h"
#include "signpost/registry/memory/memory_store.h"
#include "signpost/registry/store/local_centre.h"
#include "signpost/registry/store/store_centre.h"
#include "tests/support/fake_config_source.h"
#include "tests/support/forwarding_store.h"
#include "tests/support/kept_log.h"

namespace signpost::client_internal {
namespace {

using SetPtr = std::shared_ptr<const ConfiguratorSet>;

constexpr char kAppKey[] = "shop.configurators";
constexpr char kEchoKey[] = "org.example.Echo::.configurators";
constexpr char kFolder[] = "/dubbo/org.example.Echo/configurators/";

// What watches of folders tell is held back until the test lets it go.
struct Held {
  bool on = false;
  std::vector<std::function<void()>> waiting;
};

class HoldingStore final : public ForwardingStore {
 public:
  HoldingStore(std::unique_ptr<Store> target, std::shared_ptr<Held> held)
      : ForwardingStore(std::move(target)), held_(std::move(held)) {}
  Subscription WatchTree(const std::string& prefix, TreeCallback on_change,
                         TreeContent content) override {
    auto shared = std::make_shared<TreeCallback>(std::move(on_change));
    return ForwardingStore::WatchTree(
        prefix,
        [held = held_, shared](absl::StatusOr<TreeDelta> delta) {
          if (!held->on) return (*shared)(std::move(delta));
          held->waiting.push_back([shared, delta = std::move(delta)] { (*shared)(delta); });
        },
        content);
  }

 private:
  const std::shared_ptr<Held> held_;
};

std::string ServiceRule(const std::string& parameters) {
  return absl::StrCat("key: org.example.Echo\nconfigs:\n- {side: consumer, parameters: {",
                      parameters, "}}\n");
}
std::string Override(const std::string& parameters) {
  return "override://0.0.0.0/org.example.Echo?category=configurators&" + parameters;
}
std::string NodeOf(const std::string& url) { return kFolder + FormEncode(url); }

class CentreConfiguratorsTest : public testing::Test {
 protected:
  CentreConfiguratorsTest() {
    const Url url = *Url::Parse("memory://centre-configurators-test");
    centre_ = NewStoreCentre(
        url, executor_, std::make_unique<HoldingStore>(NewLocalStore(local_, executor_), held_));
    registry_ = std::make_shared<InterfaceRegistry>(*executor_, *centre_, table_,
                                                    InterfaceRegistryOptions());
    watch_ = std::make_shared<ConfiguratorWatch>(*executor_, source_, "shop");
    executor_->RunUntilIdle();
    watches_before_ = local_->watch_count();
  }
  // What stores post when they go holds the executor.
  ~CentreConfiguratorsTest() override {
    registry_.reset();
    watch_.reset();
    centre_.reset();
    admin_.reset();
    executor_->RunUntilIdle();
  }

  Subscription Follow(const std::string& url, std::vector<SetPtr>& told) {
    return ConfiguratorsOfCentre(executor_, watch_, registry_)(*Url::Parse(url), [&](SetPtr set) {
      EXPECT_TRUE(executor_->IsCurrent());
      ASSERT_NE(set, nullptr);
      told.push_back(std::move(set));
    });
  }
  Subscription Follow() { return Follow(kConsumer, told_); }
  void Run() { executor_->RunUntilIdle(); }

  // What an operator writes into the folder.
  void Put(const std::string& node) {
    admin_->Put(node, "", {}, [](absl::StatusOr<int64_t> v) { EXPECT_TRUE(v.ok()) << v.status(); });
    Run();
  }
  void Delete(const std::string& node) {
    admin_->Delete(node, Store::kAnyVersion, {}, [](absl::Status s) { EXPECT_TRUE(s.ok()) << s; });
    Run();
  }
  // Inside a task, as a store tells.
  void LetGo(const std::function<void()>& then = [] {}) {
    executor_->Post([this, then] {
      held_->on = false;
      for (const auto& tell : std::exchange(held_->waiting, {})) tell();
      then();
    });
    Run();
  }
  // A parameter of a provider under the set.
  static std::string Get(const SetPtr& set, const std::string& key) {
    ConfiguratorTarget target;
    target.application = "shop";
    const Url provider = *Url::Parse("tri://192.0.2.1:20880/org.example.Echo?timeout=1000");
    return std::string(set->Apply(provider, target).Get(key, "-"));
  }

  static constexpr char kConsumer[] =
      "consumer://192.0.2.99/org.example.Echo?application=shop&interface=org.example.Echo";

  SimulatedClock clock_;
  std::shared_ptr<ManualExecutor> executor_ = std::make_shared<ManualExecutor>(clock_);
  FakeConfigSource source_{*executor_};
  std::shared_ptr<LocalCentre> local_ = MemoryCentre("centre-configurators-test");
  std::unique_ptr<Store> admin_ = NewLocalStore(local_, executor_);
  std::shared_ptr<Held> held_ = std::make_shared<Held>();
  EndpointTable table_;
  std::unique_ptr<RegistryCentre> centre_;
  std::shared_ptr<InterfaceRegistry> registry_;
  std::shared_ptr<ConfiguratorWatch> watch_;
  size_t watches_before_ = 0;
  std::vector<SetPtr> told_;
};

TEST_F(CentreConfiguratorsTest, WithoutRulesAnEmptySetIsToldOnce) {
  const Subscription following = Follow();
  EXPECT_TRUE(told_.empty());
  Run();
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_TRUE(told_[0]->empty());
  executor_->AdvanceAndRun(absl::Hours(1));
  EXPECT_EQ(told_.size(), 1u);
}

// What is told first decides what a provider registers: it has the rules of both places.
TEST_F(CentreConfiguratorsTest, TheFirstWordHasTheRulesOfBothPlaces) {
  source_.Write(kEchoKey, ServiceRule("timeout: 500"));
  Put(NodeOf(Override("weight=7")));
  const Subscription following = Follow();
  Run();
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(Get(told_[0], "timeout"), "500");
  EXPECT_EQ(Get(told_[0], "weight"), "7");
}

TEST_F(CentreConfiguratorsTest, TheFolderComesAfterTheKeys) {
  source_.Write(kEchoKey, ServiceRule("timeout: 500"));
  Put(NodeOf(Override("weight=7")));
  held_->on = true;
  const Subscription following = Follow();
  Run();
  EXPECT_EQ(source_.watches(kAppKey), 1u);
  EXPECT_EQ(source_.watches(kEchoKey), 1u);
  ASSERT_EQ(held_->waiting.size(), 1u);
  EXPECT_TRUE(told_.empty());
  // A key that changes meanwhile is no word of the folder.
  source_.Write(kEchoKey, ServiceRule("timeout: 600"));
  Run();
  EXPECT_TRUE(told_.empty());
  LetGo();
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(Get(told_[0], "timeout"), "600");
  EXPECT_EQ(Get(told_[0], "weight"), "7");
}

TEST_F(CentreConfiguratorsTest, TheKeysComeAfterTheFolder) {
  Put(NodeOf(Override("weight=7")));
  source_.SetSilent(true);
  const Subscription following = Follow();
  Run();
  EXPECT_TRUE(told_.empty());
  source_.Write(kEchoKey, ServiceRule("timeout: 500"));
  Run();
  EXPECT_TRUE(told_.empty());
  source_.Remove(kAppKey);
  Run();
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(Get(told_[0], "timeout"), "500");
  EXPECT_EQ(Get(told_[0], "weight"), "7");
}

TEST_F(CentreConfiguratorsTest, RulesOfTheFolderComeAndGo) {
  const Subscription following = Follow();
  Run();
  Put(NodeOf(Override("weight=7")));
  ASSERT_EQ(told_.size(), 2u);
  EXPECT_EQ(Get(told_[1], "weight"), "7");
  Put(NodeOf(Override("timeout=500")));
  ASSERT_EQ(told_.size(), 3u);
  EXPECT_EQ(Get(told_[2], "weight"), "7");
  EXPECT_EQ(Get(told_[2], "timeout"), "500");
  // The text of the config centre counts after it.
  source_.Write(kEchoKey, ServiceRule("timeout: 600"));
  Run();
  ASSERT_EQ(told_.size(), 4u);
  EXPECT_EQ(Get(told_[3], "timeout"), "600");
  source_.Remove(kEchoKey);
  Run();
  EXPECT_EQ(Get(told_.back(), "timeout"), "500");
  Delete(NodeOf(Override("weight=7")));
  EXPECT_EQ(Get(told_.back(), "weight"), "-");
  Delete(NodeOf(Override("timeout=500")));
  ASSERT_EQ(told_.size(), 7u);
  EXPECT_TRUE(told_[6]->empty());
}

TEST_F(CentreConfiguratorsTest, WhatIsOfOtherServicesIsNoNews) {
  const Subscription following = Follow();
  Run();
  Put(NodeOf(Override("weight=7&group=g")));
  Put(NodeOf(Override("weight=7&version=2.0.0")));
  Put(NodeOf(Override("weight=7&enabled=false")));
  Put("/dubbo/org.example.Other/configurators/" +
      FormEncode("override://0.0.0.0/org.example.Other?category=configurators&weight=7"));
  Put("/dubbo/org.example.Echo/providers/" + FormEncode("tri://192.0.2.1:1/org.example.Echo"));
  EXPECT_EQ(told_.size(), 1u);
}

TEST_F(CentreConfiguratorsTest, GroupAndVersionAreOfTheUrl) {
  Put(NodeOf(Override("weight=7")));
  Put(NodeOf(Override("weight=8&group=g&version=1.0.0")));
  source_.Write(
      "org.example.Echo:1.0.0:g.configurators",
      "key: g/org.example.Echo:1.0.0\nconfigs:\n- {side: consumer, parameters: {a: b}}\n");
  const Subscription following =
      Follow("consumer://192.0.2.99/org.example.Echo?group=g&version=1.0.0", told_);
  Run();
  ASSERT_EQ(told_.size(), 1u);
  const Url provider = *Url::Parse("tri://192.0.2.1:20880/org.example.Echo?group=g&version=1.0.0");
  const Url url = told_[0]->Apply(provider, ConfiguratorTarget());
  EXPECT_EQ(url.Get("weight"), "8");
  EXPECT_EQ(url.Get("a"), "b");
}

TEST_F(CentreConfiguratorsTest, AProvidersUrlIsLookedUpInTheSamePlaces) {
  source_.Write(
      kAppKey, "scope: application\nkey: shop\nconfigs:\n- {side: provider, parameters: {a: b}}\n");
  Put(NodeOf(Override("weight=7")));
  const Url provider = *Url::Parse(
      "tri://192.0.2.1:20880/org.example.Echo?application=shop&category=providers&side=provider");
  const Subscription following = Follow(provider.ToFullString(), told_);
  Run();
  ASSERT_EQ(told_.size(), 1u);
  const Url url = told_[0]->Apply(provider, ConfiguratorTarget::OfProvider(provider));
  EXPECT_EQ(url.Get("weight"), "7");
  EXPECT_EQ(url.Get("a"), "b");
}

TEST_F(CentreConfiguratorsTest, AFolderThatCannotBeReadCountsAsHeard) {
  source_.Write(kEchoKey, ServiceRule("timeout: 500"));
  Put(NodeOf(Override("weight=7")));
  local_->SetOffline(true);
  const Subscription following = Follow();
  Run();
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(Get(told_[0], "timeout"), "500");
  EXPECT_EQ(Get(told_[0], "weight"), "-");
  // Its rules come when it can be read.
  local_->SetOffline(false);
  executor_->AdvanceAndRun(absl::Minutes(1));
  ASSERT_EQ(told_.size(), 2u);
  EXPECT_EQ(Get(told_[1], "timeout"), "500");
  EXPECT_EQ(Get(told_[1], "weight"), "7");
  // What was read stays while it is away again.
  local_->SetOffline(true);
  executor_->AdvanceAndRun(absl::Minutes(1));
  local_->SetOffline(false);
  executor_->AdvanceAndRun(absl::Minutes(1));
  EXPECT_EQ(told_.size(), 2u);
}

TEST_F(CentreConfiguratorsTest, KeysThatCannotBeReadCountAsHeard) {
  source_.Fail(kAppKey, absl::UnavailableError("away"));
  source_.Fail(kEchoKey, absl::UnavailableError("away"));
  Put(NodeOf(Override("weight=7")));
  const Subscription following = Follow();
  Run();
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(Get(told_[0], "weight"), "7");
}

TEST_F(CentreConfiguratorsTest, GarbageInTheFolderLeavesTheRest) {
  KeptLog log;
  Put(std::string(kFolder) + "%zz");
  Put(NodeOf("override://"));
  Put(NodeOf(Override("priority=high&weight=9&token=hunter2")));
  Put(NodeOf(Override(std::string(20000, 'x') + "=1&weight=8")));
  Put(NodeOf("route://0.0.0.0/org.example.Echo?category=configurators&weight=6"));
  Put(NodeOf(Override("zone=east")));
  const Subscription following = Follow();
  Run();
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0]->configurators().size(), 2u);
  EXPECT_EQ(Get(told_[0], "zone"), "east");
  EXPECT_EQ(Get(told_[0], "weight"), "8");
  EXPECT_FALSE(log.lines().empty());
  EXPECT_FALSE(absl::StrContains(log.text(), "hunter2"));
}

TEST_F(CentreConfiguratorsTest, WithoutARegistryTheKeysAlone) {
  Put(NodeOf(Override("weight=7")));
  source_.Write(kEchoKey, ServiceRule("timeout: 500"));
  const Subscription following = ConfiguratorsOfCentre(executor_, watch_, nullptr)(
      *Url::Parse(kConsumer), [this](SetPtr set) { told_.push_back(std::move(set)); });
  Run();
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(Get(told_[0], "timeout"), "500");
  EXPECT_EQ(Get(told_[0], "weight"), "-");
  EXPECT_EQ(local_->watch_count(), watches_before_);
  source_.Write(kEchoKey, ServiceRule("timeout: 600"));
  Run();
  EXPECT_EQ(told_.size(), 2u);
}

TEST_F(CentreConfiguratorsTest, NothingAfterCancel) {
  Subscription following = Follow();
  following.Cancel();
  Run();
  EXPECT_TRUE(told_.empty());
  following = Follow();
  Run();
  EXPECT_EQ(told_.size(), 1u);
  EXPECT_EQ(source_.watches(kEchoKey), 1u);
  EXPECT_GT(local_->watch_count(), watches_before_);
  following.Cancel();
  Run();
  EXPECT_EQ(source_.watches(kEchoKey), 0u);
  EXPECT_EQ(source_.watches(kAppKey), 0u);
  EXPECT_EQ(local_->watch_count(), watches_before_);
  Put(NodeOf(Override("weight=7")));
  source_.Write(kEchoKey, ServiceRule("timeout: 500"));
  Run();
  EXPECT_EQ(told_.size(), 1u);
}

TEST_F(CentreConfiguratorsTest, NothingAfterCancelWhileTheFirstWordIsOnItsWay) {
  held_->on = true;
  Subscription following = Follow();
  Run();
  ASSERT_EQ(held_->waiting.size(), 1u);
  LetGo([&] { executor_->Post([&] { following.Cancel(); }); });
  EXPECT_TRUE(told_.empty());
}

TEST_F(CentreConfiguratorsTest, ACallbackMayCancel) {
  Subscription following;
  int calls = 0;
  // Of what the callback holds nothing is left.
  auto owned = std::make_shared<int>(1);
  const std::weak_ptr<int> captured = owned;
  following = ConfiguratorsOfCentre(executor_, watch_, registry_)(
      *Url::Parse(kConsumer), [&calls, &following, owned = std::move(owned)](const SetPtr&) {
        calls += *owned;
        following.Cancel();
        calls += *owned;
      });
  Run();
  EXPECT_EQ(calls, 2);
  Put(NodeOf(Override("weight=7")));
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(captured.expired());
}

TEST_F(CentreConfiguratorsTest, EachIsToldOnItsOwn) {
  std::vector<SetPtr> others;
  Subscription first = Follow();
  const Subscription second = Follow(kConsumer, others);
  Run();
  EXPECT_EQ(told_.size(), 1u);
  EXPECT_EQ(others.size(), 1u);
  first.Cancel();
  Put(NodeOf(Override("weight=7")));
  EXPECT_EQ(told_.size(), 1u);
  ASSERT_EQ(others.size(), 2u);
  // One that comes later is told what is known.
  const Subscription third = Follow();
  Run();
  ASSERT_EQ(told_.size(), 2u);
  EXPECT_EQ(*told_[1], *others[1]);
}

TEST_F(CentreConfiguratorsTest, KeepsWhatItWatchesWith) {
  WatchConfigurators configurators = ConfiguratorsOfCentre(executor_, watch_, registry_);
  watch_.reset();
  registry_.reset();
  {
    const Subscription following = configurators(
        *Url::Parse(kConsumer), [this](SetPtr set) { told_.push_back(std::move(set)); });
    Run();
    EXPECT_EQ(told_.size(), 1u);
    Put(NodeOf(Override("weight=7")));
    EXPECT_EQ(told_.size(), 2u);
  }
  configurators = nullptr;
  Run();
}

TEST_F(CentreConfiguratorsTest, MayOutliveWatchAndRegistry) {
  Subscription following = Follow();
  Run();
  watch_.reset();
  registry_.reset();
  Put(NodeOf(Override("weight=7")));
  source_.Write(kEchoKey, ServiceRule("timeout: 500"));
  Run();
  EXPECT_EQ(told_.size(), 1u);
  following.Cancel();
  Run();
}

}  // namespace
}  // namespace signpost::client_internal

#include "signpost/router/configurator/configurator_watch.h"

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "signpost/common/manual_executor.h"
#include "tests/support/fake_config_source.h"
#include "tests/support/kept_log.h"

namespace signpost {
namespace {

using SetPtr = std::shared_ptr<const ConfiguratorSet>;

const char kAppKey[] = "web.configurators";
const char kEchoKey[] = "demo.Echo:1.0.0:shop.configurators";

ServiceKey Echo() { return *ServiceKey::Parse("shop/demo.Echo:1.0.0"); }

std::string ServiceRule(const std::string& parameters) {
  return absl::StrCat("key: shop/demo.Echo:1.0.0\nconfigs:\n- {side: consumer, parameters: {",
                      parameters, "}}\n");
}
std::string AppRule(const std::string& parameters) {
  return absl::StrCat("scope: application\nkey: web\nconfigs:\n- {side: consumer, parameters: {",
                      parameters, "}}\n");
}

class ConfiguratorWatchTest : public testing::Test {
 protected:
  ConfiguratorWatchTest() { Make("web"); }

  void Make(const std::string& application) {
    watch_ = std::make_unique<ConfiguratorWatch>(executor_, source_, application);
  }
  std::unique_ptr<ServiceConfigurators> Of(const ServiceKey& service, std::vector<SetPtr>& told) {
    return watch_->Of(service, [this, &told](const SetPtr& set) {
      EXPECT_TRUE(executor_.IsCurrent());
      ASSERT_NE(set, nullptr);
      told.push_back(set);
    });
  }
  void Run() { executor_.RunUntilIdle(); }
  // A parameter of a provider under the set.
  static std::string Get(const SetPtr& set, const std::string& key) {
    ConfiguratorTarget target;
    target.application = "web";
    const Url provider =
        *Url::Parse("tri://192.0.2.1:20880/demo.Echo?group=shop&version=1.0.0&timeout=1000");
    return std::string(set->Apply(provider, target).Get(key, "-"));
  }

  SimulatedClock clock_;
  ManualExecutor executor_{clock_};
  FakeConfigSource source_{executor_};
  KeptLog log_;
  std::unique_ptr<ConfiguratorWatch> watch_;
  std::vector<SetPtr> told_;
};

TEST_F(ConfiguratorWatchTest, Keys) {
  EXPECT_EQ(ConfiguratorWatch::KeyOf("web"), kAppKey);
  EXPECT_EQ(ConfiguratorWatch::KeyOf(Echo()), kEchoKey);
  EXPECT_EQ(ConfiguratorWatch::KeyOf(*ServiceKey::Parse("demo.Echo")), "demo.Echo::.configurators");
}

TEST_F(ConfiguratorWatchTest, WithoutRulesAnEmptySetIsToldOnce) {
  const auto rules = Of(Echo(), told_);
  EXPECT_TRUE(told_.empty());
  Run();
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_TRUE(told_[0]->empty());
}

TEST_F(ConfiguratorWatchTest, BothKeysInOneFirstSet) {
  source_.Write(kAppKey, AppRule("timeout: 1, a: app"));
  source_.Write(kEchoKey, ServiceRule("timeout: 2, b: service"));
  const auto rules = Of(Echo(), told_);
  Run();
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(Get(told_[0], "timeout"), "2");
  EXPECT_EQ(Get(told_[0], "a"), "app");
  EXPECT_EQ(Get(told_[0], "b"), "service");
}

TEST_F(ConfiguratorWatchTest, TheFirstCallWaitsForAllKeys) {
  source_.SetSilent(true);
  const auto rules = Of(Echo(), told_);
  Run();
  source_.Write(kAppKey, AppRule("timeout: 1"));
  Run();
  EXPECT_TRUE(told_.empty());
  source_.Remove(kEchoKey);
  Run();
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(Get(told_[0], "timeout"), "1");
}

TEST_F(ConfiguratorWatchTest, AKeyThatIsUnavailableDoesNotHoldUpTheFirstCall) {
  source_.Fail(kAppKey, absl::UnavailableError("away"));
  source_.Write(kEchoKey, ServiceRule("timeout: 2"));
  const auto rules = Of(Echo(), told_);
  Run();
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(Get(told_[0], "timeout"), "2");
  EXPECT_EQ(log_.text(), "");
  source_.Write(kAppKey, AppRule("retries: 1"));
  Run();
  ASSERT_EQ(told_.size(), 2u);
  EXPECT_EQ(Get(told_[1], "retries"), "1");
}

TEST_F(ConfiguratorWatchTest, OnlyChangesAreTold) {
  source_.Write(kEchoKey, ServiceRule("timeout: 2"));
  const auto rules = Of(Echo(), told_);
  Run();
  source_.Write(kEchoKey, ServiceRule("timeout: 2"));
  Run();
  source_.Write(kEchoKey, "# the same, otherwise written\nconfigVersion: v3.0\nenabled: true\n" +
                              ServiceRule("timeout: '2'"));
  Run();
  EXPECT_EQ(told_.size(), 1u);
  source_.Write(kEchoKey, ServiceRule("timeout: 3"));
  Run();
  ASSERT_EQ(told_.size(), 2u);
  EXPECT_EQ(Get(told_[1], "timeout"), "3");
  EXPECT_EQ(Get(told_[0], "timeout"), "2");  // sets do not change
}

TEST_F(ConfiguratorWatchTest, AKeyThatGoesTakesItsRuleAlong) {
  source_.Write(kAppKey, AppRule("retries: 1"));
  source_.Write(kEchoKey, ServiceRule("timeout: 2"));
  const auto rules = Of(Echo(), told_);
  Run();
  source_.Remove(kEchoKey);
  Run();
  ASSERT_EQ(told_.size(), 2u);
  EXPECT_EQ(Get(told_[1], "timeout"), "1000");
  EXPECT_EQ(Get(told_[1], "retries"), "1");
  source_.Remove(kEchoKey);
  Run();
  EXPECT_EQ(told_.size(), 2u);
}

TEST_F(ConfiguratorWatchTest, ARuleThatIsSwitchedOffIsGone) {
  source_.Write(kEchoKey, ServiceRule("timeout: 2"));
  const auto rules = Of(Echo(), told_);
  Run();
  source_.Write(kEchoKey, "enabled: false\n" + ServiceRule("timeout: 2"));
  Run();
  ASSERT_EQ(told_.size(), 2u);
  EXPECT_TRUE(told_[1]->empty());
}

TEST_F(ConfiguratorWatchTest, WhatCannotBeReadKeepsTheOldAndWarnsOnce) {
  source_.Write(kEchoKey, ServiceRule("timeout: 2"));
  const auto rules = Of(Echo(), told_);
  Run();
  source_.Write(kEchoKey, ServiceRule("password: hunter2, timeout: "));
  Run();
  source_.Write(kEchoKey, ServiceRule("password: hunter2, timeout: "));
  Run();
  EXPECT_EQ(told_.size(), 1u);
  ASSERT_EQ(log_.lines().size(), 1u) << log_.text();
  EXPECT_TRUE(absl::StrContains(log_.text(), kEchoKey)) << log_.text();
  EXPECT_TRUE(absl::StrContains(log_.text(), "configs[0].parameters.timeout")) << log_.text();
  EXPECT_FALSE(absl::StrContains(log_.text(), "hunter2"));
  // Another fault is news, and so is the same one after a good rule.
  source_.Write(kEchoKey, "{");
  Run();
  EXPECT_EQ(log_.lines().size(), 2u);
  source_.Write(kEchoKey, ServiceRule("timeout: 2"));
  source_.Write(kEchoKey, "{");
  Run();
  EXPECT_EQ(log_.lines().size(), 3u);
  EXPECT_EQ(told_.size(), 1u);
}

TEST_F(ConfiguratorWatchTest, AValueThatNobodyCanReadHasOneWarning) {
  source_.Write(kEchoKey, ServiceRule("disabled: yes, weight: 5"));
  const auto rules = Of(Echo(), told_);
  Run();
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(Get(told_[0], "disabled"), "true");
  EXPECT_EQ(log_.text(), "");
  const std::string bad = ServiceRule("disabled: 'yes', weight: 5x, timeout: soon");
  source_.Write(kEchoKey, bad);
  Run();
  source_.Write(kEchoKey, bad);
  Run();
  // The rule holds.
  ASSERT_EQ(told_.size(), 2u);
  EXPECT_EQ(Get(told_[1], "timeout"), "soon");
  ASSERT_EQ(log_.lines().size(), 1u) << log_.text();
  EXPECT_TRUE(absl::StrContains(log_.text(), kEchoKey)) << log_.text();
  EXPECT_TRUE(absl::StrContains(log_.text(), "disabled='yes' is neither true nor false"));
  EXPECT_TRUE(absl::StrContains(log_.text(), "weight='5x' is not a whole number"));
  EXPECT_FALSE(absl::StrContains(log_.text(), "timeout"));
  // Another one is news, and so is the same one after a good rule.
  source_.Write(kEchoKey, ServiceRule("disabled: 1"));
  Run();
  ASSERT_EQ(log_.lines().size(), 2u) << log_.text();
  EXPECT_TRUE(absl::StrContains(log_.lines()[1], "disabled='1' is neither"));
  source_.Write(kEchoKey, ServiceRule("weight: 5"));
  Run();
  source_.Write(kEchoKey, ServiceRule("disabled: 1"));
  Run();
  EXPECT_EQ(log_.lines().size(), 3u) << log_.text();
}

TEST_F(ConfiguratorWatchTest, AUrlThatStaysIsWarnedOfOnce) {
  const auto rules = Of(Echo(), told_);
  const auto url = [](const std::string& parameters) {
    return *Url::Parse("override://0.0.0.0/demo.Echo?group=shop&version=1.0.0&" + parameters);
  };
  rules->SetRegistryUrls({url("weight=5x"), url("enabled=perhaps")});
  Run();
  ASSERT_EQ(log_.lines().size(), 1u) << log_.text();
  EXPECT_TRUE(absl::StrContains(log_.text(), "do nothing: 2, for example ")) << log_.text();
  rules->SetRegistryUrls({url("weight=5x"), url("enabled=perhaps"), url("timeout=1")});
  Run();
  EXPECT_EQ(log_.lines().size(), 1u) << log_.text();
  ASSERT_FALSE(told_.empty());
  EXPECT_EQ(Get(told_.back(), "timeout"), "1");
  rules->SetRegistryUrls({url("timeout=1")});
  rules->SetRegistryUrls({url("timeout=1"), url("weight=5x")});
  Run();
  EXPECT_EQ(log_.lines().size(), 2u) << log_.text();
}

TEST_F(ConfiguratorWatchTest, AFirstRuleThatCannotBeReadCountsAsNone) {
  source_.Write(kEchoKey, "{");
  const auto rules = Of(Echo(), told_);
  Run();
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_TRUE(told_[0]->empty());
}

TEST_F(ConfiguratorWatchTest, ErrorsKeepWhatWas) {
  source_.Write(kEchoKey, ServiceRule("timeout: 2"));
  const auto rules = Of(Echo(), told_);
  Run();
  source_.Fail(kEchoKey, absl::UnavailableError("away"));
  source_.Fail(kEchoKey, absl::DeadlineExceededError("late"));
  Run();
  EXPECT_EQ(log_.text(), "");
  // One that lasts is worth a word.
  source_.Fail(kEchoKey, absl::PermissionDeniedError("no"));
  source_.Fail(kEchoKey, absl::PermissionDeniedError("no"));
  Run();
  EXPECT_EQ(log_.lines().size(), 1u) << log_.text();
  EXPECT_EQ(told_.size(), 1u);
}

TEST_F(ConfiguratorWatchTest, RegistryUrls) {
  const auto rules = Of(Echo(), told_);
  Run();
  const Url url = *Url::Parse("override://0.0.0.0/demo.Echo?group=shop&version=1.0.0&timeout=5");
  rules->SetRegistryUrls({url});
  Run();
  ASSERT_EQ(told_.size(), 2u);
  EXPECT_EQ(Get(told_[1], "timeout"), "5");
  rules->SetRegistryUrls({url});
  rules->SetRegistryUrls({url.With("dynamic", "false")});
  Run();
  EXPECT_EQ(told_.size(), 2u);
  // The service's rule lies over it.
  source_.Write(kEchoKey, ServiceRule("timeout: 2"));
  Run();
  ASSERT_EQ(told_.size(), 3u);
  EXPECT_EQ(Get(told_[2], "timeout"), "2");
  source_.Remove(kEchoKey);
  Run();
  EXPECT_EQ(Get(told_.back(), "timeout"), "5");
  rules->SetRegistryUrls({url, *Url::Parse("empty://0.0.0.0/demo.Echo?category=configurators")});
  Run();
  EXPECT_TRUE(told_.back()->empty());
}

TEST_F(ConfiguratorWatchTest, RegistryUrlsBeforeTheFirstCallAreInIt) {
  const auto rules = Of(Echo(), told_);
  rules->SetRegistryUrls(
      {*Url::Parse("override://0.0.0.0/demo.Echo?group=shop&version=1.0.0&timeout=5")});
  Run();
  ASSERT_FALSE(told_.empty());
  EXPECT_EQ(Get(told_.back(), "timeout"), "5");
  EXPECT_EQ(told_.size(), 1u);
}

// A folder of thousands, one of which is toggled, and everybody who refers to the service.
TEST_F(ConfiguratorWatchTest, UrlsThatCannotBeReadAreOneLineForAllUntilThereAreOthers) {
  const auto bad = [](int i) {
    return *Url::Parse(
        absl::StrCat("override://0.0.0.0/demo.Echo?priority=high&password=hunter2&a=", i));
  };
  const Url good = *Url::Parse("override://0.0.0.0/demo.Echo?group=shop&version=1.0.0&timeout=5");
  std::vector<SetPtr> second_told;
  auto first = Of(Echo(), told_);
  auto second = Of(Echo(), second_told);
  const auto set = [&](const std::vector<Url>& urls) {
    first->SetRegistryUrls(urls);
    second->SetRegistryUrls(urls);
    Run();
  };
  std::vector<Url> urls;
  for (int i = 0; i < 1000; ++i) urls.push_back(bad(i));
  set(urls);
  ASSERT_EQ(log_.lines().size(), 1u);
  EXPECT_TRUE(absl::StrContains(log_.text(), "do nothing: 1000, for example ")) << log_.text();
  EXPECT_TRUE(absl::StrContains(log_.text(), "override://0.0.0.0/demo.Echo: parameter priority"))
      << log_.text();
  EXPECT_FALSE(absl::StrContains(log_.text(), "hunter2"));
  std::vector<Url> more = urls;
  more.push_back(good);
  for (int i = 0; i < 5; ++i) {
    set(more);
    EXPECT_EQ(Get(told_.back(), "timeout"), "5");
    EXPECT_EQ(Get(second_told.back(), "timeout"), "5");
    set(urls);
  }
  EXPECT_EQ(log_.lines().size(), 1u);
  // Another one is news, and so is one that was gone.
  more.push_back(bad(1000));
  set(more);
  ASSERT_EQ(log_.lines().size(), 2u);
  EXPECT_TRUE(absl::StrContains(log_.lines()[1], "do nothing: 1, for example ")) << log_.lines()[1];
  set({good});
  set({good, bad(7)});
  EXPECT_EQ(log_.lines().size(), 3u);
  // Who goes takes along what it had alone.
  second.reset();
  first.reset();
  Run();
  first = Of(Echo(), told_);
  first->SetRegistryUrls({bad(7)});
  Run();
  EXPECT_EQ(log_.lines().size(), 4u);
}

TEST_F(ConfiguratorWatchTest, ServicesShareTheRuleOfTheApplication) {
  source_.Write(kAppKey, AppRule("timeout: 1"));
  std::vector<SetPtr> other;
  const auto a = Of(Echo(), told_);
  const auto b = Of(*ServiceKey::Parse("demo.Order"), other);
  Run();
  ASSERT_EQ(told_.size(), 1u);
  ASSERT_EQ(other.size(), 1u);
  EXPECT_TRUE(told_[0]->sources() == other[0]->sources());
  // The same rule, otherwise written, is the same list still.
  source_.Write(kAppKey, AppRule("timeout: '1'"));
  source_.Write(kEchoKey, ServiceRule("retries: 1"));
  Run();
  ASSERT_EQ(told_.size(), 2u);
  EXPECT_EQ(other.size(), 1u);
  EXPECT_TRUE(told_[1]->sources()[1] == other[0]->sources()[1]);
  EXPECT_TRUE(told_[1]->sources()[2] != other[0]->sources()[2]);
}

TEST_F(ConfiguratorWatchTest, KeysAreWatchedOnceAndNoLongerThanNeeded) {
  std::vector<SetPtr> second;
  std::vector<SetPtr> other;
  auto a = Of(Echo(), told_);
  auto b = Of(Echo(), second);
  auto c = Of(*ServiceKey::Parse("demo.Order"), other);
  Run();
  EXPECT_EQ(source_.watches(kAppKey), 1u);
  EXPECT_EQ(source_.watches(kEchoKey), 1u);
  EXPECT_EQ(source_.started(), 3);
  source_.Write(kAppKey, AppRule("timeout: 1"));
  Run();
  EXPECT_EQ(told_.size(), 2u);
  EXPECT_EQ(second.size(), 2u);
  EXPECT_EQ(other.size(), 2u);
  // One who comes late is told what is known.
  std::vector<SetPtr> late;
  auto d = Of(Echo(), late);
  Run();
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(Get(late[0], "timeout"), "1");
  EXPECT_EQ(source_.started(), 3);

  a.reset();
  b.reset();
  Run();
  EXPECT_EQ(source_.watches(kEchoKey), 1u);
  d.reset();
  Run();
  EXPECT_EQ(source_.watches(kEchoKey), 0u);
  EXPECT_EQ(source_.watches(kAppKey), 1u);
  c.reset();
  Run();
  EXPECT_EQ(source_.watches(kAppKey), 0u);
  // And anew.
  auto e = Of(Echo(), late);
  Run();
  EXPECT_EQ(source_.started(), 5);
  EXPECT_EQ(late.size(), 2u);
}

TEST_F(ConfiguratorWatchTest, WithoutApplicationOnlyTheServicesKey) {
  Make("");
  const auto rules = Of(Echo(), told_);
  Run();
  EXPECT_EQ(told_.size(), 1u);
  EXPECT_EQ(source_.started(), 1);
}

TEST_F(ConfiguratorWatchTest, NothingIsToldAfterTheEnd) {
  auto rules = Of(Echo(), told_);
  Run();
  source_.Write(kEchoKey, ServiceRule("timeout: 2"));
  rules.reset();
  Run();
  EXPECT_EQ(told_.size(), 1u);
}

TEST_F(ConfiguratorWatchTest, EndedBeforeItBegan) {
  Of(Echo(), told_).reset();
  Run();
  EXPECT_TRUE(told_.empty());
  EXPECT_EQ(source_.watches(kEchoKey), 0u);
}

TEST_F(ConfiguratorWatchTest, HandlesMayOutliveTheWatch) {
  auto rules = Of(Echo(), told_);
  Run();
  source_.Write(kEchoKey, ServiceRule("timeout: 2"));
  watch_.reset();
  EXPECT_EQ(source_.watches(kEchoKey), 0u);
  rules->SetRegistryUrls({*Url::Parse("override://0.0.0.0/demo.Echo?timeout=5")});
  Run();
  rules.reset();
  Run();
  EXPECT_EQ(told_.size(), 1u);
}

TEST_F(ConfiguratorWatchTest, TheCallbackMayEndItsServiceAndTheWatch) {
  std::unique_ptr<ServiceConfigurators> rules;
  int calls = 0;
  rules = watch_->Of(Echo(), [&](const SetPtr&) {
    ++calls;
    rules.reset();
  });
  Run();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(source_.watches(kEchoKey), 0u);
  rules = watch_->Of(Echo(), [&](const SetPtr&) {
    ++calls;
    watch_.reset();
  });
  Run();
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(source_.watches(kEchoKey), 0u);
}

TEST_F(ConfiguratorWatchTest, ACallbackMayAskForAnotherService) {
  std::unique_ptr<ServiceConfigurators> inner;
  const auto rules = watch_->Of(Echo(), [&](const SetPtr&) {
    if (inner == nullptr) inner = Of(*ServiceKey::Parse("demo.Order"), told_);
  });
  Run();
  EXPECT_EQ(told_.size(), 1u);
}

// For ThreadSanitizer: all of it from many threads, on a thread of its own.
TEST(ConfiguratorWatchThreadsTest, FromManyThreads) {
  const std::shared_ptr<Executor> executor = NewSerialExecutor("rules");
  FakeConfigSource source(*executor);
  ConfiguratorWatch watch(*executor, source, "web");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const auto rules = watch.Of(Echo(), [](const SetPtr& set) { EXPECT_NE(set, nullptr); });
        source.Write(kEchoKey, ServiceRule(absl::StrCat("timeout: ", t * 100 + i)));
        rules->SetRegistryUrls({*Url::Parse(
            absl::StrCat("override://0.0.0.0/demo.Echo?group=shop&version=1.0.0&timeout=", i))});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace signpost

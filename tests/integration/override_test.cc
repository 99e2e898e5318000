// Override rules of a real ZooKeeper on both sides, at both levels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "signpost/client/client.h"
#include "signpost/common/url.h"
#include "tests/integration/dual_mode.h"
#include "tests/support/call_load.h"

namespace signpost {
namespace {

// TC-35.
TEST_F(DualModeTest, OverridesOfTheRegistryChangeTheRegisteredUrlAndAreTakenBack) {
  auto provider = Provide("shop", "tri://127.0.0.1:24021/a.A?methods=x&weight=100", Registry());
  Folder providers(*provider, "/dubbo/a.A/providers");
  Folder instances(*provider, "/services/shop");
  ASSERT_TRUE(providers.BecomesOne({"weight=100"}, {"timeout="}));
  ASSERT_TRUE(Poll(kBound, [&] { return instances.names().size() == 1; }));
  const std::set<std::string> original = providers.names();
  const std::string revision = provider->provider().registered().revision;
  auto by_interface = Open("web", Registry("&mode=interface"));
  auto by_application = Open("web", Registry("&mode=application"));
  std::vector<std::shared_ptr<Directory>> directories;
  for (Client* client : {by_interface.get(), by_application.get()}) {
    directories.push_back(*client->consumer().Refer("a.A"));
    ASSERT_TRUE(directories.back()->WaitReady(kBound).ok());
  }
  Caller caller(*directories[0]);
  Caller other(*directories[1]);
  const auto sees = [&](int weight, const std::string& timeout) {
    return Poll(kBound, [&] {
      for (const auto& directory : directories) {
        const auto list = directory->addresses();
        if (list->size() != 1 || list->at(0)->weight != weight ||
            list->at(0)->Get("timeout") != timeout) {
          return false;
        }
      }
      return true;
    });
  };
  const auto node_of = [](const std::string& parameter) {
    const auto url = Url::Parse(
        "override://0.0.0.0/a.A?category=configurators&configVersion=v3.0&dynamic=false"
        "&enabled=true&side=provider&" +
        parameter);
    return absl::StrCat("/dubbo/a.A/configurators/", url->ToEncodedString());
  };
  Write(*provider, node_of("weight=200"), "");
  Write(*provider, node_of("timeout=500"), "");
  EXPECT_TRUE(providers.BecomesOne({"weight=200", "timeout=500"}, {}));
  EXPECT_TRUE(sees(200, "500"));
  Delete(*provider, node_of("timeout=500"));
  EXPECT_TRUE(providers.BecomesOne({"weight=200"}, {"timeout="}));
  EXPECT_TRUE(sees(200, ""));
  Delete(*provider, node_of("weight=200"));
  EXPECT_TRUE(Poll(kBound, [&] { return providers.names() == original; }));
  EXPECT_TRUE(sees(100, ""));
  EXPECT_TRUE(Poll(kBound, [&] { return provider->provider().registered().revision == revision; }));
  caller.Stop();
  other.Stop();
  EXPECT_EQ(caller.failures(), 0);
  EXPECT_EQ(other.failures(), 0);
  EXPECT_FALSE(providers.was_empty());
  EXPECT_FALSE(instances.was_empty());
}

// TC-36. 200 real calls a second over one connection to each address for as long as it is listed.
TEST_F(DualModeTest, RulesUnderLoadFailNoCallAndCloseNoConnection) {
  constexpr char kRule[] = "/dubbo/config/dubbo/a.B::.configurators";
  constexpr int kRounds = 20;
  const auto rule = [](const std::string& side, const std::string& parameter) {
    return absl::StrCat(
        "configVersion: v3.0\nscope: service\nkey: a.B\nenabled: true\nconfigs:\n  - side: ", side,
        "\n    parameters:\n      ", parameter, "\n");
  };
  AnsweringServer server;
  const std::string instance = "/services/shop/" + server.address();
  auto provider = Provide(
      "shop", absl::StrCat("tri://", server.address(), "/a.B?methods=x&weight=100"), Registry());
  Folder providers(*provider, "/dubbo/a.B/providers");
  Folder instances(*provider, "/services/shop", TreeContent::kValues);
  ASSERT_TRUE(providers.BecomesOne({"weight=100"}, {}));
  ASSERT_TRUE(Poll(kBound, [&] { return !instances.names().empty(); }));
  const std::string name = *providers.names().begin();
  const int64_t node_version = Node(*provider, "/dubbo/a.B/providers/" + name).version;
  const int64_t instance_version = Node(*provider, instance).version;
  auto consumer = Open("web", Registry());
  auto directory = *consumer->consumer().Refer("a.B");
  ASSERT_TRUE(directory->WaitReady(kBound).ok());
  // Whoever keeps a connection for each listed address closes none.
  std::atomic<int> without{0};
  const Subscription watch = directory->OnChange([&](const ServiceAddresses& told) {
    if (told.list == nullptr || told.list->size() != 1 || told.list->at(0)->port != server.port() ||
        !told.delta.removed.empty()) {
      ++without;
    }
  });
  CallLoad load(directory, 200);
  const auto timeout_becomes = [&](const std::string& value) {
    return Poll(kBound, [&] {
      const auto list = directory->addresses();
      return list->size() == 1 && list->at(0)->Get("timeout") == value;
    });
  };
  const int changes = providers.changes();
  const int instance_changes = instances.changes();
  for (int i = 0; i < kRounds; ++i) {
    // (a) for consumers
    Write(*provider, kRule, rule("consumer", absl::StrCat("timeout: ", 1000 + i)));
    EXPECT_TRUE(timeout_becomes(absl::StrCat(1000 + i)));
    Delete(*provider, kRule);
    EXPECT_TRUE(timeout_becomes(""));
  }
  for (int i = 0; i < kRounds; ++i) {
    // (b) what is there already. That it arrived shows by the second rule, which it ends.
    Write(*provider, kRule, rule("consumer", "timeout: 1"));
    EXPECT_TRUE(timeout_becomes("1"));
    Write(*provider, kRule, rule("provider", "weight: 100"));
    EXPECT_TRUE(timeout_becomes(""));
    Delete(*provider, kRule);
  }
  // That the last removal arrived shows by the next rule.
  Write(*provider, kRule, rule("consumer", "timeout: 2"));
  EXPECT_TRUE(timeout_becomes("2"));
  Delete(*provider, kRule);
  EXPECT_TRUE(timeout_becomes(""));
  EXPECT_EQ(Node(*provider, "/dubbo/a.B/providers/" + name).version, node_version);
  EXPECT_EQ(Node(*provider, instance).version, instance_version);
  EXPECT_EQ(providers.changes(), changes);
  // (c) another weight: the new name comes, the old one goes.
  for (int i = 0; i < kRounds; ++i) {
    Write(*provider, kRule, rule("provider", "weight: 300"));
    EXPECT_TRUE(providers.BecomesOne({"weight=300"}, {}));
    Delete(*provider, kRule);
    EXPECT_TRUE(providers.BecomesOne({"weight=100"}, {}));
  }
  EXPECT_TRUE(Poll(kBound, [&] {
    const auto list = directory->addresses();
    return list->size() == 1 && list->at(0)->Get("weight") == "100";
  }));
  EXPECT_LE(instances.changes() - instance_changes, 2 * kRounds);
  EXPECT_FALSE(instances.was_empty());
  EXPECT_LE(providers.changes() - changes, 2 * 2 * kRounds);
  ASSERT_TRUE(load.AwaitCalls(20));
  load.Stop();
  EXPECT_EQ(load.failed(), 0) << load.first_failure();
  EXPECT_GT(load.calls(), 100);
  EXPECT_EQ(without, 0);
  EXPECT_FALSE(providers.was_empty());
}

}  // namespace
}  // namespace signpost

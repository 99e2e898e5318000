#include "signpost/client/registry_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace signpost {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr ServiceLevels kApplication{true, false};
constexpr ServiceLevels kInterface{false, true};
constexpr ServiceLevels kBoth{true, true};

RegistryPlan One(const std::string& text) {
  auto plans = PlanRegistries(text);
  EXPECT_TRUE(plans.ok()) << text << ": " << plans.status();
  if (!plans.ok() || plans->size() != 1) return RegistryPlan();
  return plans->front();
}

TEST(RegistryPlanTest, TheTableOfModes) {
  const struct {
    const char* url;
    ServiceLevels provider;
    ServiceLevels consumer;
  } kTable[] = {
      {"zookeeper://a:2181", kBoth, kBoth},
      {"zookeeper://a:2181?registry-type=service", kApplication, kApplication},
      {"zookeeper://a:2181?registry-type=service&register-mode=all", kBoth, kApplication},
      {"zookeeper://a:2181?registry-type=service&mode=application", kApplication, kApplication},
      {"zookeeper://a:2181?registry-type=interface", kInterface, kInterface},
      {"zookeeper://a:2181?registry-type=interface&register-mode=all", kBoth, kInterface},
      {"zookeeper://a:2181?registry-type=all", kBoth, kBoth},
      {"zookeeper://a:2181?registry-type=", kBoth, kBoth},
      {"embedded:///tmp/x?registry-type=all", kBoth, kBoth},
      {"service-discovery-registry://a:2181?registry=zookeeper&registry-type=service", kApplication,
       kApplication},
      {"zookeeper://a:2181?mode=application", kApplication, kApplication},
      {"zookeeper://a:2181?mode=application&register-mode=interface", kInterface, kApplication},
      {"service-discovery-registry://a:2181?registry=zookeeper", kApplication, kApplication},
      {"service-discovery-registry://a:2181?registry=zookeeper&register-mode=all", kBoth,
       kApplication},
      {"zookeeper://a:2181?mode=interface", kInterface, kInterface},
      {"zookeeper://a:2181?mode=interface&register-mode=all", kBoth, kInterface},
      {"zookeeper://a:2181?register-mode=interface", kInterface, kInterface},
      {"zookeeper://a:2181?mode=dual&register-mode=interface", kInterface, kBoth},
      {"zookeeper://a:2181?register-mode=instance", kApplication, kBoth},
      {"zookeeper://a:2181?register-mode=all", kBoth, kBoth},
      {"embedded:///tmp/x", kApplication, kApplication},
      {"memory://", kApplication, kApplication},
      {"signpost://127.0.0.1:2280", kApplication, kApplication},
      {"signpost://127.0.0.1:2280?register-mode=all", kBoth, kApplication},
      {"embedded:///tmp/x?mode=dual", kBoth, kBoth},
  };
  for (const auto& row : kTable) {
    const RegistryPlan plan = One(row.url);
    EXPECT_TRUE(plan.provider == row.provider) << row.url;
    EXPECT_TRUE(plan.consumer == row.consumer) << row.url;
    for (const char* key : {"mode", "register-mode", "registry-type"}) {
      EXPECT_FALSE(plan.centre.Has(key)) << row.url;
    }
  }
}

TEST(RegistryPlanTest, TheSchemeOfServiceDiscoveryRegistryIsTheParameter) {
  const Url url = One("service-discovery-registry://a:2181?registry=zookeeper&group=g").centre;
  EXPECT_EQ(url.ToString(), "zookeeper://a:2181?group=g");
}

TEST(RegistryPlanTest, WhatOneCentreIsAskedForTwiceIsOnePlan) {
  EXPECT_TRUE(One("zookeeper://a:2181?register-mode=interface|zookeeper://a:2181?mode=application")
                  .provider == kBoth);
  const RegistryPlan plan =
      One("zookeeper://a:2181?timestamp=1;zookeeper://a:2181?mode=application&timestamp=2");
  EXPECT_TRUE(plan.provider == kBoth);
  EXPECT_EQ(plan.centre.Get("timestamp"), "1");
  // In any order.
  EXPECT_TRUE(One("zookeeper://a:2181,b:2181|zookeeper://b:2181?backup=a:2181").consumer == kBoth);
}

TEST(RegistryPlanTest, OtherAddressesGroupsAndUsersAreOtherCentres) {
  const std::string first = "zookeeper://192.0.2.1:2181";
  for (const char* other :
       {"zookeeper://192.0.2.1:2181?backup=192.0.2.2:2181", "zookeeper://192.0.2.1:2181?group=g2",
        "zookeeper://u:p@192.0.2.1:2181", "zookeeper://192.0.2.1:2181/root",
        "zookeeper://192.0.2.1:2181?namespace=n", "zookeeper://192.0.2.1:2181?rootPath=/r",
        "signpost://192.0.2.1:2181"}) {
    auto plans = PlanRegistries(absl::StrCat(first, "|", other));
    ASSERT_TRUE(plans.ok()) << plans.status();
    EXPECT_EQ(plans->size(), 2u) << other;
  }
}

TEST(RegistryPlanTest, ASemicolonBeforeAParameterSeparatesParameters) {
  const Url url = One("zookeeper://a:2181?group=g;session=5000").centre;
  EXPECT_EQ(url.Get("group"), "g");
  EXPECT_EQ(url.Get("session"), "5000");
}

TEST(RegistryPlanTest, ASeparatorWithoutARegistryIsAnError) {
  const struct {
    const char* text;
    const char* where;
  } kTable[] = {{"memory://pw-1;", "registry 2: empty registry"},
                {"memory://pw-1| ", "registry 2: empty registry"},
                {"memory://pw-1?group=g;", "registry 2: empty registry"},
                {"memory://pw-1;;memory://b", "registry 2: empty registry"},
                {"memory://pw-1| |memory://b", "registry 2: empty registry"},
                {"memory://pw-1;memory://b|;|", "registry 3: empty registry"},
                {";memory://pw-1", "registry 1: empty registry"},
                {"|", "registry 1: empty registry"}};
  for (const auto& row : kTable) {
    const auto plans = PlanRegistries(row.text);
    EXPECT_TRUE(absl::IsInvalidArgument(plans.status())) << row.text << ": " << plans.status();
    EXPECT_THAT(std::string(plans.status().message()), HasSubstr(row.where)) << row.text;
    EXPECT_THAT(std::string(plans.status().message()), Not(HasSubstr("pw-1")));
  }
  // Between parameters it separates those.
  EXPECT_EQ(One("zookeeper://a:2181?group=g;;session=5000").centre.Get("session"), "5000");
}

TEST(RegistryPlanTest, AServerThatIsAUrlIsAnError) {
  for (const char* text :
       {"zookeeper://a:1,zookeeper://b:2", "zookeeper://a:1, zookeeper://b:2?group=g",
        "zookeeper://u:pw-1@a:1,b:2,zookeeper://u:pw-1@c:3", "zookeeper://a:1,memory://b",
        "zookeeper://a:1?backup=b:1,zookeeper://b:2",
        "zookeeper://ok:1;zookeeper://a:1,zookeeper://b:2"}) {
    const auto plans = PlanRegistries(text);
    EXPECT_TRUE(absl::IsInvalidArgument(plans.status())) << text << ": " << plans.status();
    EXPECT_THAT(std::string(plans.status().message()),
                HasSubstr("(zookeeper): a server that has `://`; several registries are separated "
                          "by `;` or `|`"));
    EXPECT_THAT(std::string(plans.status().message()), Not(HasSubstr("pw-1")));
  }
  EXPECT_THAT(
      std::string(PlanRegistries("memory://x|zookeeper://a,zookeeper://b").status().message()),
      HasSubstr("registry 2 (zookeeper)"));
  EXPECT_EQ(One("zookeeper://a:1,b:2?note=http://x").centre.Get("backup"), "b:2");
}

TEST(RegistryPlanTest, APathWithAnAtSignIsAPath) {
  EXPECT_EQ(One("hosts:///home/ann@corp/hosts").centre.path(), "home/ann@corp/hosts");
}

TEST(RegistryPlanTest, FaultsAreNamedWithoutSecrets) {
  const struct {
    const char* url;
    const char* why;
  } kTable[] = {
      {"zookeeper://u:pw-1@a:2181?mode=x", "mode=x; known: application, interface, dual"},
      {"zookeeper://u:pw-1@a:2181?register-mode=x", "register-mode=x; known: all, instance"},
      {"zookeeper://u:pw-1@a:2181?registry-type=service&mode=interface", "registry-type=service"},
      {"zookeeper://u:pw-1@a:2181?registry-type=all&mode=interface", "registry-type=all"},
      {"zookeeper://u:pw-1@a:2181?registry-type=servcie",
       "registry-type=servcie; known: service, interface, all"},
      {"zookeeper://u:pw-1@a:2181?registry-type=Service", "registry-type=Service; known: service"},
      {"service-discovery-registry://u:pw-1@a?registry=zookeeper&registry-type=servcie",
       "registry-type=servcie; known"},
      {"service-discovery-registry://u:pw-1@a?registry=zookeeper&registry-type=all",
       "registry-type=all stands against"},
      {"service-discovery-registry://u:pw-1@a:2181", "registry=<scheme> is missing"},
      {"service-discovery-registry://u:pw-1@a:2181?registry=pw-1:x", "no scheme"},
      {"service-discovery-registry://u:pw-1@a?registry=zookeeper&mode=interface", "stands against"},
      {"u:pw-1@a:2181", "no `scheme://`"},
      {"zookeeper:/u:pw-1@a:2181", "`//` is missing"},
      {"zookeeper:/u:pw-1#ss@a:2181", "`//` is missing"},
      {"zookeeper://a:2181|zookeeper://u:pw-1@b:2181?mode=y", "mode=y"},
      {"", "registry URL"},
  };
  for (const auto& row : kTable) {
    const auto plans = PlanRegistries(row.url);
    ASSERT_TRUE(absl::IsInvalidArgument(plans.status())) << row.url << ": " << plans.status();
    EXPECT_THAT(std::string(plans.status().message()), HasSubstr(row.why));
    EXPECT_THAT(std::string(plans.status().message()), Not(HasSubstr("pw-1")));
  }
}

}  // namespace
}  // namespace signpost

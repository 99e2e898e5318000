#include "signpost/registry/interface/url_match.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace signpost::interface_internal {
namespace {

bool Match(const std::string& consumer, const std::string& provider) {
  return MatchesUrl(*Url::Parse("consumer://h/a.A?" + consumer),
                    *Url::Parse("tri://h:1/a.A?" + provider));
}

TEST(UrlMatchTest, InterfacesAreEqualOrAny) {
  EXPECT_TRUE(Match("", ""));
  EXPECT_FALSE(Match("interface=a.B", ""));
  EXPECT_TRUE(Match("interface=*", ""));
  EXPECT_TRUE(Match("interface=a.B", "interface=*"));
  EXPECT_FALSE(Match("", "interface=a.B"));
}

TEST(UrlMatchTest, CategoriesAreSearchedAsText) {
  EXPECT_TRUE(Match("category=providers,routers", ""));
  EXPECT_FALSE(Match("category=routers", ""));
  EXPECT_TRUE(Match("category=routers", "category=routers"));
  EXPECT_FALSE(Match("", "category=configurators"));
  EXPECT_TRUE(Match("category=*", "category=configurators"));
  EXPECT_FALSE(Match("category=-configurators", "category=configurators"));
  EXPECT_TRUE(Match("category=-configurators", "category=routers"));
  // As Java does: a part of another name is enough.
  EXPECT_TRUE(Match("category=dynamicconfigurators", "category=configurators"));
}

TEST(UrlMatchTest, DisabledProvidersAreForThoseWhoAsk) {
  EXPECT_FALSE(Match("", "enabled=false"));
  EXPECT_FALSE(Match("", "enabled=no"));
  EXPECT_TRUE(Match("", "enabled=TRUE"));
  EXPECT_TRUE(Match("", "enabled="));
  EXPECT_TRUE(Match("enabled=*", "enabled=false"));
}

TEST(UrlMatchTest, GroupVersionClassifier) {
  EXPECT_TRUE(Match("group=*", "group=g"));
  EXPECT_TRUE(Match("group=f,g", "group=g"));
  EXPECT_FALSE(Match("group=f,g", "group=h"));
  EXPECT_FALSE(Match("group=g", ""));
  EXPECT_FALSE(Match("", "group=g"));
  EXPECT_TRUE(Match("group=", ""));
  EXPECT_TRUE(Match("version=*", "version=1"));
  EXPECT_TRUE(Match("version=1", "version=1"));
  EXPECT_FALSE(Match("version=1,2", "version=1"));
  EXPECT_FALSE(Match("", "version=0.0.0"));
  EXPECT_TRUE(Match("", "classifier=c"));
  EXPECT_FALSE(Match("classifier=d", "classifier=c"));
  EXPECT_TRUE(Match("classifier=c", "classifier=c"));
}

TEST(UrlMatchTest, ProtocolsAreChosenInTheConsumersOrder) {
  const auto choose = [](const std::string& wanted, const std::string& parameters) {
    return ChooseProtocol(wanted, *Url::Parse("dubbo://h:1/a.A?" + parameters));
  };
  EXPECT_EQ(choose("", ""), "dubbo");
  EXPECT_EQ(choose("*", ""), "dubbo");
  EXPECT_EQ(choose("tri, dubbo", ""), "dubbo");
  EXPECT_EQ(choose("tri", ""), "");
  EXPECT_EQ(choose("tri,dubbo", "ext.protocol=rest,tri"), "tri");
  EXPECT_EQ(choose("dubbo,tri", "ext.protocol=rest,tri"), "dubbo");
  EXPECT_EQ(choose("", "ext.protocol=tri&preferred.protocol=tri"), "tri");
  EXPECT_EQ(choose("dubbo", "ext.protocol=tri&preferred.protocol=tri"), "dubbo");
  EXPECT_EQ(choose("", "preferred.protocol=no/scheme"), "dubbo");
  EXPECT_EQ(choose(",", ""), "");
}

TEST(UrlMatchTest, CategoriesOfAConsumer) {
  const auto categories = [](const std::string& parameters) {
    return CategoriesOf(*Url::Parse("consumer://h/a.A?" + parameters));
  };
  using List = std::vector<std::string>;
  EXPECT_EQ(categories(""), List{"providers"});
  EXPECT_EQ(categories("category=*"), (List{"providers", "consumers", "routers", "configurators"}));
  EXPECT_EQ(categories("category=configurators, routers,configurators"),
            (List{"configurators", "routers"}));
  EXPECT_EQ(categories("category=../x,-routers,.,a b,,*"), List{});
}

}  // namespace
}  // namespace signpost::interface_internal

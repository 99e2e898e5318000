#include "signpost/common/service_key.h"

#include <gtest/gtest.h>

namespace signpost {
namespace {

ServiceKey Key(absl::string_view text) {
  auto key = ServiceKey::Parse(text);
  EXPECT_TRUE(key.ok()) << key.status();
  return key.ok() ? *key : ServiceKey();
}

TEST(ServiceKeyTest, ParsesAndPrints) {
  const ServiceKey key = Key("g1/org.example.Echo:1.2.3");
  EXPECT_EQ(key.group, "g1");
  EXPECT_EQ(key.interface_name, "org.example.Echo");
  EXPECT_EQ(key.version, "1.2.3");
  EXPECT_EQ(key.ToString(), "g1/org.example.Echo:1.2.3");
  EXPECT_EQ(key.ToColonString(), "org.example.Echo:1.2.3:g1");
  EXPECT_EQ(key.ToDisplayString(), "org.example.Echo:1.2.3");
  EXPECT_EQ(MatchKey(key, "tri"), "g1/org.example.Echo:1.2.3:tri");
  EXPECT_EQ(MatchKey(key, ""), "g1/org.example.Echo:1.2.3");
  EXPECT_EQ(Key("org.example.Echo").ToColonString(), "org.example.Echo::");
  EXPECT_EQ(Key("org.example.Echo:0.0.0").version, "0.0.0");
}

TEST(ServiceKeyTest, Malformed) {
  for (absl::string_view text : {"", "g/", ":1", "g/:1", "a/b/c", "a b", "a,b", "a:1:2", "a\n"}) {
    EXPECT_EQ(ServiceKey::Parse(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(ServiceKeyTest, OfUrl) {
  auto url = Url::Parse("dubbo://192.0.2.1:1/path?interface=org.example.Echo&group=g&version=2");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(ServiceKey::Of(*url), (ServiceKey{"org.example.Echo", "g", "2"}));
}

TEST(ServiceKeyTest, Matching) {
  EXPECT_TRUE(Matches(Key("a"), Key("a")));
  EXPECT_FALSE(Matches(Key("a"), Key("b")));
  EXPECT_FALSE(Matches(Key("a"), Key("a:1")));
  EXPECT_FALSE(Matches(Key("a:1"), Key("a")));
  EXPECT_TRUE(Matches(Key("a:*"), Key("a:1")));
  EXPECT_TRUE(Matches(Key("*/a:*"), Key("g/a")));
  EXPECT_TRUE(Matches(ServiceKey{"a", "", "1,2"}, Key("a:2")));
  EXPECT_FALSE(Matches(ServiceKey{"a", "", "1,2"}, Key("a")));
  EXPECT_TRUE(Matches(ServiceKey{"a", "", "1,"}, Key("a")));
  EXPECT_TRUE(MatchesProtocol("", "tri"));
  EXPECT_TRUE(MatchesProtocol("*", "tri"));
  EXPECT_TRUE(MatchesProtocol("dubbo,tri", "tri"));
  EXPECT_FALSE(MatchesProtocol("dubbo", "tri"));
}

}  // namespace
}  // namespace signpost

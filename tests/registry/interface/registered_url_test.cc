#include "signpost/registry/interface/registered_url.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace signpost::interface_internal {
namespace {

std::string Written(const std::string& url, const InterfaceRegistryOptions& options = {}) {
  return RegisteredUrl(*Url::Parse(url), options).ToFullString();
}

InterfaceRegistryOptions Simplified(std::vector<std::string> extra = {}) {
  InterfaceRegistryOptions options;
  options.simplified = true;
  options.extra_keys = std::move(extra);
  return options;
}

TEST(RegisteredUrlTest, WhatIsOfTheProcessAloneIsLeftOut) {
  EXPECT_EQ(
      Written("tri://192.0.2.1:1/a.A?side=provider&timestamp=17&weight=5&monitor=m&bind.ip=b&"
              "bind.port=1&qos.enable=1&qos.host=1&qos.port=1&qos.accept.foreign.ip=1&"
              "validation=1&interfaces=1&register-mode=1&pid=7&file-cache=1&"
              "executor-management-mode=1&background=1&anyhost=true&threadname=1&threadpool=1&"
              "alive=1&queues=1&corethreads=1&threads=1&.hidden=1&triple.x=1&triplet=1"),
      "tri://192.0.2.1:1/a.A?side=provider&timestamp=17&triplet=1&weight=5");
}

TEST(RegisteredUrlTest, SimplifiedKeepsWhatConsumersNeed) {
  const std::string url =
      "dubbo://192.0.2.1:1/a.A?application=shop&interface=a.A&methods=get,set&get.timeout=3&"
      "settle=1&other=2&timestamp=17&side=provider&weight=5&mine=x&token=t&group=g&version=1";
  EXPECT_EQ(Written(url, Simplified({"mine"})),
            "dubbo://192.0.2.1:1/a.A?application=shop&get.timeout=3&group=g&mine=x&settle=1&"
            "side=provider&token=t&version=1&weight=5");
  // A rule that takes the provider out must not be lost on the way.
  EXPECT_EQ(Written("tri://192.0.2.1:1/a.A?disabled=true&enabled=false&x=1", Simplified()),
            "tri://192.0.2.1:1/a.A?disabled=true&enabled=false");
  // The interface stays where the path does not say it.
  EXPECT_EQ(Written("rest://h:1/api?interface=a.A&dubbo=2.0.2", Simplified()),
            "rest://h:1/api?dubbo=2.0.2&interface=a.A");
}

TEST(RegisteredUrlTest, AConsumerHasNoPortAndIsNotChecked) {
  const std::string url =
      "consumer://192.0.2.9:77/x/a.A?interface=a.A&category=providers&pid=6&"
      "application=web&qos.port=1";
  EXPECT_EQ(Written(url),
            "consumer://192.0.2.9/a.A?application=web&category=consumers&check=false&"
            "interface=a.A&pid=6&qos.port=1");
  EXPECT_EQ(Written(url, Simplified()),
            "consumer://192.0.2.9/a.A?application=web&category=consumers&check=false");
}

TEST(RegisteredUrlTest, RulesAreWrittenAsTheyAre) {
  const std::string url =
      "override://0.0.0.0/a.A?category=configurators&dynamic=false&pid=1&threads=200";
  EXPECT_EQ(Written(url, Simplified()), url);
}

// The worked example of the format.
TEST(RegisteredUrlTest, NodesAreNamedByTheEncodedUrl) {
  const Url url = *Url::Parse(
      "dubbo://10.0.0.1:20880/org.example.Greeter?application=demo&dubbo=2.0.2&"
      "interface=org.example.Greeter&methods=greet,sayHi&side=provider&"
      "timestamp=1700000000000&version=1.0.0&pid=33");
  const auto node = NodeOf("/dubbo", url, {});
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_TRUE(node->session_bound);
  EXPECT_EQ(node->folder, "/dubbo/org.example.Greeter/providers");
  EXPECT_EQ(node->path,
            "/dubbo/org.example.Greeter/providers/dubbo%3A%2F%2F10.0.0.1%3A20880%2F"
            "org.example.Greeter%3Fapplication%3Ddemo%26dubbo%3D2.0.2%26interface%3D"
            "org.example.Greeter%26methods%3Dgreet%2CsayHi%26side%3Dprovider%26"
            "timestamp%3D1700000000000%26version%3D1.0.0");
  EXPECT_EQ(CategoryPath("/g", "a.Outer$Inner", kRouters), "/g/a.Outer%24Inner/routers");
  EXPECT_EQ(NodeOf("/g", *Url::Parse("consumer://h/a.A"), {})->folder, "/g/a.A/consumers");
  EXPECT_FALSE(NodeOf("/dubbo", url.With("dynamic", "false"), {})->session_bound);
  EXPECT_TRUE(NodeOf("/dubbo", url.With("dynamic", ""), {})->session_bound);
}

TEST(RegisteredUrlTest, WhatHasNoPlaceIsInvalid) {
  for (const char* url :
       {"tri://h:1", "tri://h:1/*", "h:1/a.A", "tri:///a.A", "tri://h:1/a.A?category=a,b",
        "tri://h:1/a.A?category=../x", "tri://h:1/a.A?category=..", "tri://h:1/a.A?category=*",
        "tri://h:1/a.A?category=a/b"}) {
    const auto parsed = Url::Parse(url);
    if (!parsed.ok()) continue;
    const auto node = NodeOf("/dubbo", *parsed, {});
    EXPECT_TRUE(absl::IsInvalidArgument(node.status())) << url << ": " << node.status();
  }
  const auto node = NodeOf("/dubbo", *Url::Parse("tri://u:pw@h:1?token=sesame"), {});
  EXPECT_FALSE(absl::StrContains(node.status().message(), "pw")) << node.status();
  EXPECT_FALSE(absl::StrContains(node.status().message(), "sesame")) << node.status();
}

TEST(RegisteredUrlTest, WhoAsksNotToBeRegisteredIsNot) {
  InterfaceRegistryOptions some;
  some.accepts = AcceptedProtocols::Parse("dubbo,TRI");
  const auto should = [](const char* url, const InterfaceRegistryOptions& options = {}) {
    return ShouldRegister(*Url::Parse(url), options);
  };
  EXPECT_TRUE(should("tri://h:1/a.A"));
  EXPECT_TRUE(should("tri://h:1/a.A?register=true&isExtra=false"));
  EXPECT_FALSE(should("tri://h:1/a.A?register=false"));
  EXPECT_FALSE(should("tri://h:1/a.A?isExtra=true"));
  EXPECT_TRUE(should("tri://h:1/a.A", some));
  EXPECT_FALSE(should("rest://h:1/a.A", some));
}

TEST(RegisteredUrlTest, AcceptsIsAListOfAllowedOrOfDeniedProtocols) {
  const auto accepts = [](const char* list, const char* protocol) {
    InterfaceRegistryOptions options;
    options.accepts = AcceptedProtocols::Parse(list);
    return ShouldRegister(*Url::Parse(std::string(protocol) + "://h:1/a.A"), options);
  };
  for (const char* denied : {"-rest", " -rest , -http,", "-REST"}) {
    EXPECT_FALSE(accepts(denied, "rest")) << denied;
    EXPECT_TRUE(accepts(denied, "tri")) << denied;
  }
  // What is allowed counts alone.
  EXPECT_TRUE(accepts("tri,-tri", "tri"));
  EXPECT_FALSE(accepts("tri,-rest", "dubbo"));
  EXPECT_TRUE(accepts(" , ", "rest"));
}

TEST(RegisteredUrlTest, NamesThatJavaCutsAreFound) {
  const auto misread = [](const std::string& parameters) {
    return MisreadParameters(*Url::Parse("tri://h:1/a.A?" + parameters));
  };
  EXPECT_EQ(misread("timestamp=1&side=provider"), std::vector<std::string>{});
  EXPECT_EQ(misread("foo.pid=1&last.timestamp=1&timestamp=1"),
            (std::vector<std::string>{"foo.pid", "last.timestamp"}));
  // Java finds the right one first.
  EXPECT_EQ(misread("xtimestamp=1&timestamp=1"), std::vector<std::string>{});
  EXPECT_EQ(misread("xtimestamp=1"), std::vector<std::string>{"xtimestamp"});
}

TEST(RegisteredUrlTest, NoSecretOfANodesNameIsShown) {
  const auto node = NodeOf("/dubbo", *Url::Parse("tri://h:1/a.A?side=provider&token=sesame"), {});
  ASSERT_TRUE(node.ok());
  const std::string hidden =
      HideNodeName(absl::StrCat("zookeeper ", node->path, ": no, ", node->path, "!"), *node);
  EXPECT_EQ(hidden,
            "zookeeper /dubbo/a.A/providers/tri://h:1/a.A?side=provider&token=***: no, "
            "/dubbo/a.A/providers/tri://h:1/a.A?side=provider&token=***!");
  // A store may show the beginning alone.
  const std::string cut = node->path.substr(0, node->path.size() - 2);
  EXPECT_FALSE(absl::StrContains(HideNodeName(cut + "...: bad", *node), "sesa"));
  EXPECT_EQ(HideNodeName("/dubbo/a.A/providers/other: /dubbo", *node),
            "/dubbo/a.A/providers/other: /dubbo");

  for (const char* name : {"tri%3A%2F%2Fuser%3Asesame%40h%3A1%2Fa.A%3Fx%3D%zz",
                           "tri%3A%2F%2Fh%2Fa.A%3Fside%3Dprovider%26password%3Dsesame%26x%3D%zz",
                           "tri%253A%252F%252Fh%253Ftoken%253Dsesame", "junk;secretKey=sesame;%",
                           "user:sesame@h%", "tri://u:a=sesame@h/%"}) {
    EXPECT_FALSE(absl::StrContains(ShowNodeName(name), "sesame")) << ShowNodeName(name);
  }
  EXPECT_EQ(ShowNodeName("a%3Fside%3Dprovider%zz"), "a?side=provider%zz");
  EXPECT_LT(ShowNodeName(std::string(1 << 20, 'x')).size(), 600u);
}

}  // namespace
}  // namespace signpost::interface_internal

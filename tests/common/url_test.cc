#include "signpost/common/url.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/common/hostile.h"

namespace signpost {
namespace {

Url Parsed(absl::string_view text) {
  auto url = Url::Parse(text);
  EXPECT_TRUE(url.ok()) << url.status();
  return url.ok() ? *url : Url();
}

// TC-01
TEST(UrlTest, PasswordWithHash) {
  for (absl::string_view text : {"zookeeper://svc:ab%2312@192.0.2.10:2181?group=g1",
                                 "zookeeper://svc:ab#12@192.0.2.10:2181?group=g1"}) {
    const Url url = Parsed(text);
    EXPECT_EQ(url.protocol(), "zookeeper");
    EXPECT_EQ(url.username(), "svc");
    EXPECT_EQ(url.password(), "ab#12");
    EXPECT_EQ(url.host(), "192.0.2.10");
    EXPECT_EQ(url.port(), 2181);
    EXPECT_EQ(url.Get("group"), "g1");
    EXPECT_EQ(Parsed(url.ToFullString()), url);
  }
  EXPECT_EQ(Parsed("dubbo://192.0.2.1:1/a#b?c=d").path(), "a");
}

// TC-02
TEST(UrlTest, ValuesKeepSeparators) {
  const Url url =
      Parsed("dubbo://192.0.2.1:20880/org.example.Echo?callback=/ping?deep=1&timeout=300");
  EXPECT_EQ(url.path(), "org.example.Echo");
  EXPECT_EQ(url.parameters(), (Url::Parameters{{"callback", "/ping?deep=1"}, {"timeout", "300"}}));
  EXPECT_EQ(Parsed(url.ToFullString()), url);
}

// TC-03
TEST(UrlTest, NodeNames) {
  auto whole = Url::ParseEncoded(
      "override%3A%2F%2F192.0.2.7%2Forg.example.Echo%3Fcategory%3Dconfigurators%26weight%3D0");
  auto half = Url::ParseEncoded(
      "override%3A%2F%2F192.0.2.7%2Forg.example.Echo?category=configurators&weight=0");
  auto lower = Url::ParseEncoded(
      "override%3a%2f%2f192.0.2.7%2forg.example.Echo%3fcategory%3dconfigurators%26weight%3d0");
  ASSERT_TRUE(whole.ok() && half.ok() && lower.ok());
  EXPECT_EQ(*whole, *half);
  EXPECT_EQ(*whole, *lower);
  EXPECT_EQ(whole->protocol(), "override");
  EXPECT_EQ(whole->host(), "192.0.2.7");
  EXPECT_EQ(whole->Get("weight"), "0");
  EXPECT_EQ(*Url::ParseEncoded(whole->ToEncodedString()), *whole);
  EXPECT_FALSE(Url::ParseEncoded("dubbo%3A%2F%2Fx%ZZ").ok());
  EXPECT_FALSE(Url::ParseEncoded("dubbo%3A%2F%2Fx%FF").ok());
}

// TC-04
TEST(UrlTest, Version6Hosts) {
  auto url =
      Url::ParseEncoded(FormEncode("dubbo://[2001:db8::1]:20880/org.example.Echo?side=provider"));
  ASSERT_TRUE(url.ok()) << url.status();
  EXPECT_EQ(UnbracketHost(url->host()), "2001:db8::1");
  EXPECT_EQ(url->port(), 20880);
  EXPECT_EQ(url->address(), "[2001:db8::1]:20880");
}

// TC-53
TEST(UrlTest, SecretsStayInside) {
  const Url nacos =
      Parsed("nacos://192.0.2.10:8848?username=u&password=p4ss&accessKey=ak1&secretKey=sk1");
  const Url zookeeper =
      Parsed("zookeeper://u:p4ss@192.0.2.10:2181?acl-read=digest:u:sk1,world:anyone");
  for (const Url& url : {nacos, zookeeper}) {
    for (absl::string_view secret : {"p4ss", "ak1", "sk1"}) {
      EXPECT_FALSE(absl::StrContains(url.ToString(), secret)) << url.ToString();
    }
    EXPECT_TRUE(absl::StrContains(url.ToString(), "192.0.2.10"));
  }
  EXPECT_TRUE(absl::StrContains(zookeeper.ToFullString(), "u:p4ss@"));
  for (absl::string_view text :
       {"zookeeper://u:p4ss@192.0.2.10:port", "zookeeper://u:p4ss@", "zookeeper://u:p4ss@a b:1",
        "zookeeper://u:p4ss?@192.0.2.10:2181", "zookeeper://u:p4ss/@192.0.2.10:2181",
        "zoo keeper://u:p4ss@192.0.2.10:1", "u:p4ss",
        "zookeeper://u:p4ss@h:1?password=p4ss&\xff"}) {
    auto url = Url::Parse(text);
    ASSERT_FALSE(url.ok()) << text;
    EXPECT_FALSE(absl::StrContains(url.status().message(), "p4ss")) << url.status();
  }
}

// TC-53: a raw `/`, `?` or `#` in a password must not turn its rest into a path or a parameter.
TEST(UrlTest, HalfAPasswordIsNoPath) {
  for (absl::string_view text : {"zookeeper://u:12/p4ss@h:2181", "zookeeper://u:12?p4ss@h:2181",
                                 "zookeeper://u:a:b/p4ss@h:1", "zookeeper://u:12#x/p4ss@h:1",
                                 "u:1/p4ss@h", "zookeeper://u:12/x?p4ss@h:2181"}) {
    auto url = Url::Parse(text);
    ASSERT_FALSE(url.ok()) << text << " " << url->ToFullString();
    EXPECT_FALSE(absl::StrContains(url.status().message(), "p4ss")) << url.status();
  }
  for (absl::string_view text : {"nacos://h:1?password=ab;p4ss&x=1", "nacos://h:1?password=ab&p4ss",
                                 "nacos://h:1?password=ab&p4&ss;x=1"}) {
    const Url url = Parsed(text);
    EXPECT_FALSE(absl::StrContains(url.ToString(), "p4")) << url.ToString();
  }
  EXPECT_EQ(Parsed("nacos://h:1?password=ab;p4ss&x=1").Get("password"), "ab;p4ss");
  EXPECT_EQ(Parsed("nacos://h:1?password=ab;p4ss&x=1").Get("x"), "1");
  // An `@` elsewhere is nobody's business.
  EXPECT_EQ(Parsed("dubbo://h:1/p?owner=a@b").Get("owner"), "a@b");
  EXPECT_EQ(Parsed("zookeeper://u:p@h:1/a@b").path(), "a@b");
}

TEST(UrlTest, ListOfServers) {
  const Url url = Parsed("zookeeper://u:p@h1:2181,h2:2182,[2001:db8::3]:2183?backup=h4&x=1");
  EXPECT_EQ(url.host(), "h1");
  EXPECT_EQ(url.port(), 2181);
  EXPECT_EQ(url.password(), "p");
  EXPECT_EQ(url.addresses(),
            (std::vector<std::string>{"h1:2181", "h2:2182", "[2001:db8::3]:2183", "h4:2181"}));
  EXPECT_EQ(Parsed(url.ToFullString()), url);
  EXPECT_EQ(Parsed("zookeeper://h1:1?backup=2001:db8::2").addresses()[1], "[2001:db8::2]:1");
}

TEST(UrlTest, Parameters) {
  const Url url = Parsed("dubbo://h:1/p?a=1;b=2&c&=x&default.d=4&a=9&n=x&t=TRUE&say.a=7");
  EXPECT_EQ(url.Get("a"), "9");
  EXPECT_EQ(url.Get("b"), "2");
  EXPECT_TRUE(url.Has("c"));
  EXPECT_EQ(url.Get("c", "f"), "f");
  EXPECT_EQ(url.Get("d"), "4");
  EXPECT_EQ(*url.GetInt("b", 0), 2);
  EXPECT_EQ(*url.GetInt("none", 5), 5);
  EXPECT_FALSE(url.GetInt("n", 0).ok());
  EXPECT_TRUE(*url.GetBool("t", false));
  EXPECT_FALSE(url.GetBool("n", false).ok());
  EXPECT_EQ(url.GetMethod("say", "a"), "7");
  EXPECT_EQ(url.GetMethod("hear", "a"), "9");
  EXPECT_EQ(url.With("a", "x").Get("a"), "x");
  EXPECT_FALSE(url.Without("a").Has("a"));
  EXPECT_EQ(url.Get("a"), "9");
}

TEST(UrlTest, PartsAndPrinting) {
  const Url url = Parsed("dubbo://h:1/a/b?z=1&b=2");
  EXPECT_EQ(url.path(), "a/b");
  EXPECT_EQ(url.ToFullString(), "dubbo://h:1/a/b?b=2&z=1");
  EXPECT_EQ(url.ToIdentityString(), "dubbo://h:1/a/b");
  EXPECT_EQ(url.service_interface(), "a/b");
  EXPECT_EQ(url.With("interface", "i").service_interface(), "i");
  EXPECT_EQ(Parsed("h:1").port(), 1);
  EXPECT_EQ(Parsed("file:/x").protocol(), "file");
  EXPECT_EQ(Parsed("zookeeper://a:1?backup=b:2,c").addresses(),
            (std::vector<std::string>{"a:1", "b:2", "c:1"}));
}

TEST(UrlTest, Malformed) {
  for (absl::string_view text : {"", "  ", "://h", "dubbo://h:x", "dubbo://h:65536", "dubbo://:1",
                                 "dubbo://u@", "dubbo://h:-1", "\xff"}) {
    EXPECT_EQ(Url::Parse(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(UrlTest, FormEncoding) {
  EXPECT_EQ(FormEncode("a-z.*_ ~/?é"), "a-z.*_+%7E%2F%3F%C3%A9");
  EXPECT_EQ(FormDecode("a+b%2f%2F"), "a b//");
  EXPECT_EQ(FormDecode("%"), std::nullopt);
  EXPECT_EQ(FormDecode("%4"), std::nullopt);
}

TEST(UrlTest, HostsAndPorts) {
  EXPECT_EQ(SplitHostPort("[::1]:80"), std::make_pair(std::string("::1"), uint16_t{80}));
  EXPECT_EQ(SplitHostPort("h"), std::make_pair(std::string("h"), uint16_t{0}));
  EXPECT_EQ(SplitHostPort("h:"), std::nullopt);
  EXPECT_EQ(SplitHostPort("[::1"), std::nullopt);
  EXPECT_EQ(SplitHostPort("[::1]80"), std::nullopt);
  EXPECT_EQ(JoinHostPort("::1", 80), "[::1]:80");
  EXPECT_EQ(BracketHost("[::1]"), "[::1]");
}

TEST(UrlTest, Utf8) {
  EXPECT_TRUE(IsValidUtf8("é€𝄞"));
  for (absl::string_view text :
       {"\x80", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"}) {
    EXPECT_FALSE(IsValidUtf8(text));
  }
}

TEST(UrlTest, HostileTextIsReadOrRefused) {
  int read = 0;
  ForEachHostileText("zookeeper://u:p@[2001:db8::1]:2181/a/b?c=d&e=f%20", 3000,
                     [&read](const std::string& text) {
                       auto encoded = Url::ParseEncoded(text);
                       auto url = Url::Parse(text);
                       if (!url.ok()) return;
                       ++read;
                       (void)url->ToString();
                       (void)url->addresses();
                     });
  EXPECT_GT(read, 0);
  EXPECT_TRUE(Url::Parse(absl::StrCat("dubbo://h:1/p?", Repeat("a=b&", 250000))).ok());
  EXPECT_FALSE(Url::Parse(Repeat(":", 1 << 20)).ok() &&
               Url::Parse(absl::StrCat("dubbo://h:", Repeat("9", 1 << 20))).ok());
}

}  // namespace
}  // namespace signpost

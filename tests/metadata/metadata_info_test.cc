#include "signpost/metadata/metadata_info.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "signpost/common/json.h"
#include "signpost/common/url.h"

namespace signpost {
namespace {

using StringMap = std::map<std::string, std::string>;

Url ParseUrl(absl::string_view text) {
  const absl::StatusOr<Url> url = Url::Parse(text);
  EXPECT_TRUE(url.ok()) << url.status();
  return url.ok() ? *url : Url();
}

MetadataInfo Sample() {
  MetadataInfo info;
  info.app = "shop";
  info.revision = "r1";
  ServiceInfo service;
  service.name = service.path = "demo.Orders";
  service.group = "g1";
  service.version = "1.2.3";
  service.protocol = "dubbo";
  service.port = 20880;
  service.params = {{"methods", "place"}, {"side", "provider"}};
  info.services[service.match_key()] = service;
  return info;
}

// A document with one service whose members are `members`.
MetadataInfo ParseService(const std::string& members, std::vector<std::string>* warnings) {
  const absl::StatusOr<MetadataInfo> info = MetadataInfoFromJson(
      absl::StrCat(R"({"app":"a","revision":"r","services":{"x":{)", members, "}}}"), warnings);
  EXPECT_TRUE(info.ok()) << info.status();
  return info.ok() ? *info : MetadataInfo();
}

TEST(MetadataInfoTest, PrintsMembersInJavasOrder) {
  EXPECT_EQ(ToJson(Sample()),
            R"({"app":"shop","revision":"r1","services":{"g1/demo.Orders:1.2.3:dubbo":{)"
            R"("group":"g1","name":"demo.Orders","params":{"methods":"place","side":"provider"},)"
            R"("path":"demo.Orders","port":20880,"protocol":"dubbo","version":"1.2.3"}}})");
}

TEST(MetadataInfoTest, AbsentGroupVersionAndPortAreLeftOut) {
  MetadataInfo info;
  info.app = "shop";
  info.revision = "r1";
  ServiceInfo service;
  service.name = service.path = "demo.Orders";
  service.protocol = "tri";
  info.services[service.match_key()] = service;
  EXPECT_EQ(ToJson(info), R"({"app":"shop","revision":"r1","services":{"demo.Orders:tri":{)"
                          R"("name":"demo.Orders","params":{},"path":"demo.Orders",)"
                          R"("protocol":"tri"}}})");
}

TEST(MetadataInfoTest, RoundTrip) {
  const MetadataInfo info = Sample();
  std::vector<std::string> warnings;
  const absl::StatusOr<MetadataInfo> back = MetadataInfoFromJson(ToJson(info), &warnings);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->app, info.app);
  EXPECT_EQ(back->revision, info.revision);
  EXPECT_EQ(back->services, info.services);
  EXPECT_TRUE(warnings.empty());
}

TEST(MetadataInfoTest, ReadsTheLeastThatJavaTakes) {
  const absl::StatusOr<MetadataInfo> info = MetadataInfoFromJson(
      R"({"services":{"x":{"name":"foreign.MinimalJava","path":"foreign.MinimalJava",)"
      R"("protocol":"dubbo","params":{}}}})");
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->app, "");
  EXPECT_EQ(info->revision, "");
  ASSERT_EQ(info->services.size(), 1u);
  // The key of the document is any text; ours is the match key.
  const ServiceInfo& service = info->services.at("foreign.MinimalJava:dubbo");
  EXPECT_EQ(service.port, 0);
  EXPECT_TRUE(service.params.empty());
}

TEST(MetadataInfoTest, ServicesWithoutNameOrProtocolAreDroppedAndNamed) {
  std::vector<std::string> warnings;
  const absl::StatusOr<MetadataInfo> info = MetadataInfoFromJson(
      R"({"services":{"no-name":{"protocol":"dubbo"},"no-protocol":{"name":"I"},)"
      R"("neither":{},"number":1,"good":{"name":"I","protocol":"tri"}}})",
      &warnings);
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->services.size(), 1u);
  EXPECT_EQ(info->services.count("I:tri"), 1u);
  ASSERT_EQ(warnings.size(), 4u);
  EXPECT_EQ(warnings[0], "service no-name is dropped: no name");
  EXPECT_EQ(warnings[1], "service no-protocol is dropped: no protocol");
  EXPECT_EQ(warnings[2], "service neither is dropped: no name, no protocol");
  EXPECT_EQ(warnings[3], "service number is dropped: no object");
}

TEST(MetadataInfoTest, WarningsAreBounded) {
  std::string text = R"({"services":{)";
  for (int i = 0; i < 5000; ++i) text += (i == 0 ? "\"k" : ",\"k") + std::to_string(i) + "\":0";
  std::vector<std::string> warnings;
  const auto info = MetadataInfoFromJson(text + "}}", &warnings);
  ASSERT_TRUE(info.ok()) << info.status();
  ASSERT_EQ(warnings.size(), 11u);
  EXPECT_EQ(warnings.back(), "and 4990 more");
}

TEST(MetadataInfoTest, ServiceWithoutParamsOrPathIsListed) {
  std::vector<std::string> warnings;
  const MetadataInfo info =
      ParseService(R"("name":"I","protocol":"dubbo","port":20880)", &warnings);
  ASSERT_EQ(info.services.count("I:dubbo"), 1u);
  EXPECT_EQ(info.services.at("I:dubbo").path, "I");
  EXPECT_TRUE(info.services.at("I:dubbo").params.empty());
  EXPECT_TRUE(warnings.empty());
}

TEST(MetadataInfoTest, NumbersAsTextNullsAndUnknownFields) {
  const MetadataInfo info = ParseService(
      R"("name":"I","protocol":"dubbo","port":"20880","group":null,"version":null,"more":[1],)"
      R"("params":{"weight":200,"on":true,"none":null,"list":[1],"text":"t"})",
      nullptr);
  ASSERT_EQ(info.services.count("I:dubbo"), 1u);
  const ServiceInfo& service = info.services.at("I:dubbo");
  EXPECT_EQ(service.port, 20880);
  EXPECT_EQ(service.params, (StringMap{{"weight", "200"}, {"on", "true"}, {"text", "t"}}));
}

TEST(MetadataInfoTest, PortsThatAreNoneOrOutOfRange) {
  std::vector<std::string> warnings;
  EXPECT_LE(
      ParseService(R"("name":"I","protocol":"p","port":-1)", &warnings).services.at("I:p").port, 0);
  EXPECT_LE(
      ParseService(R"("name":"I","protocol":"p","port":0)", &warnings).services.at("I:p").port, 0);
  EXPECT_TRUE(warnings.empty());
  EXPECT_LE(
      ParseService(R"("name":"I","protocol":"p","port":65536)", &warnings).services.at("I:p").port,
      0);
  EXPECT_EQ(warnings.size(), 1u);
}

TEST(MetadataInfoTest, TheSameServiceTwiceIsSaid) {
  std::vector<std::string> warnings;
  const absl::StatusOr<MetadataInfo> info =
      MetadataInfoFromJson(R"({"services":{"a":{"name":"I","protocol":"p","port":1},)"
                           R"("b":{"name":"I","protocol":"p","port":2}}})",
                           &warnings);
  ASSERT_TRUE(info.ok()) << info.status();
  ASSERT_EQ(info->services.size(), 1u);
  EXPECT_EQ(info->services.at("I:p").port, 2);
  EXPECT_EQ(warnings.size(), 1u);
}

TEST(MetadataInfoTest, EmptyAndOddServices) {
  for (const char* text : {"{}", R"({"services":{}})", R"({"services":null})"}) {
    std::vector<std::string> warnings;
    const absl::StatusOr<MetadataInfo> info = MetadataInfoFromJson(text, &warnings);
    ASSERT_TRUE(info.ok()) << text << info.status();
    EXPECT_TRUE(info->services.empty());
    EXPECT_TRUE(warnings.empty());
  }
  std::vector<std::string> warnings;
  ASSERT_TRUE(MetadataInfoFromJson(R"({"services":[1]})", &warnings).ok());
  EXPECT_EQ(warnings.size(), 1u);
}

TEST(MetadataInfoTest, NoDocumentIsAnError) {
  for (const std::string text :
       {"", "null", "[]", "\"text\"", "{", "127.0.0.1", "{\"app\":\"\xff\"}"}) {
    EXPECT_EQ(MetadataInfoFromJson(text).status().code(), absl::StatusCode::kInvalidArgument)
        << text;
  }
  EXPECT_EQ(MetadataInfoFromJson(std::string(100000, '[')).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(MetadataInfoTest, ServiceFromUrl) {
  const ServiceInfo service = ServiceInfoFromUrl(
      ParseUrl("tri://10.0.0.1:50051/demo.Orders?interface=demo.Orders&group=g&version=1.0"
               "&side=provider&methods=place&weight=50"));
  EXPECT_EQ(service.name, "demo.Orders");
  EXPECT_EQ(service.group, "g");
  EXPECT_EQ(service.version, "1.0");
  EXPECT_EQ(service.protocol, "tri");
  EXPECT_EQ(service.port, 50051);
  EXPECT_EQ(service.path, "demo.Orders");
  EXPECT_EQ(service.match_key(), "g/demo.Orders:1.0:tri");
  EXPECT_EQ(service.params, (StringMap{{"interface", "demo.Orders"},
                                       {"group", "g"},
                                       {"version", "1.0"},
                                       {"side", "provider"},
                                       {"methods", "place"},
                                       {"weight", "50"}}));
}

TEST(MetadataInfoTest, ProcessDetailsAreNotPublished) {
  const ServiceInfo service = ServiceInfoFromUrl(ParseUrl(
      "tri://10.0.0.1:50051/I?monitor=m&bind.ip=1&bind.port=1&qos.enable=1&qos.host=1&qos.port=1"
      "&qos.accept.foreign.ip=1&validation=1&interfaces=1&pid=1&timestamp=1&heartbeat.timeout=1"
      "&ipv6=1&PID=1&TimeStamp=1&greet.timestamp=1&a.pid.b=1&anyhost=true&threads=5"
      "&register-mode=all&.hidden=1&triple.x=1"
      // Stay: names that only look alike.
      "&pids=1&monitoring=1&greet.Pid=1&timeout=1"));
  EXPECT_EQ(service.params,
            (StringMap{{"pids", "1"}, {"monitoring", "1"}, {"greet.Pid", "1"}, {"timeout", "1"}}));
}

TEST(MetadataInfoTest, ParametersOfTheInstance) {
  EXPECT_EQ(InstanceParametersFromUrl(ParseUrl(
                "tri://10.0.0.1:1/I?timestamp=17&heartbeat.timeout=3&ipv6=fe80%3A%3A1&pid=4")),
            (StringMap{{"timestamp", "17"}, {"heartbeat.timeout", "3"}, {"ipv6", "fe80%3A%3A1"}}));
  EXPECT_TRUE(InstanceParametersFromUrl(ParseUrl("tri://10.0.0.1:1/I?side=provider")).empty());
}

}  // namespace
}  // namespace signpost

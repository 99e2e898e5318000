#include "signpost/metadata/hessian2/metadata_service_v1.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/manual_executor.h"
#include "signpost/common/url.h"
#include "signpost/metadata/hessian2/codec.h"
#include "signpost/metadata/hessian2/make_value.h"
#include "signpost/metadata/published_metadata.h"
#include "signpost/tests/metadata/hessian2/show_value.h"

namespace signpost::hessian2 {
namespace {

constexpr char kInfoClass[] = "org.apache.dubbo.metadata.MetadataInfo";
constexpr char kServiceClass[] = "org.apache.dubbo.metadata.MetadataInfo$ServiceInfo";
constexpr char kText[] = "java.lang.String";

MetadataInfo Sample(const std::string& revision) {
  MetadataInfo info;
  info.app = "shop";
  info.revision = revision;
  ServiceInfo service;
  service.name = service.path = "a.A";
  service.protocol = "dubbo";
  service.port = 20880;
  service.params = {{"side", "provider"}, {"timeout", "10"}};
  info.services[service.match_key()] = service;
  service.group = "g";
  service.version = "1.0";
  service.protocol = "tri";
  service.port = 0;
  service.params.clear();
  info.services[service.match_key()] = service;
  return info;
}

Entries Fields(const std::vector<std::pair<std::string, ValuePtr>>& fields) {
  Entries entries;
  for (const auto& [name, value] : fields) entries.emplace_back(StringValue(name), value);
  return entries;
}

ValuePtr Document(const ValuePtr& services) {
  return ObjectValue(
      kInfoClass,
      Fields({{"app", StringValue("a")}, {"revision", StringValue("r")}, {"services", services}}));
}

// A document with one service.
ValuePtr WithService(const std::vector<std::pair<std::string, ValuePtr>>& fields) {
  return Document(MapValue("", {{StringValue("key"), ObjectValue(kServiceClass, Fields(fields))}}));
}

// The one service `a.I` of protocol dubbo, with further fields.
ServiceInfo ReadService(std::vector<std::pair<std::string, ValuePtr>> fields) {
  fields.insert(fields.begin(), {{"name", StringValue("a.I")}, {"protocol", StringValue("dubbo")}});
  const auto info = MetadataInfoOf(*WithService(fields));
  EXPECT_TRUE(info.ok()) << info.status();
  if (!info.ok() || info->services.size() != 1) return {};
  EXPECT_EQ(info->services.begin()->first, info->services.begin()->second.match_key());
  return info->services.begin()->second;
}

void ExpectRefused(const ValuePtr& value, absl::string_view why) {
  const absl::Status status = MetadataInfoOf(*value).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << Show(*value);
  EXPECT_TRUE(absl::StrContains(status.message(), why)) << status;
  EXPECT_TRUE(absl::StartsWith(status.message(), "metadata document: ")) << status;
}

TEST(MetadataInfoValueTest, IsTheObjectOfJava) {
  EXPECT_EQ(
      Show(*MetadataInfoValue(Sample("r1"))),
      "object org.apache.dubbo.metadata.MetadataInfo{\"app\": \"shop\", \"revision\": \"r1\", "
      "\"services\": {\"a.A:dubbo\": object org.apache.dubbo.metadata.MetadataInfo$ServiceInfo{"
      "\"name\": \"a.A\", \"group\": null, \"version\": null, \"protocol\": \"dubbo\", "
      "\"port\": 20880, \"path\": \"a.A\", "
      "\"params\": {\"side\": \"provider\", \"timeout\": \"10\"}}, "
      "\"g/a.A:1.0:tri\": object org.apache.dubbo.metadata.MetadataInfo$ServiceInfo{"
      "\"name\": \"a.A\", \"group\": \"g\", \"version\": \"1.0\", \"protocol\": \"tri\", "
      "\"port\": -1, \"path\": \"a.A\", \"params\": {}}}}");
}

TEST(MetadataInfoValueTest, ThereAndBackThroughBytes) {
  const MetadataInfo info = Sample("r1");
  Encoder encoder;
  encoder.Write(*MetadataInfoValue(info));
  const std::string bytes = encoder.Take();
  const auto value = Decoder(bytes, {}).Next();
  ASSERT_TRUE(value.ok()) << value.status();
  const auto back = MetadataInfoOf(**value);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->app, info.app);
  EXPECT_EQ(back->revision, info.revision);
  EXPECT_EQ(back->services, info.services);
}

TEST(MetadataInfoValueTest, WithoutServices) {
  const auto back = MetadataInfoOf(*MetadataInfoValue(MetadataInfo()));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE(back->services.empty());
}

TEST(MetadataInfoOfTest, NullIsAnUnknownRevision) {
  EXPECT_EQ(MetadataInfoOf(*NullValue()).status().code(), absl::StatusCode::kNotFound);
}

TEST(MetadataInfoOfTest, JsonOfOldJava) {
  const auto info = MetadataInfoOf(*StringValue(ToJson(Sample("r1"))));
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->services, Sample("r1").services);
  EXPECT_EQ(MetadataInfoOf(*StringValue("")).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MetadataInfoOf(*StringValue("[]")).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(MetadataInfoOfTest, FieldsInAnyOrderWithOthersBetween) {
  // dubbo-go sends a tag; Java 2.7 and 3.0 some of their own, a superclass perhaps a null.
  const auto info = MetadataInfoOf(*ObjectValue(
      kInfoClass, Fields({{"initiated", ObjectValue("java.util.concurrent.atomic.AtomicBoolean",
                                                    Fields({{"value", IntValue(1)}}))},
                          {"services", MapValue("java.util.concurrent.ConcurrentHashMap", {})},
                          {"extendParams", MapValue("", {})},
                          {"tag", StringValue("gray")},
                          {"revision", StringValue("r")},
                          {"app", StringValue("shop")},
                          {"app", NullValue()}})));
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->app, "shop");
  EXPECT_EQ(info->revision, "r");
}

TEST(MetadataInfoOfTest, MapsInPlaceOfObjects) {
  const auto info = MetadataInfoOf(*MapValue(
      "", Fields({{"class", StringValue(kInfoClass)},
                  {"app", StringValue("shop")},
                  {"services",
                   MapValue("", Fields({{"x", MapValue("", Fields({{"name", StringValue("I")},
                                                                   {"protocol",
                                                                    StringValue("tri")}}))}}))}})));
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->services.count("I:tri"), 1u);
}

TEST(MetadataInfoOfTest, TheLeastThatASaysOfAService) {
  const ServiceInfo service = ReadService({});
  EXPECT_EQ(service.name, "a.I");
  EXPECT_EQ(service.path, "a.I");
  EXPECT_EQ(service.port, 0);
  EXPECT_TRUE(service.params.empty());
  EXPECT_EQ(ReadService({{"group", NullValue()},
                         {"version", NullValue()},
                         {"port", NullValue()},
                         {"path", NullValue()},
                         {"params", NullValue()}}),
            service);
}

TEST(MetadataInfoOfTest, ServicesWithoutNameOrProtocolAreDropped) {
  for (const auto& fields : std::vector<std::vector<std::pair<std::string, ValuePtr>>>{
           {},
           {{"name", StringValue("I")}},
           {{"protocol", StringValue("tri")}},
           {{"name", StringValue("I")}, {"protocol", NullValue()}}}) {
    const auto info = MetadataInfoOf(*WithService(fields));
    ASSERT_TRUE(info.ok()) << info.status();
    EXPECT_TRUE(info->services.empty());
  }
  const auto info = MetadataInfoOf(*Document(MapValue("", {{StringValue("key"), NullValue()}})));
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_TRUE(info->services.empty());
}

TEST(MetadataInfoOfTest, Ports) {
  EXPECT_EQ(ReadService({{"port", IntValue(20880)}}).port, 20880);
  EXPECT_EQ(ReadService({{"port", LongValue(20880)}}).port, 20880);
  EXPECT_EQ(ReadService({{"port", StringValue("20880")}}).port, 20880);
  EXPECT_EQ(ReadService({{"port", IntValue(65535)}}).port, 65535);
  for (const int64_t none : {int64_t{-1}, int64_t{0}, int64_t{65536}, int64_t{1} << 40}) {
    EXPECT_EQ(ReadService({{"port", LongValue(none)}}).port, 0) << none;
  }
  EXPECT_EQ(ReadService({{"port", StringValue("x")}}).port, 0);
}

// What JSON makes of the same parameters.
TEST(MetadataInfoOfTest, ParametersAsInJson) {
  const ServiceInfo service = ReadService(
      {{"params", MapValue("java.util.HashMap", Fields({{"weight", IntValue(200)},
                                                        {"long", LongValue(-5)},
                                                        {"on", BoolValue(true)},
                                                        {"half", DoubleValue(0.5)},
                                                        {"none", NullValue()},
                                                        {"list", ListValue("", {})},
                                                        {"text", StringValue("t")}}))}});
  const auto json = MetadataInfoFromJson(
      R"({"services":{"x":{"name":"a.I","protocol":"dubbo","params":{"weight":200,"long":-5,)"
      R"("on":true,"half":0.5,"none":null,"list":[],"text":"t"}}}})");
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ(service, json->services.at("a.I:dubbo"));
  EXPECT_EQ(service.params.size(), 5u);
}

TEST(MetadataInfoOfTest, NonsenseIsRefusedByName) {
  ExpectRefused(IntValue(5), "answer: org.apache.dubbo.metadata.MetadataInfo is expected");
  ExpectRefused(ListValue("", {}), "answer");
  ExpectRefused(BinaryValue("x"), "not binary");
  ExpectRefused(ObjectValue("java.lang.RuntimeException", {}),
                "not an object java.lang.RuntimeException");
  ExpectRefused(Document(ListValue("", {})), "services: a map is expected, not a list");
  ExpectRefused(Document(StringValue("x")), "services: a map is expected, not a string");
  ExpectRefused(Document(MapValue("", {{StringValue("key"), IntValue(1)}})), "services[key]");
  ExpectRefused(ObjectValue(kInfoClass, Fields({{"app", ListValue("", {})}})), "app: text");
  ExpectRefused(ObjectValue(kInfoClass, Fields({{"revision", BinaryValue("x")}})), "revision");
  for (const char* field : {"name", "group", "version", "protocol", "path"}) {
    ExpectRefused(WithService({{field, MapValue("", {})}}),
                  absl::StrCat("services[key].", field, ": text is expected, not a map"));
  }
  ExpectRefused(WithService({{"port", ListValue("", {})}}), "services[key].port: a number");
  ExpectRefused(WithService({{"params", StringValue("x")}}), "services[key].params: a map");
  ExpectRefused(WithService({{"params", MapValue("", {{NullValue(), NullValue()}})}}),
                "services[key].params: a key: text is expected, not null");
}

TEST(MetadataInfoOfTest, ErrorsShowOnlyTheBeginningOfForeignText) {
  const std::string key = "\xff\n" + std::string(100000, 'k');
  const absl::Status status =
      MetadataInfoOf(*Document(MapValue("", {{StringValue(key), IntValue(1)}}))).status();
  EXPECT_LT(status.message().size(), 400u);
  EXPECT_FALSE(absl::StrContains(status.message(), "\n"));
}

TEST(MetadataInfoOfTest, OneBigMapFromManyPlaces) {
  Entries params;
  for (int i = 0; i < 1000; ++i) {
    params.emplace_back(StringValue(absl::StrCat("key", i)), StringValue("value"));
  }
  const ValuePtr shared = MapValue("", std::move(params));
  Entries services;
  for (int i = 0; i < 100000; ++i) {
    services.emplace_back(IntValue(i),
                          ObjectValue(kServiceClass, Fields({{"name", StringValue("I")},
                                                             {"protocol", StringValue("p")},
                                                             {"params", shared}})));
  }
  ExpectRefused(Document(MapValue("", std::move(services))), "larger than");
}

TEST(MetadataInfoOfTest, OneBigServiceFromManyPlaces) {
  // Nothing of it is kept, but looking at it takes time.
  Entries fields;
  for (int i = 0; i < 10000; ++i) fields.emplace_back(StringValue("x"), NullValue());
  const ValuePtr shared = ObjectValue(kServiceClass, std::move(fields));
  ExpectRefused(Document(MapValue("", Entries(10000, {NullValue(), shared}))), "larger than");
  // Nor a long text that is set again and again.
  fields.assign(1000, {StringValue("name"), StringValue(std::string(100000, 'x'))});
  ExpectRefused(Document(MapValue("", {{NullValue(), ObjectValue("", std::move(fields))}})),
                "larger than");
}

class AnswerTest : public ::testing::Test {
 protected:
  AnswerTest() : published_("shop", clock_) {
    published_.Publish(Sample("r1"), {});
    published_.Publish(Sample("r2"), {UrlOf("dubbo://10.0.0.1:20880/a.A?interface=a.A"),
                                      UrlOf("tri://10.0.0.1:50051/a.A?interface=a.A&group=g"
                                            "&version=1.0"),
                                      UrlOf("tri://10.0.0.1:50051/a.B?interface=a.B")});
    published_.AddSubscribed(UrlOf("consumer://10.0.0.1/a.C?interface=a.C"));
  }

  static Url UrlOf(absl::string_view text) {
    const auto url = Url::Parse(text);
    EXPECT_TRUE(url.ok()) << url.status();
    return url.ok() ? *url : Url();
  }

  absl::StatusOr<ValuePtr> Answer(const std::string& method,
                                  const std::vector<ValuePtr>& arguments) {
    return AnswerMetadataCall(
        published_, {method, std::vector<std::string>(arguments.size(), kText), arguments});
  }

  absl::StatusOr<ValuePtr> Ask(const std::string& method, const std::vector<std::string>& texts) {
    std::vector<ValuePtr> arguments;
    for (const std::string& text : texts) arguments.push_back(StringValue(text));
    return Answer(method, arguments);
  }

  std::string Shown(const std::string& method, const std::vector<std::string>& texts = {}) {
    const auto answer = Ask(method, texts);
    return answer.ok() ? Show(**answer) : answer.status().ToString();
  }

  size_t Exported(const std::vector<std::string>& texts) {
    const auto answer = Ask("getExportedURLs", texts);
    EXPECT_TRUE(answer.ok()) << answer.status();
    if (!answer.ok()) return 0;
    EXPECT_EQ((*answer)->kind, Kind::kList);
    EXPECT_EQ((*answer)->type, "java.util.TreeSet");
    return (*answer)->items.size();
  }

  SimulatedClock clock_;
  PublishedMetadata published_;
};

TEST_F(AnswerTest, WhatIsFixed) {
  EXPECT_EQ(Shown("serviceName"), "\"shop\"");
  EXPECT_EQ(Shown("version"), "\"1.0.0\"");
  EXPECT_EQ(Shown("getMetadataURL"), "null");
  EXPECT_EQ(Shown("getServiceDefinition", {"a.A"}), "\"\"");
  EXPECT_EQ(Shown("getServiceDefinition", {"a.A", "1.0", "g"}), "\"\"");
}

TEST_F(AnswerTest, DocumentsByRevision) {
  for (const char* revision : {"r1", "r2"}) {
    const auto answer = Ask("getMetadataInfo", {revision});
    ASSERT_TRUE(answer.ok()) << answer.status();
    const auto info = MetadataInfoOf(**answer);
    ASSERT_TRUE(info.ok()) << info.status();
    EXPECT_EQ(info->revision, revision);
    EXPECT_EQ(info->services, Sample(revision).services);
  }
}

TEST_F(AnswerTest, AnUnknownRevisionIsNotFound) {
  EXPECT_EQ(Ask("getMetadataInfo", {"r3"}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Answer("getMetadataInfo", {NullValue()}).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(AnswerTest, AllDocuments) {
  const auto answer = Ask("getMetadataInfos", {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ((*answer)->kind, Kind::kList);
  EXPECT_EQ((*answer)->type, "");
  ASSERT_EQ((*answer)->items.size(), 2u);
  for (const ValuePtr& item : (*answer)->items) EXPECT_TRUE(MetadataInfoOf(*item).ok());
}

TEST_F(AnswerTest, ExportedUrlsByUpToFourConditions) {
  EXPECT_EQ(Exported({}), 3u);
  EXPECT_EQ(Exported({"*"}), 3u);
  EXPECT_EQ(Exported({"a.A"}), 2u);
  EXPECT_EQ(Exported({"a.A", "g"}), 1u);
  EXPECT_EQ(Exported({"a.A", "g", "1.0"}), 1u);
  EXPECT_EQ(Exported({"a.A", "g", "2.0"}), 0u);
  EXPECT_EQ(Exported({"*", "", "", "tri"}), 2u);
  const auto with_nulls =
      Answer("getExportedURLs", {StringValue("a.A"), NullValue(), NullValue(), NullValue()});
  ASSERT_TRUE(with_nulls.ok()) << with_nulls.status();
  EXPECT_EQ((*with_nulls)->items.size(), 2u);
  EXPECT_EQ(Ask("getExportedURLs", {"", "", "", "", ""}).status().code(),
            absl::StatusCode::kUnimplemented);
}

TEST_F(AnswerTest, UrlsAreSortedStrings) {
  const auto answer = Ask("getExportedURLs", {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  std::string last;
  for (const ValuePtr& item : (*answer)->items) {
    EXPECT_EQ(item->kind, Kind::kString);
    EXPECT_LT(last, item->text);
    last = item->text;
  }
  const auto urls = Ask("getExportedServiceURLs", {});
  ASSERT_TRUE(urls.ok()) << urls.status();
  EXPECT_EQ((*urls)->type, "java.util.HashSet");
  EXPECT_EQ((*urls)->items.size(), 3u);
  const auto subscribed = Ask("getSubscribedURLs", {});
  ASSERT_TRUE(subscribed.ok()) << subscribed.status();
  EXPECT_EQ((*subscribed)->type, "java.util.TreeSet");
  EXPECT_EQ((*subscribed)->items.size(), 1u);
}

TEST_F(AnswerTest, NothingElseIsReflected) {
  const ValuePtr argument = ListValue("T", {IntValue(5)});
  const auto answer = AnswerMetadataCall(published_, {"$echo", {"java.lang.Object"}, {argument}});
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kUnimplemented) << answer.status();
}

TEST_F(AnswerTest, OtherMethodsAreUnimplemented) {
  for (const char* method : {"exportInstanceMetadata", "getInstanceMetadataChangedListenerMap",
                             "getAndListenInstanceMetadata", "$echo", "", "getMetadataInfo "}) {
    EXPECT_EQ(Ask(method, {"x"}).status().code(), absl::StatusCode::kUnimplemented) << method;
  }
  EXPECT_EQ(Ask("getMetadataInfo", {}).status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(Ask("version", {"x"}).status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(Ask("getServiceDefinition", {"x", "y"}).status().code(),
            absl::StatusCode::kUnimplemented);
  const auto other = AnswerMetadataCall(
      published_, {"getMetadataInfo", {"java.lang.Object"}, {StringValue("r1")}});
  EXPECT_EQ(other.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_TRUE(absl::StrContains(other.status().message(), "getMetadataInfo(java.lang.Object)"));
}

TEST_F(AnswerTest, ArgumentsOfAnotherKindAreRefused) {
  const absl::Status status = Answer("getMetadataInfo", {IntValue(5)}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), "argument 0 is a whole number")) << status;
  EXPECT_EQ(AnswerMetadataCall(published_, {"getMetadataInfo", {kText}, {}}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(AnswerMetadataCall(published_, {"version", {}, {NullValue()}}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(AnswerTest, HugeNamesMakeNoHugeErrors) {
  const std::string huge(100000, 'x');
  const absl::Status status =
      AnswerMetadataCall(published_, {huge, std::vector<std::string>(1000, huge),
                                      std::vector<ValuePtr>(1000, NullValue())})
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_LT(status.message().size(), 1000u);
}

}  // namespace
}  // namespace signpost::hessian2

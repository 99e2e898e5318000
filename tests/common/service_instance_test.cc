#include "signpost/common/service_instance.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/common/hostile.h"

namespace signpost {
namespace {

// The bytes that Java and Go consumers were seen to take.
constexpr char kRecommended[] =
    R"({"name":"app-full-dubbo","id":"127.0.0.1:23000","address":"127.0.0.1","port":23000,)"
    R"("sslPort":null,"payload":{"@class":"org.apache.dubbo.registry.zookeeper.ZookeeperInstance",)"
    R"("id":"127.0.0.1:23000","name":"app-full-dubbo","metadata":{"dubbo.endpoints":)"
    R"("[{\"port\":23000,\"protocol\":\"dubbo\"}]","dubbo.metadata.revision":"r1",)"
    R"("dubbo.metadata.storage-type":"remote","timestamp":"1796006862162"}},)"
    R"("registrationTimeUTC":1796006862162,"serviceType":"DYNAMIC","uriSpec":null})";

ServiceInstance Recommended() {
  ServiceInstance instance;
  instance.app = "app-full-dubbo";
  instance.host = "127.0.0.1";
  instance.port = 23000;
  instance.registration_time_ms = 1796006862162;
  instance.metadata = {
      {kRevisionKey, "r1"}, {kStorageTypeKey, "remote"}, {kTimestampKey, "1796006862162"}};
  instance.SetEndpoints({{"dubbo", 23000}});
  return instance;
}

std::string Node(absl::string_view address, absl::string_view port, absl::string_view payload) {
  return absl::StrCat(R"({"name":"a","address":)", address, R"(,"port":)", port, R"(,"payload":)",
                      payload, "}");
}

std::string Fault(absl::string_view bytes) {
  return std::string(FromCuratorJson("a", bytes).status().message());
}

// What is left when only that stays which they read.
constexpr char kLean[] =
    R"({"name":"app-full-dubbo","address":"127.0.0.1","port":23000,)"
    R"("payload":{"@class":"org.apache.dubbo.registry.zookeeper.ZookeeperInstance",)"
    R"("metadata":{"dubbo.endpoints":"[{\"port\":23000,\"protocol\":\"dubbo\"}]",)"
    R"("dubbo.metadata.revision":"r1","dubbo.metadata.storage-type":"remote",)"
    R"("timestamp":"1796006862162"}}})";

TEST(ServiceInstanceTest, WritesTheLeanBytesAndReadsTheWholeOnes) {
  EXPECT_EQ(ToCuratorJson(Recommended()), kLean);
  EXPECT_EQ(*FromCuratorJson("app-full-dubbo", kLean), Recommended());
  auto back = FromCuratorJson("app-full-dubbo", kRecommended);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, Recommended());
  EXPECT_EQ(back->registration_time_ms, 1796006862162);
  EXPECT_EQ(back->revision(), "r1");
  EXPECT_EQ(back->storage_type(), "remote");
  EXPECT_EQ(back->timestamp_ms(), 1796006862162);
  ASSERT_EQ(back->endpoints().size(), 1u);
  EXPECT_EQ(back->endpoints()[0], std::make_pair(std::string("dubbo"), uint16_t{23000}));
}

// TC-04
TEST(ServiceInstanceTest, Version6) {
  ServiceInstance instance = Recommended();
  instance.host = "2001:db8::1";
  instance.port = 20880;
  EXPECT_EQ(instance.id(), "[2001:db8::1]:20880");
  const std::string bytes = ToCuratorJson(instance);
  EXPECT_TRUE(absl::StrContains(bytes, R"("address":"[2001:db8::1]")"));
  for (absl::string_view address : {R"("2001:db8::1")", R"("[2001:db8::1]")"}) {
    auto read = FromCuratorJson("a", Node(address, "20880", R"({"metadata":{}})"));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->host, "2001:db8::1");
    EXPECT_EQ(read->port, 20880);
  }
}

TEST(ServiceInstanceTest, TolerantReading) {
  auto read = FromCuratorJson(
      "a", Node(R"("h")", R"("7")", R"({"metadata":{"n":1,"b":true,"z":null,"t":"x"},"more":[]})"));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->port, 7);
  EXPECT_EQ(read->metadata,
            (std::map<std::string, std::string>{{"b", "true"}, {"n", "1"}, {"t", "x"}}));
  EXPECT_EQ(read->storage_type(), "local");
  EXPECT_EQ(read->revision(), "");
  EXPECT_EQ(read->timestamp_ms(), 0);
  EXPECT_TRUE(read->endpoints().empty());
}

TEST(ServiceInstanceTest, FaultsAreNamed) {
  const std::string good = R"({"metadata":{}})";
  EXPECT_TRUE(absl::StrContains(Fault(Node("null", "1", good)), "address"));
  EXPECT_TRUE(absl::StrContains(Fault(Node(R"("a b")", "1", good)), "address"));
  EXPECT_TRUE(absl::StrContains(Fault(Node(R"("h")", "null", good)), "port"));
  EXPECT_TRUE(absl::StrContains(Fault(Node(R"("h")", "0", good)), "port"));
  EXPECT_TRUE(absl::StrContains(Fault(Node(R"("h")", "65536", good)), "port"));
  EXPECT_TRUE(absl::StrContains(Fault(Node(R"("h")", "1", "null")), "payload"));
  EXPECT_TRUE(absl::StrContains(Fault(R"({"name":"a","address":"h","port":1})"), "payload"));
  EXPECT_TRUE(absl::StrContains(Fault(Node(R"("h")", "1", R"({"metadata":{"k1":[1]}})")), "k1"));
  EXPECT_TRUE(absl::StrContains(Fault(Node(R"("h")", "1", R"({"metadata":{"k2":{}}})")), "k2"));
  EXPECT_TRUE(absl::StrContains(FromCuratorJson("b", Node(R"("h")", "1", good)).status().message(),
                                "name"));
  EXPECT_TRUE(FromCuratorJson("a", Node(R"("h")", "1", good)).ok());
}

TEST(ServiceInstanceTest, Validate) {
  EXPECT_TRUE(Recommended().Validate().ok());
  ServiceInstance bad = Recommended();
  bad.port = 0;
  EXPECT_FALSE(bad.Validate().ok());
  bad = Recommended();
  bad.host = "";
  EXPECT_FALSE(bad.Validate().ok());
  bad = Recommended();
  bad.app = "a/b";
  EXPECT_FALSE(bad.Validate().ok());
  bad = Recommended();
  bad.metadata["x"] = "\xff";
  EXPECT_FALSE(bad.Validate().ok());
  bad.metadata["x"] = std::string(1 << 20, 'x');
  EXPECT_FALSE(bad.Validate().ok());
  for (absl::string_view app : {"", "a,b", "a:b", "a b", "..", "\xff"}) {
    EXPECT_FALSE(ValidateAppName(app).ok()) << app;
  }
  EXPECT_TRUE(ValidateAppName("Shop.App_1").ok());
}

TEST(ServiceInstanceTest, HostileNodes) {
  for (absl::string_view text : {"", " ", "x", "[]", "null", "{}", "{\"name\":\"\xff\"}"}) {
    EXPECT_EQ(FromCuratorJson("a", text).status().code(), absl::StatusCode::kInvalidArgument)
        << text;
  }
  EXPECT_FALSE(FromCuratorJson("a", Repeat("[", 100000) + Repeat("]", 100000)).ok());
  const std::string big = absl::StrCat(R"({"metadata":{"k":")", std::string(1 << 20, 'x'), "\"}}");
  EXPECT_FALSE(FromCuratorJson("a", Node(R"("h")", "1", big)).ok());
  int read = 0;
  ForEachHostileText(kRecommended, 3000, [&read](const std::string& text) {
    auto instance = FromCuratorJson("app-full-dubbo", text);
    if (!instance.ok()) return;
    ++read;
    (void)instance->endpoints();
    EXPECT_TRUE(instance->port != 0 && !instance->host.empty());
  });
  EXPECT_GT(read, 0);
}

}  // namespace
}  // namespace signpost

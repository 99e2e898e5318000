// What a C++ provider writes into a real ZooKeeper, field by field.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "signpost/client/client.h"
#include "signpost/client/plugins/zookeeper.h"
#include "signpost/common/await.h"
#include "signpost/common/json.h"
#include "tests/support/zookeeper_server.h"

namespace signpost {
namespace {

using testing::ElementsAre;

class ProviderNodesTest : public testing::Test {
 protected:
  void SetUp() override {
    const absl::Status started = server_.Start();
    ASSERT_TRUE(started.ok()) << started;
    ASSERT_TRUE(AddZookeeper(registries_).ok());
  }

  std::unique_ptr<Client> Open(const std::string& app) {
    ClientOptions options;
    options.app = app;
    options.registry = absl::StrCat("zookeeper://", server_.address());
    auto client = Client::Create(options, registries_);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }

  StoreValue Node(Client& client, const std::string& path) {
    auto value = Await<absl::StatusOr<StoreValue>>(absl::Seconds(10), [&](auto done) {
      client.centre().store().Get(path, CallOptions(), std::move(done));
    });
    EXPECT_TRUE(value.ok()) << value.status();
    return value.ok() ? *value : StoreValue();
  }

  ZookeeperServer server_;
  RegistryFactories registries_{"registry"};
};

std::vector<std::string> Names(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.AsObject()) names.push_back(name);
  return names;
}

TEST_F(ProviderNodesTest, InstanceMappingAndBothDocuments) {
  auto client = Open("shop");
  ASSERT_TRUE(client->provider()
                  .Export("dubbo://127.0.0.1:23020/foreign.FullGroupVersion?group=g1&version=1.2.3"
                          "&methods=greet&timestamp=1796006862162&pid=42&bind.ip=0.0.0.0")
                  .ok());
  const absl::Status started = client->Start(absl::Seconds(10));
  ASSERT_TRUE(started.ok()) << started;
  const RegisteredState state = client->provider().registered();
  ASSERT_FALSE(state.revision.empty());
  EXPECT_THAT(state.paths, testing::UnorderedElementsAre("/services/shop/127.0.0.1:23020",
                                                         "/dubbo/mapping/foreign.FullGroupVersion",
                                                         "/dubbo/metadata/shop/" + state.revision,
                                                         "/dubbo/shop/" + state.revision));

  const StoreValue node = Node(*client, "/services/shop/127.0.0.1:23020");
  EXPECT_TRUE(node.session_bound);
  auto parsed = Json::Parse(node.value);
  ASSERT_TRUE(parsed.ok()) << node.value;
  const Json& instance = *parsed;
  EXPECT_THAT(Names(instance), ElementsAre("name", "id", "address", "port", "sslPort", "payload",
                                           "registrationTimeUTC", "serviceType", "uriSpec"));
  EXPECT_EQ(instance["name"].AsString(), "shop");
  EXPECT_EQ(instance["id"].AsString(), "127.0.0.1:23020");
  EXPECT_EQ(instance["address"].AsString(), "127.0.0.1");
  ASSERT_TRUE(instance["port"].is_int());
  EXPECT_EQ(instance["port"].AsInt(), 23020);
  EXPECT_TRUE(instance["sslPort"].is_null());
  EXPECT_TRUE(instance["uriSpec"].is_null());
  EXPECT_EQ(instance["serviceType"].AsString(), "DYNAMIC");
  EXPECT_GT(instance["registrationTimeUTC"].AsInt(), 1700000000000);
  const Json& payload = instance["payload"];
  EXPECT_THAT(Names(payload), ElementsAre("@class", "id", "name", "metadata"));
  EXPECT_EQ(payload["@class"].AsString(), "org.apache.dubbo.registry.zookeeper.ZookeeperInstance");
  EXPECT_EQ(payload["id"].AsString(), "127.0.0.1:23020");
  EXPECT_EQ(payload["name"].AsString(), "shop");
  const Json& metadata = payload["metadata"];
  EXPECT_THAT(Names(metadata), ElementsAre("dubbo.endpoints", "dubbo.metadata.revision",
                                           "dubbo.metadata.storage-type", "timestamp"));
  EXPECT_EQ(metadata["dubbo.endpoints"].AsString(), R"([{"port":23020,"protocol":"dubbo"}])");
  EXPECT_EQ(metadata["dubbo.metadata.revision"].AsString(), state.revision);
  EXPECT_EQ(metadata["dubbo.metadata.storage-type"].AsString(), "remote");
  EXPECT_EQ(metadata["timestamp"].AsString(), "1796006862162");

  const StoreValue mapping = Node(*client, "/dubbo/mapping/foreign.FullGroupVersion");
  EXPECT_EQ(mapping.value, "shop");
  EXPECT_FALSE(mapping.session_bound);

  const StoreValue document = Node(*client, "/dubbo/metadata/shop/" + state.revision);
  EXPECT_FALSE(document.session_bound);
  EXPECT_EQ(Node(*client, "/dubbo/shop/" + state.revision).value, document.value);
  auto info = Json::Parse(document.value);
  ASSERT_TRUE(info.ok()) << document.value;
  EXPECT_EQ((*info)["app"].AsString(), "shop");
  EXPECT_EQ((*info)["revision"].AsString(), state.revision);
  EXPECT_THAT(Names((*info)["services"]), ElementsAre("g1/foreign.FullGroupVersion:1.2.3:dubbo"));
  const Json& service = (*info)["services"]["g1/foreign.FullGroupVersion:1.2.3:dubbo"];
  EXPECT_EQ(service["name"].AsString(), "foreign.FullGroupVersion");
  EXPECT_EQ(service["path"].AsString(), "foreign.FullGroupVersion");
  EXPECT_EQ(service["protocol"].AsString(), "dubbo");
  EXPECT_EQ(service["port"].AsInt(), 23020);
  EXPECT_EQ(service["group"].AsString(), "g1");
  EXPECT_EQ(service["version"].AsString(), "1.2.3");
  const Json& params = service["params"];
  EXPECT_EQ(params["interface"].AsString(), "foreign.FullGroupVersion");
  EXPECT_EQ(params["side"].AsString(), "provider");
  EXPECT_EQ(params["methods"].AsString(), "greet");
  EXPECT_EQ(params["application"].AsString(), "shop");
  EXPECT_EQ(params["group"].AsString(), "g1");
  EXPECT_EQ(params["version"].AsString(), "1.2.3");
  EXPECT_FALSE(params.Has("timestamp"));
  EXPECT_FALSE(params.Has("pid"));
  EXPECT_FALSE(params.Has("bind.ip"));
}

TEST_F(ProviderNodesTest, Ipv6StandsInBrackets) {
  auto client = Open("shop6");
  ASSERT_TRUE(client->provider().Export("tri://[::1]:23021/foreign.V6?methods=greet").ok());
  ASSERT_TRUE(client->Start(absl::Seconds(10)).ok());
  auto instance = Json::Parse(Node(*client, "/services/shop6/[::1]:23021").value);
  ASSERT_TRUE(instance.ok());
  EXPECT_EQ((*instance)["address"].AsString(), "[::1]");
  EXPECT_EQ((*instance)["id"].AsString(), "[::1]:23021");
}

TEST_F(ProviderNodesTest, AnExportAddedLaterIsANewRevisionOfTheSameNode) {
  auto client = Open("late");
  ASSERT_TRUE(client->provider().Export("tri://127.0.0.1:23022/foreign.A?methods=a").ok());
  ASSERT_TRUE(client->Start(absl::Seconds(10)).ok());
  const std::string before = client->provider().registered().revision;
  const int64_t version = Node(*client, "/services/late/127.0.0.1:23022").version;
  ASSERT_TRUE(client->provider().Export("tri://127.0.0.1:23022/foreign.B?methods=b").ok());
  ASSERT_TRUE(client->Start(absl::Seconds(10)).ok());
  const std::string after = client->provider().registered().revision;
  EXPECT_NE(after, before);
  const StoreValue node = Node(*client, "/services/late/127.0.0.1:23022");
  EXPECT_GT(node.version, version);
  EXPECT_THAT(node.value, testing::HasSubstr(after));
  // The old document stays: a consumer may still be about to read it.
  EXPECT_THAT(Node(*client, "/dubbo/metadata/late/" + before).value,
              testing::HasSubstr("foreign.A"));
}

}  // namespace
}  // namespace signpost

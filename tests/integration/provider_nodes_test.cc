// What a C++ provider writes into a real ZooKeeper, field by field.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "signpost/client/client.h"
#include "signpost/client/plugins/zookeeper.h"
#include "signpost/common/await.h"
#include "signpost/common/json.h"
#include "tests/support/child_process.h"
#include "tests/support/zookeeper_server.h"

namespace signpost {
namespace {

using testing::ElementsAre;

class ProviderNodesTest : public testing::Test {
 public:
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

// What a provider of one service was told, and so must have written.
struct Told {
  std::string app;
  std::string address;  // 127.0.0.1:<port>
  int port = 0;
  std::string protocol;
  std::string interface;
  std::string group;
  std::string version;
  std::string timestamp;  // "" any
};

// Every field of every node: those that live Java and Go consumers read, and none that only repeats
// another one.
void ExpectRecommended(ProviderNodesTest& test, Client& client, const Told& told) {
  const std::string instance_path = absl::StrCat("/services/", told.app, "/", told.address);
  const StoreValue node = test.Node(client, instance_path);
  EXPECT_TRUE(node.session_bound);
  auto parsed = Json::Parse(node.value);
  ASSERT_TRUE(parsed.ok()) << node.value;
  const Json& instance = *parsed;
  EXPECT_THAT(Names(instance), ElementsAre("name", "address", "port", "payload"));
  EXPECT_EQ(instance["name"].AsString(), told.app);
  EXPECT_EQ(instance["address"].AsString(), "127.0.0.1");
  ASSERT_TRUE(instance["port"].is_int());
  EXPECT_EQ(instance["port"].AsInt(), told.port);
  const Json& payload = instance["payload"];
  EXPECT_THAT(Names(payload), ElementsAre("@class", "metadata"));
  EXPECT_EQ(payload["@class"].AsString(), "org.apache.dubbo.registry.zookeeper.ZookeeperInstance");
  const Json& metadata = payload["metadata"];
  EXPECT_THAT(Names(metadata), ElementsAre("dubbo.endpoints", "dubbo.metadata.revision",
                                           "dubbo.metadata.storage-type", "timestamp"));
  EXPECT_EQ(metadata["dubbo.endpoints"].AsString(),
            absl::StrCat(R"([{"port":)", told.port, R"(,"protocol":")", told.protocol, R"("}])"));
  EXPECT_EQ(metadata["dubbo.metadata.storage-type"].AsString(), "remote");
  int64_t started = 0;
  EXPECT_TRUE(absl::SimpleAtoi(metadata["timestamp"].AsString(), &started));
  EXPECT_GT(started, 1700000000000);
  if (!told.timestamp.empty()) {
    EXPECT_EQ(metadata["timestamp"].AsString(), told.timestamp);
  }
  const std::string revision = metadata["dubbo.metadata.revision"].AsString();
  ASSERT_EQ(revision.size(), 32u);

  const StoreValue mapping = test.Node(client, "/dubbo/mapping/" + told.interface);
  EXPECT_EQ(mapping.value, told.app);
  EXPECT_FALSE(mapping.session_bound);

  const StoreValue document =
      test.Node(client, absl::StrCat("/dubbo/metadata/", told.app, "/", revision));
  EXPECT_FALSE(document.session_bound);
  EXPECT_EQ(test.Node(client, absl::StrCat("/dubbo/", told.app, "/", revision)).value,
            document.value);
  auto info = Json::Parse(document.value);
  ASSERT_TRUE(info.ok()) << document.value;
  EXPECT_EQ((*info)["app"].AsString(), told.app);
  EXPECT_EQ((*info)["revision"].AsString(), revision);
  const std::string key =
      absl::StrCat(told.group, told.group.empty() ? "" : "/", told.interface,
                   told.version.empty() ? "" : ":", told.version, ":", told.protocol);
  EXPECT_THAT(Names((*info)["services"]), ElementsAre(key));
  const Json& service = (*info)["services"][key];
  EXPECT_EQ(service["name"].AsString(), told.interface);
  EXPECT_EQ(service["path"].AsString(), told.interface);
  EXPECT_EQ(service["protocol"].AsString(), told.protocol);
  EXPECT_EQ(service["port"].AsInt(), told.port);
  EXPECT_EQ(service["group"].AsString(), told.group);
  EXPECT_EQ(service["version"].AsString(), told.version);
  const Json& params = service["params"];
  EXPECT_THAT(Names(params), testing::UnorderedElementsAre("application", "methods"));
  EXPECT_EQ(params["application"].AsString(), told.app);
  EXPECT_EQ(params["methods"].AsString(), "greet");
}

TEST_F(ProviderNodesTest, OfTheLibrary) {
  auto client = Open("shop");
  ASSERT_TRUE(client->provider()
                  .Export("dubbo://127.0.0.1:23020/foreign.FullGroupVersion?group=g1&version=1.2.3"
                          "&methods=greet&timestamp=1796006862162&pid=42&bind.ip=0.0.0.0")
                  .ok());
  const absl::Status started = client->Start(absl::Seconds(10));
  ASSERT_TRUE(started.ok()) << started;
  const RegisteredState state = client->provider().registered();
  ASSERT_FALSE(state.revision.empty());
  EXPECT_THAT(
      state.paths,
      testing::UnorderedElementsAre(
          "/services/shop/127.0.0.1:23020", "/dubbo/mapping/foreign.FullGroupVersion",
          "/dubbo/metadata/shop/" + state.revision, "/dubbo/shop/" + state.revision,
          testing::StartsWith("/dubbo/foreign.FullGroupVersion/providers/dubbo%3A%2F%2F127")));
  ExpectRecommended(*this, *client,
                    {"shop", "127.0.0.1:23020", 23020, "dubbo", "foreign.FullGroupVersion", "g1",
                     "1.2.3", "1796006862162"});
}

TEST_F(ProviderNodesTest, OfTheCommand) {
  ChildProcess provider({"tools/signpost", "provide", "--app=shop", "--address=127.0.0.1:23023",
                         "--service=g1/foreign.Command:1.2.3", "--param=methods=greet",
                         "--param=pid=42", "--registry=zookeeper://" + server_.address()});
  ASSERT_TRUE(
      provider.WaitForOutput("registered /services/shop/127.0.0.1:23023\n", absl::Seconds(30)))
      << provider.output();
  auto client = Open("");
  ExpectRecommended(
      *this, *client,
      {"shop", "127.0.0.1:23023", 23023, "tri", "foreign.Command", "g1", "1.2.3", ""});
  provider.Signal(SIGTERM);
  EXPECT_EQ(provider.Wait(absl::Seconds(20)), 0);
}

TEST_F(ProviderNodesTest, OfTheExample) {
  ChildProcess provider(
      {"examples/provider", "zookeeper://" + server_.address(), "127.0.0.1:23024", "dubbo"});
  ASSERT_TRUE(
      provider.WaitForOutput("registered /services/greeting/127.0.0.1:23024\n", absl::Seconds(30)))
      << provider.output();
  auto client = Open("");
  ExpectRecommended(
      *this, *client,
      {"greeting", "127.0.0.1:23024", 23024, "dubbo", "org.example.Greeter", "", "", ""});
  provider.Signal(SIGTERM);
  EXPECT_EQ(provider.Wait(absl::Seconds(20)), 0);
}

// TC-06, with real compare-and-set: twenty applications start at once.
TEST_F(ProviderNodesTest, ApplicationsThatStartTogetherShareOneMapping) {
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<std::string> wanted;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(Open(absl::StrCat("racer-", i)));
    wanted.push_back(absl::StrCat("racer-", i));
    ASSERT_TRUE(clients.back()
                    ->provider()
                    .Export(absl::StrCat("tri://127.0.0.1:", 23030 + i, "/foreign.Race?methods=a"))
                    .ok());
  }
  for (const auto& client : clients) {
    const absl::Status started = client->Start(absl::Seconds(60));
    EXPECT_TRUE(started.ok()) << started;
  }
  const std::string text = Node(*clients.front(), "/dubbo/mapping/foreign.Race").value;
  EXPECT_THAT(std::vector<std::string>(absl::StrSplit(text, ',')),
              testing::UnorderedElementsAreArray(wanted));
}

TEST_F(ProviderNodesTest, Ipv6StandsInBrackets) {
  auto client = Open("shop6");
  ASSERT_TRUE(client->provider().Export("tri://[::1]:23021/foreign.V6?methods=greet").ok());
  ASSERT_TRUE(client->Start(absl::Seconds(10)).ok());
  auto instance = Json::Parse(Node(*client, "/services/shop6/[::1]:23021").value);
  ASSERT_TRUE(instance.ok());
  EXPECT_EQ((*instance)["address"].AsString(), "[::1]");
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

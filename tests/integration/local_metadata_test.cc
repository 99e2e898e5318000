// Storage type `local`: processes ask each other, no document is in the registry.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "signpost/client/client.h"
#include "signpost/client/plugins/dubbo_metadata.h"
#include "signpost/client/plugins/thrift_metadata.h"
#include "signpost/client/plugins/triple_metadata.h"
#include "signpost/client/plugins/zookeeper.h"
#include "signpost/common/await.h"
#include "tests/support/child_process.h"
#include "tests/support/zookeeper_server.h"

namespace signpost {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class LocalMetadataTest : public testing::Test {
 protected:
  void SetUp() override {
    const absl::Status started = server_.Start();
    ASSERT_TRUE(started.ok()) << started;
    ASSERT_TRUE(AddZookeeper(registries_).ok());
    registry_ = absl::StrCat("zookeeper://", server_.address(), "?session=2000&mode=application");
  }
  std::unique_ptr<Client> Open(const std::string& app, const std::string& metadata) {
    ClientOptions options;
    options.app = app;
    options.registry = registry_;
    options.metadata = metadata;
    options.metadata_protocols = {protocol_};
    auto client = Client::Create(options, registries_);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }

  ZookeeperServer server_;
  RegistryFactories registries_{"registry"};
  MetadataProtocol protocol_ = ThriftMetadata();
  std::string registry_;
};

// Over each of the protocols.
class LocalMetadataProtocolTest : public LocalMetadataTest,
                                  public testing::WithParamInterface<const char*> {
 protected:
  LocalMetadataProtocolTest() {
    if (GetParam() == std::string("dubbo")) protocol_ = DubboMetadata();
    if (GetParam() == std::string("tri")) protocol_ = TripleMetadata();
  }
};
INSTANTIATE_TEST_SUITE_P(Of, LocalMetadataProtocolTest, testing::Values("thrift", "dubbo", "tri"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(LocalMetadataProtocolTest, AConsumerAsksTheProvider) {
  auto provider = Open("shop", "local");
  ASSERT_TRUE(provider->provider().Export("tri://127.0.0.1:50051/a.A?methods=x&version=1").ok());
  ASSERT_TRUE(provider->Start(absl::Seconds(20)).ok());
  EXPECT_EQ(provider->provider().registered().paths.size(), 2u);  // mapping, instance
  auto consumer = Open("", "remote");
  auto directory = consumer->consumer().Refer("a.A:1");
  ASSERT_TRUE(directory.ok());
  const absl::Status ready = (*directory)->WaitReady(absl::Seconds(20));
  ASSERT_TRUE(ready.ok()) << ready;
  EXPECT_EQ((*directory)->Pick(Request())->endpoint.address(), "127.0.0.1:50051");
  // Nothing in the centre.
  auto documents =
      Await<absl::StatusOr<std::vector<StoreChild>>>(absl::Seconds(10), [&](auto done) {
        consumer->centre().store().List("/dubbo/metadata/shop", CallOptions(), std::move(done));
      });
  ASSERT_TRUE(documents.ok()) << documents.status();
  EXPECT_TRUE(documents->empty());
  // A later export is a new revision, asked for in its turn.
  ASSERT_TRUE(provider->provider().Export("tri://127.0.0.1:50051/a.B?methods=y").ok());
  auto second = consumer->consumer().Refer("a.B");
  EXPECT_TRUE((*second)->WaitReady(absl::Seconds(20)).ok());
}

TEST_F(LocalMetadataTest, WhatIsReferredToIsAmongTheSubscribedUrls) {
  std::shared_ptr<const MetadataService> served;
  MetadataProtocol protocol = ThriftMetadata();
  protocol.server = [&served, server = protocol.server](auto service, const std::string& host,
                                                        uint16_t port) {
    served = service;
    return server(std::move(service), host, port);
  };
  ClientOptions options;
  options.app = "shop";
  options.registry = registry_;
  options.metadata = "local";
  options.metadata_protocols = {protocol};
  auto client = Client::Create(options, registries_);
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_THAT(served->SubscribedUrls(), IsEmpty());
  auto first = (*client)->consumer().Refer("g/a.A:1");
  auto second = (*client)->consumer().Refer("a.B");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_THAT(
      served->SubscribedUrls(),
      UnorderedElementsAre(AllOf(HasSubstr("/a.A?"), HasSubstr("group=g")), HasSubstr("/a.B?")));
  (*first)->Close();
  EXPECT_THAT(served->SubscribedUrls(), ElementsAre(HasSubstr("/a.B?")));
  (*client)->Shutdown(absl::ZeroDuration());
  EXPECT_THAT(served->SubscribedUrls(), IsEmpty());
}

TEST_F(LocalMetadataTest, OfTheCommand) {
  ChildProcess provider({"tools/signpost", "provide", "--app=shop", "--address=127.0.0.1:50052",
                         "--service=a.A", "--param=methods=x", "--metadata=local",
                         "--registry=" + registry_});
  ASSERT_TRUE(
      provider.WaitForOutput("registered /services/shop/127.0.0.1:50052\n", absl::Seconds(30)))
      << provider.output();
  ChildProcess resolve({"tools/signpost", "resolve", "a.A", "--registry=" + registry_});
  EXPECT_EQ(resolve.Wait(absl::Seconds(30)), 0);
  EXPECT_THAT(resolve.output(), HasSubstr("127.0.0.1:50052"));
  ChildProcess metadata(
      {"tools/signpost", "metadata", "shop", "--json", "--registry=" + registry_});
  EXPECT_EQ(metadata.Wait(absl::Seconds(30)), 0);
  EXPECT_THAT(metadata.output(), HasSubstr(R"("source":"service")"));
  provider.Signal(SIGTERM);
  EXPECT_EQ(provider.Wait(absl::Seconds(20)), 0);
}

TEST_F(LocalMetadataTest, WithoutAServerItIsRefused) {
  ClientOptions options;
  options.app = "shop";
  options.registry = registry_;
  options.metadata = "local";
  EXPECT_TRUE(absl::IsInvalidArgument(Client::Create(options, registries_).status()));
  options.metadata = "elsewhere";
  EXPECT_TRUE(absl::IsInvalidArgument(Client::Create(options, registries_).status()));
}

}  // namespace
}  // namespace signpost

// Two clients of storage type `local`: one asks the other, no document is in the registry.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "signpost/client/client.h"
#include "signpost/client/plugins/memory.h"
#include "signpost/client/plugins/triple_metadata.h"

namespace signpost {
namespace {

TEST(TripleMetadataPluginTest, AConsumerAsksTheProvider) {
  RegistryFactories registries{"registry"};
  ASSERT_TRUE(AddMemory(registries).ok());
  const auto open = [&](const std::string& app, const std::string& metadata) {
    ClientOptions options;
    options.app = app;
    options.registry = "memory://triple-metadata";
    options.metadata = metadata;
    TripleMetadataOptions triple;
    triple.host = "127.0.0.1";
    options.metadata_protocols = {TripleMetadata(triple)};
    return Client::Create(options, registries);
  };
  auto provider = open("shop", "local");
  ASSERT_TRUE(provider.ok()) << provider.status();
  ASSERT_TRUE((*provider)->provider().Export("tri://127.0.0.1:50051/a.A?version=1").ok());
  ASSERT_TRUE((*provider)->Start(absl::Seconds(20)).ok());
  auto consumer = open("", "remote");
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  auto directory = (*consumer)->consumer().Refer("a.A:1");
  ASSERT_TRUE(directory.ok()) << directory.status();
  const absl::Status ready = (*directory)->WaitReady(absl::Seconds(20));
  ASSERT_TRUE(ready.ok()) << ready;
  EXPECT_EQ((*directory)->Pick(Request())->endpoint.address(), "127.0.0.1:50051");
}

}  // namespace
}  // namespace signpost

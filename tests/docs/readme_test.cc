// README's example, word for word (//tests/lint:readme_test compares them), against a real
// ZooKeeper.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/zookeeper_server.h"

// [readme]
#include "signpost/client/client.h"
#include "signpost/client/plugins/zookeeper.h"

absl::StatusOr<std::string> FindGreeter(const std::string& registry) {
  signpost::RegistryFactories registries("registry");
  absl::Status status = signpost::AddZookeeper(registries);
  if (!status.ok()) return status;
  auto client = signpost::Client::Create({.app = "shop", .registry = registry}, registries);
  if (!client.ok()) return client.status();
  // What this process offers; call it when the port listens.
  status = (*client)->provider().Export("tri://192.0.2.1:50051/org.example.Greeter?methods=greet");
  if (status.ok()) status = (*client)->Start(absl::Seconds(5));
  // What it calls.
  auto greeter = (*client)->consumer().Refer("org.example.Greeter");
  if (status.ok()) status = greeter.status();
  if (status.ok()) status = (*greeter)->WaitReady(absl::Seconds(5));
  if (!status.ok()) return status;
  auto picked = (*greeter)->Pick({});  // no lock, no allocation
  if (!picked.ok()) return picked.status();
  std::string address = picked->endpoint.address();  // call it, then say how it went
  (*greeter)->Done(*picked, {});
  return address;  // the instance goes with the client
}
// [readme]

namespace {

TEST(ReadmeTest, TheExampleFindsItself) {
  signpost::ZookeeperServer server;
  const absl::Status started = server.Start();
  ASSERT_TRUE(started.ok()) << started;
  auto address = FindGreeter("zookeeper://" + server.address());
  ASSERT_TRUE(address.ok()) << address.status();
  EXPECT_EQ(*address, "192.0.2.1:50051");
}

}  // namespace

#include "signpost/tools/cli/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <sstream>
#include <string>

namespace signpost::cli {
namespace {

TEST(ByRevisionTest, LeavesOutWhatExportsNothing) {
  InstanceList list;
  auto add = [&](const std::string& host, const std::string& revision) {
    auto instance = std::make_shared<ServiceInstance>();
    instance->app = "shop";
    instance->host = host;
    instance->port = 1;
    if (!revision.empty()) instance->metadata[kRevisionKey] = revision;
    list.instances.push_back(instance);
  };
  add("192.0.2.1", "r1");
  add("192.0.2.2", "0");
  add("192.0.2.3", "");
  add("192.0.2.4", "r1");
  const auto by_revision = ByRevision(list);
  ASSERT_EQ(by_revision.size(), 1u);
  EXPECT_EQ(by_revision.at("r1").size(), 2u);
}

TEST(CompleteOptionsTest, TheRegistryOfAFlagThenOfDubbosNamesThenTheDefault) {
  setenv("DUBBO_REGISTRY_ADDRESS", "zookeeper://192.0.2.1:2181", 1);
  setenv("DUBBO_REGISTRY_GROUP", "blue", 1);
  std::ostringstream err;
  Arguments arguments;
  arguments.registry = "memory://flag";
  EXPECT_EQ(CompleteOptions(ClientOptions(), arguments, err)->registry, "memory://flag?group=blue");
  arguments.registry.clear();
  EXPECT_EQ(CompleteOptions(ClientOptions(), arguments, err)->registry,
            "zookeeper://192.0.2.1:2181?group=blue");
  unsetenv("DUBBO_REGISTRY_ADDRESS");
  EXPECT_EQ(CompleteOptions(ClientOptions(), arguments, err)->registry,
            DefaultRegistry() + "?group=blue");
  unsetenv("DUBBO_REGISTRY_GROUP");
  EXPECT_EQ(err.str().empty(), DefaultRegistry() == "signpost://127.0.0.1:2280") << err.str();
}

TEST(WithLevelsTest, ReplacesWhatTheUrlsSay) {
  const struct {
    const char* registry;
    const char* wanted;
  } kTable[] = {
      {"zookeeper://192.0.2.1:2181", "zookeeper://192.0.2.1:2181?mode=dual"},
      {"zookeeper://192.0.2.1:2181?mode=interface&session=5000",
       "zookeeper://192.0.2.1:2181?mode=dual&session=5000"},
      {"zookeeper://u:p4ss@192.0.2.1:2181?registry-type=service",
       "zookeeper://u:p4ss@192.0.2.1:2181?mode=dual"},
      {"service-discovery-registry://192.0.2.1:2181?registry=zookeeper",
       "zookeeper://192.0.2.1:2181?mode=dual"},
      {"zookeeper://192.0.2.1:2181|memory://x",
       "zookeeper://192.0.2.1:2181?mode=dual|memory://x?mode=dual"},
      {"embedded:///tmp/x", "embedded:///tmp/x?mode=dual"},
  };
  for (const auto& row : kTable) {
    const auto registry = WithLevels(row.registry, "mode", "dual");
    ASSERT_TRUE(registry.ok()) << row.registry << ": " << registry.status();
    EXPECT_EQ(*registry, row.wanted);
  }
  const absl::Status bad = WithLevels("u:p4ss@192.0.2.1", "mode", "dual").status();
  EXPECT_TRUE(absl::IsInvalidArgument(bad)) << bad;
  EXPECT_EQ(bad.ToString().find("p4ss"), std::string::npos) << bad;
}

}  // namespace
}  // namespace signpost::cli

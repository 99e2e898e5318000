#include "signpost/client/plugins/builtins.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace signpost {
namespace {

TEST(AddBuiltinRegistries, KnowsAllSchemes) {
  RegistryFactories factories("registry");
  ASSERT_TRUE(AddBuiltinRegistries(factories).ok());
  EXPECT_EQ(factories.Names(),
            (std::vector<std::string>{"embedded", "memory", "signpost", "zookeeper"}));
  EXPECT_EQ(AddBuiltinRegistries(factories).code(), absl::StatusCode::kAlreadyExists);
}

}  // namespace
}  // namespace signpost

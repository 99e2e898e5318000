#include "signpost/registry/store/key_value.h"

#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace signpost {
namespace {

TEST(MapKeyValueTest, WritesReadsAndScans) {
  MapKeyValue data;
  EXPECT_EQ(data.last_version(), 0);
  const KeyValue::Record record{"v", 3, 7};
  ASSERT_TRUE(data.Write({{"/p/a", record},
                          {"/p/b/1", record},
                          {"/p/b/2", record},
                          {"/p/c", record},
                          {"/q", record}},
                         5)
                  .ok());
  EXPECT_EQ(data.last_version(), 5);
  ASSERT_TRUE(data.Get("/p/a")->has_value());
  EXPECT_EQ((*data.Get("/p/a"))->value, "v");
  EXPECT_EQ((*data.Get("/p/a"))->version, 3);
  EXPECT_EQ((*data.Get("/p/a"))->session, 7u);
  EXPECT_FALSE(data.Get("/p")->has_value());
  std::vector<std::string> seen;
  const auto visit = [&](absl::string_view key, const KeyValue::Record&, std::string* seek) {
    seen.emplace_back(key);
    if (key == "/p/b/1") *seek = "/p/b0";
    return key != "/p/c";
  };
  ASSERT_TRUE(data.Scan("/p/", visit).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{"/p/a", "/p/b/1", "/p/c"}));
  ASSERT_TRUE(data.Write({{"/p/a", std::nullopt}}, 6).ok());
  EXPECT_FALSE(data.Get("/p/a")->has_value());
}

}  // namespace
}  // namespace signpost

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "signpost/registry/store/store_centre.h"

namespace signpost {
namespace {

StoreLayout Of(const std::string& parameters) {
  return StoreLayout::FromUrl(*Url::Parse("zookeeper://h:2181" + parameters));
}

TEST(StoreLayoutTest, DubbosRoots) {
  const StoreLayout layout = Of("");
  EXPECT_EQ(layout.instances, "/services");
  EXPECT_EQ(layout.mapping, "/dubbo/mapping");
  EXPECT_EQ(layout.config, "/dubbo/config");
  EXPECT_EQ(layout.interfaces, "/dubbo");
  EXPECT_EQ(layout.MetadataRoots(), (std::vector<std::string>{"/dubbo/metadata", "/dubbo"}));
}

TEST(StoreLayoutTest, GroupMovesAllAndRootPathTheInstances) {
  for (const char* group : {"?group=g1", "?group=/g1", "?group=/g1/"}) {
    const StoreLayout layout = Of(group);
    EXPECT_EQ(layout.instances, "/g1");
    EXPECT_EQ(layout.mapping, "/g1/mapping");
    EXPECT_EQ(layout.interfaces, "/g1");
    // dubbo-go's root is where the instances lie.
    EXPECT_EQ(layout.MetadataRoots(), std::vector<std::string>{"/g1/metadata"});
  }
  const StoreLayout both = Of("?group=g1&rootPath=/apps");
  EXPECT_EQ(both.instances, "/apps");
  EXPECT_EQ(both.interfaces, "/g1");
  EXPECT_EQ(both.MetadataRoots(), (std::vector<std::string>{"/g1/metadata", "/g1"}));
  EXPECT_EQ(Of("?group=g1&rootPath=/Services").instances, "/g1");
  EXPECT_EQ(Of("?group=/").instances, "/services");
}

TEST(StoreLayoutTest, MetadataPathsSayWhereDocumentsAreWritten) {
  EXPECT_EQ(Of("?metadata-paths=java").MetadataRoots(),
            std::vector<std::string>{"/dubbo/metadata"});
  EXPECT_EQ(Of("?metadata-paths=go").MetadataRoots(), std::vector<std::string>{"/dubbo"});
  EXPECT_EQ(Of("?metadata-paths=go, java").MetadataRoots().size(), 2u);
  // Where there is no place for dubbo-go's there is always Java's.
  EXPECT_EQ(Of("?metadata-paths=go&group=g").MetadataRoots(),
            std::vector<std::string>{"/g/metadata"});
  EXPECT_TRUE(StoreLayout::Check(*Url::Parse("zookeeper://h?metadata-paths=go")).ok());
  const absl::Status bad = StoreLayout::Check(*Url::Parse("zookeeper://h?metadata-paths=rust"));
  EXPECT_EQ(bad.message(), "parameter metadata-paths=rust; known: java, go, or both by a comma");
}

}  // namespace
}  // namespace signpost

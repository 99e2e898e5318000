#include "signpost/registry/store/instance_folder.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace signpost::store_internal {
namespace {

StoreChild Child(const std::string& host, int64_t registered, const std::string& name = "") {
  ServiceInstance instance;
  instance.app = "shop";
  instance.host = host;
  instance.port = 20880;
  instance.metadata[kRevisionKey] = "r1";
  instance.metadata[kTimestampKey] = absl::StrCat(registered);
  StoreChild child;
  child.name = name.empty() ? instance.id() : name;
  child.data.value = ToCuratorJson(instance);
  return child;
}

TreeDelta Added(std::vector<StoreChild> children) {
  TreeDelta delta;
  delta.added = std::move(children);
  return delta;
}

TEST(InstanceFolderTest, DeltasFollowTheNodes) {
  InstanceFolder folder("shop", "/services/shop");
  InstanceUpdate update = folder.Apply(Added({Child("192.0.2.1", 1), Child("192.0.2.2", 1)}));
  EXPECT_EQ(update.delta.added.size(), 2u);
  EXPECT_EQ(update.list->instances.size(), 2u);
  const InstancePtr second = update.list->instances[1];

  TreeDelta delta;
  delta.removed = {"192.0.2.1:20880"};
  update = folder.Apply(delta);
  ASSERT_EQ(update.delta.removed.size(), 1u);
  EXPECT_EQ(update.delta.removed[0]->host, "192.0.2.1");
  // What did not change is the same object.
  EXPECT_EQ(update.list->instances[0], second);
}

// A provider that restarts may have two nodes for a while.
TEST(InstanceFolderTest, OfTwoNodesOfOneAddressTheNewerCounts) {
  InstanceFolder folder("shop", "/services/shop");
  folder.Apply(Added({Child("192.0.2.1", 5, "old")}));
  InstanceUpdate update = folder.Apply(Added({Child("192.0.2.1", 9, "new")}));
  ASSERT_EQ(update.list->instances.size(), 1u);
  EXPECT_EQ(update.list->instances[0]->timestamp_ms(), 9);
  EXPECT_EQ(update.delta.changed.size(), 1u);
  TreeDelta gone;
  gone.removed = {"old"};
  update = folder.Apply(gone);
  EXPECT_TRUE(update.delta.removed.empty());
  EXPECT_EQ(update.list->instances.size(), 1u);
  gone.removed = {"new"};
  update = folder.Apply(gone);
  EXPECT_EQ(update.delta.removed.size(), 1u);
}

TEST(InstanceFolderTest, WhatIsNoInstanceIsNamedAndMayBecomeOne) {
  InstanceFolder folder("shop", "/services/shop");
  StoreChild bare;
  bare.name = "providers";
  bare.exists = false;
  StoreChild text;
  text.name = "192.0.2.9:20880";
  text.data.value = "192.0.2.9";
  InstanceUpdate update = folder.Apply(Added({bare, text}));
  EXPECT_TRUE(update.list->instances.empty());
  ASSERT_EQ(update.list->skipped.size(), 2u);
  EXPECT_EQ(update.list->skipped[0].path, "/services/shop/192.0.2.9:20880");
  EXPECT_EQ(update.list->skipped[1].why, "a folder, or not to be read with these credentials");
  TreeDelta repaired;
  repaired.changed = {Child("192.0.2.9", 1)};
  update = folder.Apply(repaired);
  EXPECT_EQ(update.list->instances.size(), 1u);
  EXPECT_EQ(update.list->skipped.size(), 1u);
}

}  // namespace
}  // namespace signpost::store_internal

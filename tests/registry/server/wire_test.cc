#include "signpost/registry/server/wire.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace signpost::server_internal {
namespace {

TEST(WireTest, EventsComeBackAsTheyWere) {
  WatchEvent tree;
  tree.sequence = 5;
  tree.watch = 7;
  tree.tree = true;
  tree.more = true;
  tree.delta.added = {{"a", true, {"va", 1, true, true}}};
  tree.delta.changed = {{"b", false, {}}};
  tree.delta.removed = {"c"};
  const WatchEvent back = FromWire(ToWire(tree));
  EXPECT_EQ(back.sequence, 5);
  EXPECT_EQ(back.watch, 7);
  EXPECT_TRUE(back.tree);
  EXPECT_TRUE(back.more);
  EXPECT_TRUE(back.error.ok());
  ASSERT_EQ(back.delta.added.size(), 1u);
  EXPECT_EQ(back.delta.added[0].name, "a");
  EXPECT_EQ(back.delta.added[0].data.value, "va");
  EXPECT_EQ(back.delta.added[0].data.version, 1);
  EXPECT_TRUE(back.delta.added[0].data.session_bound);
  EXPECT_TRUE(back.delta.added[0].data.owned);
  ASSERT_EQ(back.delta.changed.size(), 1u);
  EXPECT_FALSE(back.delta.changed[0].exists);
  EXPECT_EQ(back.delta.removed, std::vector<std::string>{"c"});

  WatchEvent value;
  value.value = {std::string("\0x", 2), 9, false, false};
  const WatchEvent value_back = FromWire(ToWire(value));
  EXPECT_FALSE(value_back.tree);
  EXPECT_EQ(value_back.value.value, std::string("\0x", 2));

  // An empty delta is one too.
  WatchEvent empty;
  empty.tree = true;
  EXPECT_TRUE(FromWire(ToWire(empty)).tree);
}

TEST(WireTest, StatusesKeepCodeAndMessage) {
  WatchEvent error;
  error.error = absl::NotFoundError("/k: no such key");
  EXPECT_EQ(FromWire(ToWire(error)).error, error.error);
  bool refused = false;
  try {
    Refuse(absl::AbortedError("/k: version"));
  } catch (const server_wire::Refused& e) {
    refused = true;
    EXPECT_EQ(FromWire(e), absl::AbortedError("/k: version"));
  }
  EXPECT_TRUE(refused);
}

// An event without anything, or with a code of a later version, is an error all the same.
TEST(WireTest, UnknownCodesAreNoSuccess) {
  for (const int code : {0, -1, 17, 1000000}) {
    server_wire::Event event;
    event.code = code;
    event.message = "odd";
    const WatchEvent back = FromWire(event);
    EXPECT_EQ(back.error.code(), absl::StatusCode::kUnknown) << code;
    EXPECT_EQ(back.error.message(), "odd");
  }
}

}  // namespace
}  // namespace signpost::server_internal

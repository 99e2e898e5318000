// Runs examples/custom_router.
#include <gtest/gtest.h>

#include "absl/time/time.h"
#include "tests/support/child_process.h"

namespace signpost {
namespace {

TEST(CustomRouterTest, KeepsToTheZoneAndElseGoesToAll) {
  ChildProcess example({"examples/custom_router"});
  EXPECT_EQ(example.Wait(absl::Seconds(60)), 0);
  EXPECT_EQ(example.output(),
            "east: 192.0.2.1\n"
            "west: 192.0.2.2\n"
            "north: 192.0.2.1 192.0.2.2\n");
}

}  // namespace
}  // namespace signpost

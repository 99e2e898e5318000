#include "signpost/registry/store/store_key.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"

namespace signpost {
namespace {

TEST(StoreKeyTest, Paths) {
  for (const char* good : {"/a", "/services/shop/192.0.2.1:20880", "/a/[::1]:1", "/\xc3\xa4/b c"}) {
    EXPECT_TRUE(CheckStoreKey(good).ok()) << good;
    EXPECT_TRUE(CheckStorePrefix(good).ok()) << good;
  }
  EXPECT_TRUE(CheckStorePrefix("/").ok());
  for (const std::string bad : {"", "/", "a", "a/b", "/a/", "//a", "/a//b", "/.", "/a/../b", "/a\n",
                                "/a\x7f", "/a\xff", "/a\xed\xa0\x80"}) {
    const absl::Status status = CheckStoreKey(bad);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << bad;
    EXPECT_FALSE(absl::StrContains(status.message(), '\n')) << status;
  }
  EXPECT_FALSE(CheckStoreKey(std::string("/a\0b", 4)).ok());
}

}  // namespace
}  // namespace signpost

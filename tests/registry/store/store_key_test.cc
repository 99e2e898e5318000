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

TEST(StoreKeyTest, LengthAndDepthAreBounded) {
  const std::string longest = "/" + std::string(kMaxStoreKeyBytes - 1, 'x');
  EXPECT_TRUE(CheckStoreKey(longest).ok());
  std::string deepest;
  for (size_t i = 0; i < kMaxStoreKeyParts; ++i) deepest += "/x";
  EXPECT_TRUE(CheckStoreKey(deepest).ok());
  std::string both;
  for (int i = 0; i < 800000; ++i) both += "/x";
  for (const std::string& bad : {longest + "x", deepest + "/x", both}) {
    for (const absl::Status& status : {CheckStoreKey(bad), CheckStorePrefix(bad)}) {
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << bad.size();
      EXPECT_TRUE(absl::StrContains(status.message(), "the limit is")) << status;
      EXPECT_LT(status.message().size(), 1000u);
      EXPECT_EQ(status.message().substr(0, 100), bad.substr(0, 100));
    }
  }
}

}  // namespace
}  // namespace signpost

#include "signpost/common/md5.h"

#include <gtest/gtest.h>

#include <string>

namespace signpost {
namespace {

// Vectors of RFC 1321.
TEST(Md5Test, KnownVectors) {
  EXPECT_EQ(Md5Hex(""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(Md5Hex("abc"), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(Md5Hex("message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
}

TEST(Md5Test, ZeroBytesCount) {
  EXPECT_NE(Md5Hex(std::string("a\0b", 3)), Md5Hex("a"));
  EXPECT_EQ(Md5("abc")[0], 0x90);
  EXPECT_EQ(Md5("abc")[15], 0x72);
}

}  // namespace
}  // namespace signpost

#include "signpost/registry/zookeeper/node_acl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "zookeeper.h"

namespace signpost::zookeeper_internal {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kOps[] = "ops:FbASyOI3pVVtHBj3gFX9fOhJwRY=";

TEST(NodeAclTest, ReadersInZookeepersNotation) {
  const auto readers = ParseReaders(absl::StrCat(
      "world:anyone, digest:", kOps, ",ip:192.0.2.1,ip:192.0.2.0/24,ip:2001:db8::/32,sasl:ann"));
  ASSERT_TRUE(readers.ok()) << readers.status();
  std::vector<std::string> all;
  for (const Reader& reader : *readers) all.push_back(absl::StrCat(reader.scheme, "|", reader.id));
  EXPECT_THAT(all,
              testing::ElementsAre("world|anyone", absl::StrCat("digest|", kOps), "ip|192.0.2.1",
                                   "ip|192.0.2.0/24", "ip|2001:db8::/32", "sasl|ann"));
  EXPECT_TRUE(ParseReaders("")->empty());
  EXPECT_TRUE(ParseReaders(" ")->empty());
}

TEST(NodeAclTest, BadReadersAreNamedByNumberOnly) {
  for (const char* bad :
       {"s3cret", ":s3cret", "", "world:s3cret", "world:", "digest:ops:s3cret", "digest:s3cret",
        "digest:ops:s3crets3crets3crets3crets3=", "digest::FbASyOI3pVVtHBj3gFX9fOhJwRY=",
        "digest:ops:FbASyOI3pVVtHBj3gFX9fOhJwRY", "ip:s3cret", "ip:192.0.2.1/33", "ip:192.0.2.1/",
        "ip:2001:db8::/129", "ip:192.0.2.1/-1", "auth:s3cret", "sasl:", "ops:s3cret",
        "super:s3cret"}) {
    const auto readers = ParseReaders(absl::StrCat("world:anyone,", bad, ",ip:192.0.2.1"));
    ASSERT_FALSE(readers.ok()) << bad;
    EXPECT_EQ(readers.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(readers.status().message(), HasSubstr("item 2 is "));
    EXPECT_THAT(readers.status().message(), Not(HasSubstr("s3cret")));
  }
  EXPECT_FALSE(ParseReaders(",").ok());
}

TEST(NodeAclTest, TheCreatorHasAllRightsAndReadersOne) {
  const NodeAcl acl(true, {{"world", "anyone"}, {"digest", kOps}});
  const ACL_vector& all = *acl.get();
  ASSERT_EQ(all.count, 3);
  EXPECT_STREQ(all.data[0].id.scheme, "auth");
  EXPECT_EQ(all.data[0].perms, ZOO_PERM_ALL);
  EXPECT_STREQ(all.data[1].id.scheme, "world");
  EXPECT_STREQ(all.data[1].id.id, "anyone");
  EXPECT_EQ(all.data[1].perms, ZOO_PERM_READ);
  EXPECT_STREQ(all.data[2].id.scheme, "digest");
  EXPECT_STREQ(all.data[2].id.id, kOps);
  EXPECT_EQ(all.data[2].perms, ZOO_PERM_READ);
}

TEST(NodeAclTest, WithoutALoginEverythingIsOpen) {
  const NodeAcl acl(false, {});
  ASSERT_EQ(acl.get()->count, 1);
  EXPECT_STREQ(acl.get()->data[0].id.scheme, "world");
  EXPECT_EQ(acl.get()->data[0].perms, ZOO_PERM_ALL);
}

TEST(NodeAclTest, WhyDeniedNamesTheUserAndNeverThePassword) {
  const std::string why = WhyDenied("read", "a\nn:s3cret:s3cret");
  EXPECT_THAT(why, HasSubstr("user 'a\\nn' with this password may not read it"));
  EXPECT_THAT(why, Not(HasSubstr("s3cret")));
  EXPECT_THAT(WhyDenied("create", ""), HasSubstr("nobody may create it without a login"));
}

}  // namespace
}  // namespace signpost::zookeeper_internal

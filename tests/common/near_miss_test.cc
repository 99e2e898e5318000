#include "signpost/common/near_miss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace signpost {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::vector<absl::string_view> kKnown = {"side", "addresses", "providerAddresses", "match",
                                               "step"};

Json Object(const std::string& text) {
  auto json = Json::Parse(text);
  EXPECT_TRUE(json.ok()) << json.status();
  return json.ok() ? *json : Json();
}

TEST(NearMissTest, OneOrTwoLettersAwayIsMeantToBeTheKnownOne) {
  const struct {
    const char* key;
    const char* known;
  } kTable[] = {{"providerAdresses", "providerAddresses"},
                {"provideraddresses", "providerAddresses"},
                {"providerAddress", "providerAddresses"},
                {"adresses", "addresses"},
                {"adreses", "addresses"},
                {"ADDRESSES", "addresses"},
                {"matches", "match"},
                {"Side", "side"},
                {"stepp", "step"},
                {"stp", "step"},
                {"setp", "step"},
                {"side", "side"}};
  for (const auto& row : kTable) EXPECT_EQ(NearMiss(row.key, kKnown), row.known) << row.key;
}

TEST(NearMissTest, AnotherWordIsAnotherWord) {
  for (const char* key : {"", "x", "id", "time", "colour", "provider", "address_list", "stage",
                          "configVersion", "adess", "addressessss"}) {
    EXPECT_EQ(NearMiss(key, kKnown), "") << key;
  }
  EXPECT_EQ(NearMiss("step", {}), "");
}

TEST(NearMissTest, TheNearestIsNamed) {
  EXPECT_EQ(NearMiss("serviceX", {"servicesss", "services"}), "services");
  EXPECT_EQ(NearMiss("providerAddresse", {"providerAddress", "providerAddresses"}),
            "providerAddress");
}

TEST(NearMissTest, LongKeysCostNothing) {
  const std::string huge(1 << 20, 'a');
  EXPECT_EQ(NearMiss(huge, kKnown), "");
  EXPECT_EQ(NearMiss(std::string("\0\xff\x80", 3), kKnown), "");
}

TEST(CheckKeysTest, ANearMissIsAFaultThatNamesBoth) {
  std::vector<std::string> unknown;
  const absl::Status status =
      CheckKeys(Object(R"({"side":1,"adresses":2})"), "configs[0]", kKnown, &unknown);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_EQ(status.message(), "configs[0]: unknown key 'adresses', did you mean 'addresses'?");
  EXPECT_EQ(CheckKeys(Object(R"({"stepp":1})"), "", kKnown, nullptr).message(),
            "unknown key 'stepp', did you mean 'step'?");
}

TEST(CheckKeysTest, OthersAreToldAndNoFault) {
  std::vector<std::string> unknown;
  EXPECT_TRUE(
      CheckKeys(Object(R"({"side":1,"colour":2,"":3})"), "configs[0]", kKnown, &unknown).ok());
  EXPECT_THAT(unknown, ElementsAre("configs[0]: 'colour'", "configs[0]: ''"));
  EXPECT_TRUE(CheckKeys(Object(R"({"colour":2})"), "", kKnown, &unknown).ok());
  EXPECT_EQ(unknown.back(), "'colour'");
  EXPECT_TRUE(CheckKeys(Object(R"({"colour":2})"), "", kKnown, nullptr).ok());
  EXPECT_TRUE(CheckKeys(Json(), "", kKnown, nullptr).ok());
}

TEST(CheckKeysTest, AHostileKeyIsEscapedAndCut) {
  std::vector<std::string> unknown;
  Json object;
  object.Set(absl::StrCat("a\n", std::string(5000, 'b')), "x");
  EXPECT_TRUE(CheckKeys(object, "", kKnown, &unknown).ok());
  ASSERT_EQ(unknown.size(), 1u);
  EXPECT_LT(unknown[0].size(), 150u);
  EXPECT_THAT(unknown[0], Not(HasSubstr("\n")));
}

TEST(DescribeUnknownTest, TenAreNamedAndTheRestCounted) {
  EXPECT_THAT(DescribeUnknown({}), IsEmpty());
  EXPECT_EQ(DescribeUnknown({"'a'", "configs[0]: 'b'"}),
            "unknown keys do nothing: 'a', configs[0]: 'b'");
  const std::string text = DescribeUnknown(std::vector<std::string>(13, "'a'"));
  EXPECT_THAT(text, HasSubstr("'a' and 3 more"));
}

}  // namespace
}  // namespace signpost

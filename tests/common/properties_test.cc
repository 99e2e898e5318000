#include "signpost/common/properties.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/common/hostile.h"

namespace signpost {
namespace {

// `key=value@line` of each entry, separated by blanks.
std::string Read(absl::string_view text) {
  auto properties = ParseProperties(text);
  if (!properties.ok()) return std::string(properties.status().message());
  std::string out;
  for (const Property& property : *properties) {
    absl::StrAppend(&out, out.empty() ? "" : "|", property.key, "=", property.value, "@",
                    property.line);
  }
  return out;
}

TEST(PropertiesTest, SeparatorsAndComments) {
  const struct {
    const char* text;
    const char* read;
  } cases[] = {
      {"", ""},
      {"# a\n! b\n\n   \n  # c = d\n", ""},
      {"a=1", "a=1@1"},
      {"a = 1\nb: 2\nc 3\nd\t=\t4\n", "a=1@1|b=2@2|c=3@3|d=4@4"},
      {"a==b", "a==b@1"},
      {"a=b:c=d", "a=b:c=d@1"},
      {"a  b c", "a=b c@1"},
      {"a", "a=@1"},
      {"a=", "a=@1"},
      {"a= x ", "a=x @1"},
      {"  a=1", "a=1@1"},
      {"a=1#2", "a=1#2@1"},
      {"a=1\r\nb=2\rc=3\n", "a=1@1|b=2@2|c=3@3"},
      {"a=1\na=2\n", "a=1@1|a=2@2"},
      {"\xEF\xBB\xBF"
       "a=1",
       "a=1@1"},
  };
  for (const auto& c : cases) EXPECT_EQ(Read(c.text), c.read) << c.text;
}

TEST(PropertiesTest, Escapes) {
  EXPECT_EQ(Read(R"(a\=b\:c\ d=e)"), "a=b:c d=e@1");
  EXPECT_EQ(Read(R"(a=\tx\\y\q\=)"), "a=\tx\\yq=@1");
  EXPECT_EQ(Read(R"(a=\n\r\f)"), "a=\n\r\f@1");
  EXPECT_EQ(Read(R"(a=\u00e9\u20AC)"), "a=é€@1");
  EXPECT_EQ(Read(R"(a=\uD83D\uDE00)"), "a=😀@1");
  EXPECT_EQ(Read("a=é"), "a=é@1");
  // A path of Windows must be doubled there too.
  EXPECT_EQ(Read(R"(a=\\u0041)"), "a=\\u0041@1");
}

TEST(PropertiesTest, LinesThatGoOn) {
  EXPECT_EQ(Read("a=1,\\\n   2,\\\r\n\t3\nb=4"), "a=1,2,3@1|b=4@4");
  EXPECT_EQ(Read("a=1\\\\\nb=2"), "a=1\\@1|b=2@2");
  EXPECT_EQ(Read("a=1\\\n# no comment here"), "a=1# no comment here@1");
  EXPECT_EQ(Read("# a comment does not go on \\\na=1"), "a=1@2");
  EXPECT_EQ(Read("a=1\\"), "a=1@1");
  EXPECT_EQ(Read("\\\n\nb=2"), "b=2@3");
}

TEST(PropertiesTest, FaultsNameTheLineAndNoValue) {
  EXPECT_EQ(Read("a=1\n=p4ss"), "properties line 2: no key before the value");
  EXPECT_EQ(Read("a=\\u12g4"), "properties line 1: a broken \\u escape");
  EXPECT_EQ(Read("a=\\u12"), "properties line 1: a broken \\u escape");
  EXPECT_EQ(Read("a=\\uD83D"), "properties line 1: a broken \\u escape");
  EXPECT_EQ(Read("a=\\uDE00"), "properties line 1: a broken \\u escape");
  EXPECT_EQ(Read("\na=\\u0000"), "properties line 2: control characters");
  EXPECT_EQ(Read(absl::string_view("a=\0", 3)), "properties line 1: control characters");
  EXPECT_EQ(Read("a=\xff"), "properties: not UTF-8 text");
  EXPECT_FALSE(absl::StrContains(Read("p=p4ss\\u"), "p4ss"));
}

TEST(PropertiesTest, Bounds) {
  PropertiesLimits limits;
  limits.max_bytes = 3;
  EXPECT_TRUE(ParseProperties("a=1", limits).ok());
  EXPECT_EQ(ParseProperties("a=12", limits).status().code(), absl::StatusCode::kInvalidArgument);
  limits = PropertiesLimits();
  limits.max_entries = 2;
  EXPECT_TRUE(ParseProperties("a\nb\n", limits).ok());
  EXPECT_FALSE(ParseProperties("a\nb\nc\n", limits).ok());
}

TEST(PropertiesTest, HostileTextEnds) {
  ForEachHostileText("# x\na.b = c\\\n d\\u0041\nb: \\uD83D\\uDE00\n", 3000,
                     [](const std::string& text) { (void)ParseProperties(text); });
  // In time that grows with the text, not with its square.
  EXPECT_TRUE(ParseProperties(Repeat("\\\n", 500000)).ok());
  EXPECT_TRUE(ParseProperties(absl::StrCat(Repeat("\\", 400001), Repeat("\n\\", 300000))).ok());
}

}  // namespace
}  // namespace signpost

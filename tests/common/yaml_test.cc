#include "signpost/common/yaml.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/common/hostile.h"

namespace signpost {
namespace {

Json One(absl::string_view text) {
  auto documents = ParseYaml(text);
  EXPECT_TRUE(documents.ok()) << documents.status();
  if (!documents.ok() || documents->size() != 1) return Json("not one document");
  return documents->front();
}

std::string Fault(absl::string_view text) {
  return std::string(ParseYaml(text).status().message());
}

TEST(YamlTest, ReadsARule) {
  const Json json =
      One("scope: service\nforce: true\npriority: 10\nkey: org.example.Echo:1.0.0\nconditions:\n"
          "  - 'method=get* => host=192.0.2.*'\n  - => region = $region\ntags: []\nempty:\n");
  EXPECT_EQ(json.Print(),
            R"({"scope":"service","force":true,"priority":10,"key":"org.example.Echo:1.0.0",)"
            R"("conditions":["method=get* => host=192.0.2.*","=> region = $region"],)"
            R"("tags":[],"empty":null})");
}

TEST(YamlTest, Scalars) {
  EXPECT_EQ(
      One("[true, False, yes, '1', \"true\", 1, -2, +3, 0x1F, 1.5, 1e3, ~, null, v3.0, .]").Print(),
      R"([true,false,"yes","1","true",1,-2,3,31,1.5,1000.0,null,null,"v3.0","."])");
  EXPECT_EQ(One("[!!str 1, !!int 1]").Print(), R"(["1",1])");
}

TEST(YamlTest, PlainScalarsAsText) {
  YamlLimits limits;
  limits.plain_is_text = true;
  auto documents = ParseYaml("[007, 1.10, true, 0x1F, '1', ~, , !!int 7]", limits);
  ASSERT_TRUE(documents.ok()) << documents.status();
  EXPECT_EQ(documents->front().Print(), R"(["007","1.10","true","0x1F","1",null,null,7])");
}

TEST(YamlTest, BooleansOfYaml11) {
  const char kText[] =
      "[yes, Yes, YES, no, on, On, OFF, true, FALSE, 'yes', \"on\", !!str no, yEs, ON1, y, n, 07, "
      "~]";
  YamlLimits limits;
  limits.yaml_1_1_booleans = true;
  EXPECT_EQ(
      ParseYaml(kText, limits)->front().Print(),
      R"([true,true,true,false,true,true,false,true,false,"yes","on","no","yEs","ON1","y","n",)"
      R"(7,null])");
  limits.plain_is_text = true;
  EXPECT_EQ(
      ParseYaml(kText, limits)->front().Print(),
      R"([true,true,true,false,true,true,false,true,false,"yes","on","no","yEs","ON1","y","n",)"
      R"("07",null])");
  // Keys are texts.
  EXPECT_EQ(ParseYaml("on: off", limits)->front().Print(), R"({"on":false})");
}

TEST(YamlTest, Documents) {
  auto none = ParseYaml("");
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->empty());
  auto comment = ParseYaml("# nothing\n");
  ASSERT_TRUE(comment.ok());
  EXPECT_TRUE(comment->empty());
  auto two = ParseYaml("a: 1\n---\nb: 2\n");
  ASSERT_TRUE(two.ok());
  ASSERT_EQ(two->size(), 2u);
  EXPECT_EQ((*two)[1]["b"].AsInt(), 2);
}

TEST(YamlTest, Aliases) {
  EXPECT_EQ(One("a: &x [1, 2]\nb: *x\n").Print(), R"({"a":[1,2],"b":[1,2]})");
  EXPECT_FALSE(ParseYaml("a: *missing\n").ok());
  EXPECT_FALSE(ParseYaml("&a [*a]\n").ok());
}

// TC-54
TEST(YamlTest, HostileDocumentsAreRefused) {
  EXPECT_TRUE(absl::StrContains(Fault("a: !!javax.script.ScriptEngineManager [x]"), "custom tag"));
  EXPECT_TRUE(absl::StrContains(Fault("a: !custom x"), "custom tag"));
  EXPECT_TRUE(absl::StrContains(Fault("a: 1\nb: 2\na: 3\n"), "line 3 column 1: a duplicate key"));
  EXPECT_TRUE(absl::StrContains(Fault("? [a]\n: 1\n"), "key"));
  EXPECT_FALSE(ParseYaml("a: [1\n").ok());
  EXPECT_FALSE(ParseYaml("a: \xff\n").ok());
  std::string laughs = "l0: &l0 [x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string alias = absl::StrCat("*l", i - 1);
    absl::StrAppend(&laughs, "l", i, ": &l", i, " [", alias);
    for (int k = 1; k < 10; ++k) absl::StrAppend(&laughs, ", ", alias);
    absl::StrAppend(&laughs, "]\n");
  }
  EXPECT_TRUE(absl::StrContains(Fault(laughs), "more than 100000 nodes"));
  // Few nodes, much text.
  const std::string big =
      absl::StrCat("a: &a ", std::string(300000, 'x'), "\nb: [", Repeat("*a, ", 1000), "]\n");
  EXPECT_TRUE(absl::StrContains(Fault(big), "bytes"));
  EXPECT_FALSE(ParseYaml(std::string(5 << 20, 'x')).ok());
}

// yaml-cpp itself would read these as empty documents without end.
TEST(YamlTest, StrayBracketsAreRefused) {
  for (absl::string_view text : {"]", "}", "a: 1\n}", "[a]]", "- 1\n]\n", "--- \n]\n"}) {
    EXPECT_FALSE(ParseYaml(text).ok()) << text;
  }
  auto three = ParseYaml("---\n---\na\n...\n---\n- b\n");
  ASSERT_TRUE(three.ok()) << three.status();
  EXPECT_EQ(three->size(), 3u);
}

TEST(YamlTest, DepthIsBounded) {
  EXPECT_TRUE(ParseYaml(Repeat("[", 64) + Repeat("]", 64)).ok());
  EXPECT_FALSE(ParseYaml(Repeat("[", 65) + Repeat("]", 65)).ok());
  EXPECT_FALSE(ParseYaml(Repeat("[", 100000) + Repeat("]", 100000)).ok());
  EXPECT_FALSE(ParseYaml(Repeat("{a: ", 100000) + Repeat("}", 100000)).ok());
  EXPECT_FALSE(ParseYaml(Repeat("- ", 100000)).ok());
  // Aliases add their height.
  EXPECT_FALSE(ParseYaml(absl::StrCat("a: &a ", Repeat("[", 40), Repeat("]", 40),
                                      "\nb: ", Repeat("[", 40), "*a", Repeat("]", 40), "\n"))
                   .ok());
}

TEST(YamlTest, HostileTextIsReadOrRefused) {
  int read = 0;
  ForEachHostileText("a: &x [1, 'b', {c: d}]\nb: *x\n---\n- \"e\\n\"\n", 2000,
                     [&read](const std::string& text) {
                       auto documents = ParseYaml(text);
                       if (documents.ok()) ++read;
                     });
  EXPECT_GT(read, 0);
}

}  // namespace
}  // namespace signpost

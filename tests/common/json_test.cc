#include "signpost/common/json.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/common/hostile.h"

namespace signpost {
namespace {

TEST(JsonTest, ReadsEveryKind) {
  auto json = Json::Parse(R"({"a":null,"b":true,"c":-7,"d":1.5,"e":"x","f":[1,"2"],"g":{"h":{}}})");
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_TRUE((*json)["a"].is_null());
  EXPECT_TRUE(json->Has("a"));
  EXPECT_FALSE(json->Has("z"));
  EXPECT_TRUE((*json)["b"].AsBool());
  EXPECT_EQ((*json)["c"].AsInt(), -7);
  EXPECT_EQ((*json)["d"].AsDouble(), 1.5);
  EXPECT_EQ((*json)["e"].AsString(), "x");
  ASSERT_EQ((*json)["f"].AsArray().size(), 2u);
  EXPECT_EQ((*json)["f"].AsArray()[1].AsInt(), 2);
  EXPECT_TRUE((*json)["g"]["h"].is_object());
  EXPECT_TRUE((*json)["e"]["nothing"]["here"].is_null());
}

TEST(JsonTest, PrintsWhatItRead) {
  const std::string text = R"({"z":1,"a":[true,null,"ü\"\\\n"],"n":{"m":1.5}})";
  auto json = Json::Parse(text);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->Print(), text);
  EXPECT_EQ(Json(Json::Object{{"a", 1}}).PrintPretty(), "{\n  \"a\": 1\n}");
}

TEST(JsonTest, LastOfEqualKeysCounts) {
  auto json = Json::Parse(R"({"a":1,"a":2})");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ((*json)["a"].AsInt(), 2);
}

TEST(JsonTest, TextOfScalars) {
  EXPECT_EQ(Json("x").AsText(), "x");
  EXPECT_EQ(Json(7).AsText(), "7");
  EXPECT_EQ(Json(false).AsText(), "false");
  EXPECT_EQ(Json().AsText(), "");
  EXPECT_EQ(Json(Json::Array{1}).AsText(), "");
}

TEST(JsonTest, SetAndAppend) {
  Json json;
  json.Set("a", 1).Set("b", 2).Set("a", 3);
  EXPECT_EQ(json.Print(), R"({"a":3,"b":2})");
  Json list;
  list.Append(1).Append("x");
  EXPECT_EQ(list.Print(), R"([1,"x"])");
  EXPECT_EQ(JsonFromStringMap({{"b", "2"}, {"a", "1"}}).Print(), R"({"a":"1","b":"2"})");
}

TEST(JsonTest, Malformed) {
  for (absl::string_view text :
       {"", " ", "{", "{]", "nul", "{\"a\":1,}", "1 2", "'a'", "\"\xff\"", "\"\\ud800\"", "[1"}) {
    auto json = Json::Parse(text);
    EXPECT_EQ(json.status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_FALSE(Json::Parse(absl::string_view("{}\0x", 4)).ok());
}

TEST(JsonTest, DepthIsBounded) {
  EXPECT_TRUE(Json::Parse(Repeat("[", 64) + Repeat("]", 64)).ok());
  EXPECT_FALSE(Json::Parse(Repeat("[", 65) + Repeat("]", 65)).ok());
  auto deep = Json::Parse(Repeat("[", 100000) + Repeat("]", 100000));
  EXPECT_TRUE(absl::StrContains(deep.status().message(), "nested deeper than 64"));
  EXPECT_FALSE(Json::Parse(Repeat("{\"a\":", 100000) + "1" + Repeat("}", 100000)).ok());
}

TEST(JsonTest, SizeIsBounded) {
  const std::string megabyte = absl::StrCat("[\"", std::string(1 << 20, 'x'), "\"]");
  EXPECT_TRUE(Json::Parse(megabyte).ok());
  Json::Limits limits;
  limits.max_bytes = 1 << 20;
  EXPECT_FALSE(Json::Parse(megabyte, limits).ok());
}

TEST(JsonTest, HostileTextIsReadOrRefused) {
  int read = 0;
  ForEachHostileText(R"({"a":[1,2.5,"x\u00e4"],"b":{"c":null}})", 2000,
                     [&read](const std::string& text) {
                       auto json = Json::Parse(text);
                       if (!json.ok()) return;
                       ++read;
                       auto again = Json::Parse(json->Print());
                       ASSERT_TRUE(again.ok()) << again.status();
                     });
  EXPECT_GT(read, 0);
}

}  // namespace
}  // namespace signpost

// Replays golden/*.bin: what peers have written, and beside each what it means. See
// golden/README.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "signpost/metadata/hessian2/codec.h"
#include "signpost/metadata/hessian2/metadata_service_v1.h"
#include "signpost/tests/metadata/hessian2/show_value.h"

namespace signpost::hessian2 {
namespace {

namespace fs = std::filesystem;

constexpr char kFolder[] = "tests/metadata/hessian2/golden";

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<fs::path> Files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".bin") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<ValuePtr> Decode(const std::string& bytes) {
  std::vector<ValuePtr> values;
  Decoder decoder(bytes, {});
  while (!decoder.done()) {
    const auto value = decoder.Next();
    EXPECT_TRUE(value.ok()) << value.status();
    if (!value.ok()) break;
    values.push_back(*value);
  }
  return values;
}

std::string Encode(const std::vector<ValuePtr>& values) {
  Encoder encoder;
  for (const ValuePtr& value : values) encoder.Write(*value);
  return encoder.Take();
}

TEST(GoldenTest, EachFileIsReadAsItIsMeant) {
  ASSERT_FALSE(Files().empty());
  for (const fs::path& path : Files()) {
    fs::path meaning = path;
    EXPECT_EQ(ShowMessage(ReadFile(path)), ReadFile(meaning.replace_extension(".txt"))) << path;
  }
}

TEST(GoldenTest, WhatIsWrittenAgainMeansTheSame) {
  for (const fs::path& path : Files()) {
    const std::string bytes = ReadFile(path);
    const std::string again = Encode(Decode(bytes));
    EXPECT_EQ(ShowMessage(again), ShowMessage(bytes)) << path;
    EXPECT_EQ(Encode(Decode(again)), again) << path;
  }
}

// Byte for byte, where Java's output depends on nothing but the value.
TEST(GoldenTest, WeWriteAsJava) {
  for (const char* name :
       {"java_collections", "java_exported_urls", "java_live_answer", "java_live_request",
        "java_metadata_info", "java_metadata_infos", "java_numbers", "java_text"}) {
    const std::string bytes = ReadFile(fs::path(kFolder) / absl::StrCat(name, ".bin"));
    EXPECT_EQ(Encode(Decode(bytes)), bytes) << name;
  }
}

TEST(GoldenTest, CutShortIsAnError) {
  for (const fs::path& path : Files()) {
    const std::string bytes = ReadFile(path);
    if (bytes.size() > 2000) continue;
    const size_t whole = Decode(bytes).size();
    for (size_t size = 0; size < bytes.size(); ++size) {
      const std::string cut = ShowMessage(absl::string_view(bytes).substr(0, size));
      const size_t lines = std::count(cut.begin(), cut.end(), '\n');
      if (absl::StrContains(cut, "error: ")) {
        EXPECT_LE(lines, whole) << path << size;
      } else {
        EXPECT_LT(lines, whole) << path << size;  // between two values
      }
    }
  }
}

TEST(GoldenTest, DocumentsOfJavaAndGo) {
  size_t found = 0;
  for (const fs::path& path : Files()) {
    if (!absl::EndsWith(path.stem().string(), "_metadata_info")) continue;
    ++found;
    const std::vector<ValuePtr> values = Decode(ReadFile(path));
    ASSERT_EQ(values.size(), 1u) << path;
    const auto info = MetadataInfoOf(*values[0]);
    ASSERT_TRUE(info.ok()) << path << info.status();
    EXPECT_TRUE(absl::EndsWith(info->app, "-app")) << path << info->app;
    EXPECT_FALSE(info->revision.empty()) << path;
    ASSERT_FALSE(info->services.empty()) << path;
    for (const auto& [key, service] : info->services) {
      EXPECT_EQ(key, service.match_key());
      EXPECT_EQ(service.path, service.name);
      EXPECT_EQ(service.params.at("note"), "na\u00efve \u65e5\u672c \U0001f600") << path;
    }
  }
  EXPECT_GE(found, 1u);
}

// The body of a successful answer: its kind, the document, the attachments.
TEST(GoldenTest, AnswersOfLiveProviders) {
  constexpr char kKey[] = "shop/demo.OrderService:1.0.0:dubbo";
  // Java 3.0 writes no port: it is that of the instance's endpoints.
  for (const auto& [name, release, port] : {std::tuple("java_live_answer", "3.3.6", 23020),
                                            std::tuple("java_3_0_live_answer", "3.0.15", 0)}) {
    const auto values = Decode(ReadFile(fs::path(kFolder) / absl::StrCat(name, ".bin")));
    ASSERT_EQ(values.size(), 3u) << name;
    EXPECT_EQ(Show(*values[0]), "4") << name;
    const auto info = MetadataInfoOf(*values[1]);
    ASSERT_TRUE(info.ok()) << name << info.status();
    ASSERT_EQ(info->services.count(kKey), 1u) << name;
    EXPECT_EQ(info->services.at(kKey).params.at("release"), release);
    EXPECT_EQ(info->services.at(kKey).port, port) << name;
  }
}

}  // namespace
}  // namespace signpost::hessian2

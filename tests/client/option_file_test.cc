#include "signpost/client/option_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/common/hostile.h"

namespace signpost {
namespace {

std::string WriteFile(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

// `key=value` of each text, separated by bars; or the error.
std::string Read(const std::string& path) {
  auto options = ReadOptionFile(path);
  if (!options.ok()) return std::string(options.status().message());
  std::string out;
  for (const FileOption& option : *options) {
    if (!option.is_text) continue;
    absl::StrAppend(&out, out.empty() ? "" : "|", option.key, "=", option.value);
  }
  return out;
}

TEST(OptionFileTest, YamlNestedAndFlat) {
  EXPECT_EQ(Read(WriteFile("a.yaml",
                           "dubbo:\n  application:\n    name: shop\n  registry.address: a://b\n"
                           "dubbo.labels: a=b;c=d\nlist: [1, b, 'c d']\nnone:\nversion: 1.10\n")),
            "dubbo.application.name=shop|dubbo.registry.address=a://b|dubbo.labels=a=b;c=d|"
            "list=1,b,c d|none=|version=1.10");
  EXPECT_EQ(Read(WriteFile("b.yml", "")), "");
  EXPECT_EQ(Read(WriteFile("c.YAML", "# nothing\n")), "");
}

TEST(OptionFileTest, EverythingElseIsProperties) {
  EXPECT_EQ(Read(WriteFile("a.properties", "a: b\nc=d")), "a=b|c=d");
  EXPECT_EQ(Read(WriteFile("noending", "a: b")), "a=b");
}

TEST(OptionFileTest, WhereSaysFileLineAndKey) {
  const std::string path = WriteFile("w.properties", "\na=1");
  EXPECT_EQ((*ReadOptionFile(path))[0].where, path + " line 2: a");
  const std::string yaml = WriteFile("w.yaml", "a: {b: 1}");
  EXPECT_EQ((*ReadOptionFile(yaml))[1].where, yaml + ": a.b");
}

TEST(OptionFileTest, WhatIsNoText) {
  auto options = ReadOptionFile(WriteFile("n.yaml", "a: {b: 1}\nc: [[1]]\n"));
  ASSERT_TRUE(options.ok()) << options.status();
  ASSERT_EQ(options->size(), 3u);
  EXPECT_FALSE((*options)[0].is_text);
  EXPECT_TRUE((*options)[1].is_text);
  EXPECT_FALSE((*options)[2].is_text);
}

TEST(OptionFileTest, Faults) {
  EXPECT_EQ(ReadOptionFile("nowhere.yaml").status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(absl::StrContains(Read("nowhere.yaml"), "nowhere.yaml"));
  EXPECT_TRUE(absl::StrContains(Read(testing::TempDir()), "no regular file"));
  EXPECT_TRUE(absl::StrContains(Read(WriteFile("l.yaml", "[1]")), "not a mapping"));
  EXPECT_TRUE(absl::StrContains(Read(WriteFile("d.yaml", "a: 1\n---\na: 2\n")), "more than one"));
  EXPECT_TRUE(absl::StrContains(Read(WriteFile("s.yaml", "a: 1\nb: ]\n")), "YAML line 2"));
  EXPECT_TRUE(absl::StrContains(Read("/dev/zero"), "no regular file"));
  // A pipe that nobody writes to does not block.
  const std::string pipe = testing::TempDir() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_TRUE(absl::StrContains(Read(pipe), "no regular file"));
}

TEST(OptionFileTest, Bounds) {
  EXPECT_TRUE(absl::StrContains(
      Read(WriteFile("big.properties", std::string(kMaxOptionFileBytes + 1, '#'))), "limit"));
  EXPECT_EQ(Read(WriteFile("full.properties", std::string(kMaxOptionFileBytes, '#'))), "");
  // A long name with many members is not written out for each of them.
  const std::string wide = absl::StrCat("? ", std::string(500000, 'k'), "\n: {",
                                        Repeat("x: {y: 1}, ", 1), "z: 1}\nb: 1\n");
  EXPECT_EQ(Read(WriteFile("wide.yaml", wide)), "b=1");
  EXPECT_TRUE(absl::StrContains(
      Read(WriteFile("deep.yaml", absl::StrCat(Repeat("{a: ", 20), "1", Repeat("}", 20)))),
      "nested deeper"));
}

TEST(OptionFileTest, HostileFilesAreReadOrRefused) {
  for (const char* name : {"h.yaml", "h.properties"}) {
    ForEachHostileText("dubbo:\n  registry: {address: 'a://b', list: [1, 2]}\nx.y=z: \\u0041\n",
                       200, [name](const std::string& text) { Read(WriteFile(name, text)); });
  }
}

}  // namespace
}  // namespace signpost

#include "signpost/metadata/revision.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "signpost/common/json.h"
#include "signpost/metadata/metadata_info.h"

namespace signpost {
namespace {

MetadataInfo InfoOf(std::string app, std::vector<ServiceInfo> services) {
  MetadataInfo info;
  info.app = std::move(app);
  for (ServiceInfo& service : services) {
    std::string key = service.match_key();
    info.services.emplace(std::move(key), std::move(service));
  }
  return info;
}

ServiceInfo Echo() {
  ServiceInfo service;
  service.name = "org.example.Echo";
  service.version = "1.0.0";
  service.protocol = "tri";
  service.port = 50051;
  service.path = "org.example.Echo";
  service.params = {{"timeout", "1000"}, {"version", "1.0.0"}};
  return service;
}

TEST(RevisionTest, NothingExportedIsZero) {
  EXPECT_EQ(ComputeRevision(InfoOf("demo", {})), "0");
  EXPECT_EQ(ComputeRevision(MetadataInfo()), "0");
}

TEST(RevisionTest, VectorWithoutParameters) {
  ServiceInfo service;
  service.name = service.path = "org.example.Greeter";
  service.protocol = "dubbo";
  service.port = 20880;
  EXPECT_EQ(ComputeRevision(InfoOf("demo", {service})), "6fa8bb21969a07737448899e054d2bea");
}

TEST(RevisionTest, VectorWithTwoServices) {
  ServiceInfo a;
  a.name = a.path = "org.example.A";
  a.group = "g";
  a.version = "1.0.0";
  a.protocol = "tri";
  a.port = 50051;
  a.params = {{"k1", "v1"}, {"k2", "v2"}};
  ServiceInfo b;
  b.name = b.path = "org.example.B";
  b.protocol = "dubbo";
  b.port = 20880;
  EXPECT_EQ(ComputeRevision(InfoOf("demo", {a, b})), "a7100d51e8c6624892b85c56cd472e47");
  EXPECT_EQ(ComputeRevision(InfoOf("demo", {b, a})), "a7100d51e8c6624892b85c56cd472e47");
}

// TC-10
TEST(RevisionTest, VectorOfJava) {
  EXPECT_EQ(ComputeRevision(InfoOf("demo", {Echo()})), "413b53c7e0703f846c8ff97198affdb5");
}

TEST(RevisionTest, RevisionFieldDoesNotCount) {
  MetadataInfo info = InfoOf("demo", {Echo()});
  info.revision = "anything";
  EXPECT_EQ(ComputeRevision(info), ComputeRevision(InfoOf("demo", {Echo()})));
}

// TC-10
TEST(RevisionTest, VariantsDifferPairwise) {
  std::map<std::string, MetadataInfo> variants;
  variants["base"] = InfoOf("demo", {Echo()});
  variants["other application"] = InfoOf("demo2", {Echo()});
  ServiceInfo service = Echo();
  service.version = "1.0.1";
  variants["version"] = InfoOf("demo", {service});
  service = Echo();
  service.group = "g";
  variants["group"] = InfoOf("demo", {service});
  service = Echo();
  service.protocol = "dubbo";
  variants["protocol"] = InfoOf("demo", {service});
  service = Echo();
  service.port = 50052;
  variants["port"] = InfoOf("demo", {service});
  service = Echo();
  service.path = "echo";
  variants["path"] = InfoOf("demo", {service});
  service = Echo();
  service.params["timeout"] = "1001";
  variants["parameter"] = InfoOf("demo", {service});
  service = Echo();
  service.params["methods"] = "echo";
  variants["methods"] = InfoOf("demo", {service});
  service.params["methods"] = "echo,shout";
  variants["more methods"] = InfoOf("demo", {service});
  service = Echo();
  service.name = service.path = "org.example.Other";
  variants["added service"] = InfoOf("demo", {Echo(), service});
  variants["empty"] = InfoOf("demo", {});

  std::map<std::string, std::string> by_revision;
  for (const auto& [name, info] : variants) {
    const std::string revision = ComputeRevision(info);
    EXPECT_EQ(revision.size(), name == "empty" ? 1u : 32u);
    const auto [it, is_new] = by_revision.emplace(revision, name);
    EXPECT_TRUE(is_new) << name << " has the revision of " << it->second;
  }
}

// Java compares UTF-16 units: U+1D11E (a surrogate pair, D834...) comes before U+FF5E.
TEST(RevisionTest, OrderIsThatOfUtf16) {
  ServiceInfo service;
  service.name = service.path = "I";
  service.protocol = "tri";
  service.port = 1;
  service.params = {{"\xEF\xBD\x9E", "b"}, {"\xF0\x9D\x84\x9E", "a"}, {"\xC3\xA9", "c"}, {"z", ""}};
  // MD5 of `appI:tri1I{z=, <e9>=c, <1d11e>=a, <ff5e>=b}`.
  EXPECT_EQ(ComputeRevision(InfoOf("app", {service})), "43e1b341b90d16d8d2070dc67b67eb0a");
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

struct Document {
  std::string file;
  std::string path;
  std::string data;
};

// Every document of a Java provider in the recorded trees.
std::vector<Document> JavaDocuments() {
  std::vector<Document> documents;
  for (const auto& entry : std::filesystem::directory_iterator("tests/interop/captures")) {
    const std::string name = entry.path().filename().string();
    if (!absl::StartsWith(name, "java-") || !absl::EndsWith(name, ".zk.json")) continue;
    const absl::StatusOr<Json> tree = Json::Parse(ReadFile(entry.path()));
    EXPECT_TRUE(tree.ok()) << name << ": " << tree.status();
    if (!tree.ok()) continue;
    for (const Json& node : tree->AsArray()) {
      const std::string& path = node["path"].AsString();
      const std::string& data = node["data"].AsString();
      if (!absl::StartsWith(path, "/dubbo/metadata/")) continue;
      if (!absl::StrContains(data, "\"services\"")) continue;
      documents.push_back(Document{name, path, data});
    }
  }
  return documents;
}

TEST(RevisionTest, EqualsJavasInEveryRecordedDocument) {
  const std::vector<Document> documents = JavaDocuments();
  std::set<std::string> files;
  for (const Document& document : documents) {
    SCOPED_TRACE(absl::StrCat(document.file, " ", document.path));
    files.insert(document.file);
    const std::vector<std::string> steps = absl::StrSplit(document.path, '/');
    ASSERT_EQ(steps.size(), 5u);
    std::vector<std::string> warnings;
    const absl::StatusOr<MetadataInfo> info = MetadataInfoFromJson(document.data, &warnings);
    ASSERT_TRUE(info.ok()) << info.status();
    EXPECT_EQ(warnings, std::vector<std::string>());
    EXPECT_EQ(info->app, steps[3]);
    EXPECT_EQ(info->revision, steps[4]);
    EXPECT_FALSE(info->services.empty());
    EXPECT_EQ(ComputeRevision(*info), steps[4]);
  }
  // What was recorded with storage type remote: four of the matrix, late service, two services.
  for (const char* file : {"java-dubbo-all-remote.zk.json", "java-dubbo-instance-remote.zk.json",
                           "java-tri-all-remote.zk.json", "java-tri-instance-remote.zk.json",
                           "java-late-service-remote.after.zk.json", "java-two-services.zk.json"}) {
    EXPECT_EQ(files.count(file), 1u) << file;
  }
}

}  // namespace
}  // namespace signpost

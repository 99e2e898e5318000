#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "signpost/tools/cli/output.h"
#include "tests/tools/cli/cli_fixture.h"

namespace signpost::cli {
namespace {

using testing::HasSubstr;

class LookTest : public CliTest {};

constexpr char kEcho[] =
    "tri://192.0.2.1:50051/org.example.Echo?group=g1&version=1.0.0&methods=echo";
constexpr char kStock[] = "tri://192.0.2.1:50051/org.example.Stock?methods=level";

TEST_F(LookTest, AppsCountsInstancesAndServices) {
  auto shop = Provider("shop", {kEcho, kStock});
  ASSERT_EQ(Run({"apps", "--json"}), kDone) << err_.str();
  const Json apps = Document()["apps"];
  ASSERT_EQ(apps.AsArray().size(), 1u);
  const Json& app = apps.AsArray()[0];
  EXPECT_EQ(app["name"].AsString(), "shop");
  EXPECT_EQ(app["instances"].AsInt(), 1);
  EXPECT_EQ(app["services"].AsInt(), 2);
  ASSERT_EQ(app["revisions"].AsArray().size(), 1u);
  EXPECT_EQ(app["revisions"].AsArray()[0].AsString(), shop->provider().registered().revision);
}

TEST_F(LookTest, InstancesShowsWhatTheNodeSays) {
  auto shop = Provider("shop", {kEcho});
  ASSERT_EQ(Run({"instances", "shop", "--json"}), kDone) << err_.str();
  const Json document = Document();
  ASSERT_EQ(document["instances"].AsArray().size(), 1u);
  const Json& instance = document["instances"].AsArray()[0];
  EXPECT_EQ(instance["host"].AsString(), "192.0.2.1");
  EXPECT_EQ(instance["port"].AsInt(), 50051);
  EXPECT_EQ(instance["storage"].AsString(), "remote");
  EXPECT_EQ(instance["metadata"]["dubbo.endpoints"].AsString(),
            R"([{"port":50051,"protocol":"tri"}])");
  EXPECT_TRUE(document["skipped"].is_array());
}

TEST_F(LookTest, UnknownApplicationIsNotFound) {
  auto shop = Provider("shop", {kEcho});
  EXPECT_EQ(Run({"instances", "nobody", "--json"}), kNotFound);
  EXPECT_EQ(out_.str(), "");
  EXPECT_THAT(err_.str(), HasSubstr("nobody"));
}

TEST_F(LookTest, ServicesJoinsApplications) {
  auto a = Provider("shop-a", {kEcho});
  auto b = Provider("shop-b",
                    {"tri://192.0.2.2:50051/org.example.Echo?group=g1&version=1.0.0&methods=echo"});
  ASSERT_EQ(Run({"services", "--json"}), kDone) << err_.str();
  const Json services = Document()["services"];
  ASSERT_EQ(services.AsArray().size(), 1u) << out_.str();
  const Json& service = services.AsArray()[0];
  EXPECT_EQ(service["service"].AsString(), "g1/org.example.Echo:1.0.0");
  EXPECT_EQ(service["protocol"].AsString(), "tri");
  EXPECT_EQ(service["addresses"].AsInt(), 2);
  EXPECT_EQ(service["level"].AsString(), "application");
  ASSERT_EQ(service["apps"].AsArray().size(), 2u);
  EXPECT_EQ(service["apps"].AsArray()[1].AsString(), "shop-b");
}

TEST_F(LookTest, ServicesAreMarkedByLevel) {
  const std::string plain = registry_;
  registry_ = plain + "?register-mode=all";
  auto both = Provider("shop", {kEcho});
  registry_ = plain + "?register-mode=interface";
  auto old = Provider("depot", {kStock});
  registry_ = plain;
  auto modern = Provider("bank", {"tri://192.0.2.3:50051/org.example.Account?methods=x"});
  ASSERT_EQ(Run({"services", "--json"}), kDone) << err_.str();
  const Json document = Document();
  EXPECT_TRUE(document["notes"].AsArray().empty()) << out_.str();
  const auto& services = document["services"].AsArray();
  ASSERT_EQ(services.size(), 3u) << out_.str();
  EXPECT_EQ(services[0]["service"].AsString(), "g1/org.example.Echo:1.0.0");
  EXPECT_EQ(services[0]["level"].AsString(), "both");
  EXPECT_EQ(services[0]["addresses"].AsInt(), 1);  // the same one at both levels
  EXPECT_EQ(services[1]["service"].AsString(), "org.example.Account");
  EXPECT_EQ(services[1]["level"].AsString(), "application");
  EXPECT_EQ(services[2]["service"].AsString(), "org.example.Stock");
  EXPECT_EQ(services[2]["level"].AsString(), "interface");
  EXPECT_EQ(services[2]["apps"].AsArray().at(0).AsString(), "depot");

  ASSERT_EQ(Run({"services", "depot", "--json"}), kDone) << err_.str();
  EXPECT_EQ(Document()["services"].AsArray().size(), 1u);
  EXPECT_EQ(Run({"services", "nobody", "--json"}), kNotFound);
}

TEST_F(LookTest, MappingNamesApplications) {
  auto shop = Provider("shop", {kEcho});
  ASSERT_EQ(Run({"mapping", "org.example.Echo", "--json"}), kDone) << err_.str();
  EXPECT_EQ(Document()["apps"].AsArray().at(0).AsString(), "shop");
  EXPECT_TRUE(Document()["version"].is_string());
  EXPECT_EQ(Run({"mapping", "org.example.None"}), kNotFound);
}

TEST_F(LookTest, MetadataAndDiffOfTwoRevisions) {
  auto shop = Provider("shop", {kEcho});
  const std::string before = shop->provider().registered().revision;
  ASSERT_TRUE(shop->provider().Export(kStock).ok());
  ASSERT_TRUE(shop->Start(absl::Seconds(10)).ok());
  const std::string after = shop->provider().registered().revision;
  ASSERT_NE(before, after);

  ASSERT_EQ(Run({"metadata", "shop", "--json"}), kDone) << err_.str();
  const Json document = Document();
  ASSERT_EQ(document["revisions"].AsArray().size(), 1u);
  const Json& revision = document["revisions"].AsArray()[0];
  EXPECT_EQ(revision["revision"].AsString(), after);
  EXPECT_EQ(revision["source"].AsString(), "report");
  EXPECT_EQ(revision["services"]["g1/org.example.Echo:1.0.0:tri"]["params"]["methods"].AsString(),
            "echo");

  ASSERT_EQ(Run({"diff-metadata", "shop", before, after, "--json"}), kDone) << err_.str();
  const Json diff = Document();
  ASSERT_EQ(diff["added"].AsArray().size(), 1u);
  EXPECT_EQ(diff["added"].AsArray()[0].AsString(), "org.example.Stock:tri");
  EXPECT_TRUE(diff["removed"].AsArray().empty());
  EXPECT_TRUE(diff["changed"].AsArray().empty());
  EXPECT_EQ(Run({"diff-metadata", "shop", before, "unknown"}), kNotFound);
}

}  // namespace
}  // namespace signpost::cli

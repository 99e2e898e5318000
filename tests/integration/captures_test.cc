// Every captured application-level provider with remote metadata, loaded into a real ZooKeeper, is
// resolved to the addresses that its provider had.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "signpost/client/plugins/zookeeper.h"
#include "signpost/common/executor.h"
#include "signpost/common/json.h"
#include "signpost/tools/cli/arguments.h"
#include "signpost/tools/cli/commands.h"
#include "signpost/tools/cli/output.h"
#include "tests/integration/zookeeper_tree.h"
#include "tests/support/zookeeper_server.h"

namespace signpost {
namespace {

using testing::UnorderedElementsAreArray;

constexpr char kCaptures[] = "tests/interop/captures";
constexpr char kGreeting[] = "demo.GreetingService";
constexpr char kOrder[] = "shop/demo.OrderService:1.0.0";

// What the kit's providers of that capture offered: service -> "host:port protocol app".
using Offer = std::map<std::string, std::vector<std::string>>;

Offer Both(const std::string& what) { return {{kGreeting, {what}}, {kOrder, {what}}}; }

const std::map<std::string, Offer>& Offers() {
  static const auto* const offers = new std::map<std::string, Offer>{
      {"go-dubbo-all-remote", Both("127.0.0.1:21999 dubbo demo-go")},
      {"go-dubbo-instance-remote", Both("127.0.0.1:21999 dubbo demo-go")},
      {"go-tri-all-remote", Both("127.0.0.1:21999 tri demo-go")},
      {"go-tri-instance-remote", Both("127.0.0.1:21999 tri demo-go")},
      {"java-dubbo-all-remote", Both("127.0.0.1:21999 dubbo demo-java")},
      {"java-dubbo-instance-remote", Both("127.0.0.1:21999 dubbo demo-java")},
      {"java-tri-all-remote", Both("127.0.0.1:21999 tri demo-java")},
      {"java-tri-instance-remote", Both("127.0.0.1:21999 tri demo-java")},
      {"java-late-service-remote.before", {{kGreeting, {"127.0.0.1:22397 dubbo demo-java"}}}},
      {"java-late-service-remote.after",
       {{kGreeting, {"127.0.0.1:22397 dubbo demo-java"}},
        {"demo.StockService", {"127.0.0.1:22397 dubbo demo-java"}}}},
      {"java-two-services",
       {{kGreeting, {"127.0.0.1:22397 dubbo demo-java"}},
        {kOrder, {"127.0.0.1:22397 dubbo demo-java"}},
        {"depot/demo.OrderService:2.0.0", {"127.0.0.1:22397 dubbo demo-java"}},
        {"*/demo.OrderService:*",
         {"127.0.0.1:22397 dubbo demo-java", "127.0.0.1:22397 dubbo demo-java"}}}},
      // Of its three applications only this one has remote metadata.
      {"two-apps", Both("127.0.0.1:22398 dubbo app-two")},
  };
  return *offers;
}

// Captures in which an application-level instance with remote metadata lives.
std::set<std::string> RemoteCaptures() {
  std::set<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(kCaptures)) {
    const std::string name = file.path().filename();
    if (!absl::EndsWith(name, ".zk.json")) continue;
    auto nodes = ReadCapture(file.path());
    EXPECT_TRUE(nodes.ok()) << nodes.status();
    for (const CapturedNode& node : *nodes) {
      if (absl::StartsWith(node.path, "/services/") &&
          absl::StrContains(node.data, R"("dubbo.metadata.storage-type":"remote")")) {
        names.insert(name.substr(0, name.size() - 8));
      }
    }
  }
  return names;
}

class CapturesTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const absl::Status started = server_.Start();
    ASSERT_TRUE(started.ok()) << started;
    ASSERT_TRUE(AddZookeeper(registries_).ok());
    registry_ = absl::StrCat("zookeeper://", server_.address());
    auto url = Url::Parse(registry_);
    ASSERT_TRUE(url.ok());
    auto factory = registries_.Find("zookeeper");
    ASSERT_TRUE(factory.ok());
    CentreOptions options;
    options.executor = NewSerialExecutor("loader");
    auto centre = (**factory)(*url, options);
    ASSERT_TRUE(centre.ok()) << centre.status();
    centre_ = *std::move(centre);
    auto nodes = ReadCapture(absl::StrCat(kCaptures, "/", GetParam(), ".zk.json"));
    ASSERT_TRUE(nodes.ok()) << nodes.status();
    const absl::Status written = WriteNodes(*centre_, *nodes);
    ASSERT_TRUE(written.ok()) << written;
  }

  Json Run(std::vector<std::string> words) {
    words.push_back("--json");
    words.push_back("--registry=" + registry_);
    words.push_back("--timeout=3s");
    auto arguments = cli::ParseArguments(words);
    EXPECT_TRUE(arguments.ok()) << arguments.status();
    std::ostringstream out, err;
    cli::Invocation call{*arguments, registries_, out, err, [](absl::Duration) { return true; }};
    EXPECT_EQ(cli::RunCommand(call), cli::kDone) << words[0] << ": " << err.str();
    auto json = Json::Parse(out.str());
    EXPECT_TRUE(json.ok()) << json.status() << ": " << out.str();
    return json.ok() ? *json : Json();
  }

  ZookeeperServer server_;
  RegistryFactories registries_{"registry"};
  std::string registry_;
  std::unique_ptr<RegistryCentre> centre_;
};

TEST(CaptureTableTest, NamesEveryCaptureWithRemoteMetadata) {
  std::set<std::string> named;
  for (const auto& [name, offer] : Offers()) named.insert(name);
  EXPECT_EQ(RemoteCaptures(), named);
}

TEST_P(CapturesTest, ResolvesToTheProvidersAddresses) {
  const Offer& offer = Offers().at(GetParam());
  std::set<std::string> apps;
  for (const auto& [service, wanted] : offer) {
    const Json document = Run({"resolve", service});
    std::vector<std::string> found;
    for (const Json& endpoint : document["endpoints"].AsArray()) {
      found.push_back(absl::StrCat(endpoint["host"].AsString(), ":", endpoint["port"].AsInt(), " ",
                                   endpoint["protocol"].AsString(), " ",
                                   endpoint["app"].AsString()));
      EXPECT_EQ(endpoint["weight"].AsInt(), 100);
      EXPECT_FALSE(endpoint["params"]["methods"].AsString().empty());
      apps.insert(endpoint["app"].AsString());
    }
    EXPECT_THAT(found, UnorderedElementsAreArray(wanted)) << service;
  }

  // The administrator sees the same, whole.
  std::set<std::string> services;
  const Json listed = Run({"services"});
  for (const Json& service : listed["services"].AsArray()) {
    services.insert(service["service"].AsString());
  }
  ASSERT_EQ(apps.size(), 1u);
  const std::string app = *apps.begin();
  const Json instances = Run({"instances", app});
  ASSERT_EQ(instances["instances"].AsArray().size(), 1u);
  EXPECT_EQ(instances["instances"].AsArray()[0]["storage"].AsString(), "remote");
  EXPECT_TRUE(instances["skipped"].AsArray().empty());
  const Json metadata = Run({"metadata", app});
  ASSERT_EQ(metadata["revisions"].AsArray().size(), 1u);
  const Json& revision = metadata["revisions"].AsArray()[0];
  EXPECT_EQ(revision["revision"].AsString(),
            instances["instances"].AsArray()[0]["revision"].AsString());
  EXPECT_EQ(revision["source"].AsString(), "report");
  for (const auto& [service, wanted] : offer) {
    if (absl::StrContains(service, "*")) continue;
    EXPECT_EQ(services.count(service), 1u) << service;
    const std::string protocol = absl::StrContains(wanted[0], " tri ") ? ":tri" : ":dubbo";
    EXPECT_TRUE(revision["services"].Has(service + protocol)) << service;
  }
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& [name, offer] : Offers()) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, CapturesTest, testing::ValuesIn(Names()), [](const auto& info) {
  std::string name = info.param;
  for (char& c : name) {
    if (!isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
});

}  // namespace
}  // namespace signpost

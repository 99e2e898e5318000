#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "signpost/registry/memory/memory_store.h"
#include "signpost/registry/store/local_centre.h"
#include "signpost/registry/store/store_centre.h"
#include "signpost/tools/cli/output.h"
#include "tests/support/forwarding_store.h"
#include "tests/tools/cli/cli_fixture.h"

namespace signpost::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

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

TEST_F(LookTest, AProcessOfTwoProtocolsCountsOnceForEach) {
  registry_ += "?register-mode=all";
  auto shop = Provider("shop", {"dubbo://192.0.2.1:20880/org.example.Echo",
                                "tri://192.0.2.1:50051/org.example.Echo"});
  auto six = Provider("six", {"dubbo://[2001:db8::1]:20880/org.example.Other"});
  ASSERT_EQ(Run({"services", "--json"}), kDone) << err_.str();
  const Json document = Document();
  const auto& services = document["services"].AsArray();
  ASSERT_EQ(services.size(), 3u) << out_.str();
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(services[i]["service"].AsString(), "org.example.Echo");
    EXPECT_EQ(services[i]["protocol"].AsString(), i == 0 ? "dubbo" : "tri");
    EXPECT_EQ(services[i]["level"].AsString(), "both");
    EXPECT_EQ(services[i]["addresses"].AsInt(), 1) << out_.str();
  }
  EXPECT_EQ(services[2]["addresses"].AsInt(), 1) << out_.str();
}

// A memory centre one of whose folders may not be read, or never answers.
class GuardedStore final : public ForwardingStore {
 public:
  GuardedStore(std::unique_ptr<Store> target, std::shared_ptr<Executor> executor,
               std::string folder, absl::Status fault)
      : ForwardingStore(std::move(target)),
        executor_(std::move(executor)),
        folder_(std::move(folder)),
        fault_(std::move(fault)) {}

  Subscription WatchTree(const std::string& prefix, TreeCallback on_change,
                         TreeContent content) override {
    if (prefix != folder_) {
      return ForwardingStore::WatchTree(prefix, std::move(on_change), content);
    }
    if (!fault_.ok()) {
      executor_->Post([on_change = std::make_shared<TreeCallback>(std::move(on_change)),
                       fault = fault_] { (*on_change)(fault); });
    }
    return Subscription();
  }

 private:
  const std::shared_ptr<Executor> executor_;
  const std::string folder_;
  const absl::Status fault_;
};

class GuardedLookTest : public LookTest {
 protected:
  // Of the registry of the test, seen through `guarded://`. OK: the folder is silent.
  void Guard(const std::string& folder, absl::Status fault) {
    ASSERT_TRUE(registries_
                    .Add("guarded",
                         [folder, fault](const Url& url, const CentreOptions& options)
                             -> absl::StatusOr<std::unique_ptr<RegistryCentre>> {
                           auto store = std::make_unique<GuardedStore>(
                               NewLocalStore(MemoryCentre(url.host()), options.executor),
                               options.executor, folder, fault);
                           return NewStoreCentre(url, options.executor, std::move(store));
                         })
                    .ok());
    registry_.replace(0, std::string("memory").size(), "guarded");
    registry_ += "?mode=dual";
  }
};

TEST_F(GuardedLookTest, AFolderThatCannotBeReadHidesNoOther) {
  const std::string plain = registry_;
  registry_ = plain + "?register-mode=interface";
  auto shop = Provider("shop", {kEcho, kStock});
  registry_ = plain;
  Guard("/dubbo/org.example.Stock/providers", absl::PermissionDeniedError("not for you"));
  ASSERT_EQ(Run({"services", "--json"}), kDone) << err_.str();
  const Json document = Document();
  ASSERT_EQ(document["services"].AsArray().size(), 1u) << out_.str();
  EXPECT_EQ(document["services"].AsArray()[0]["service"].AsString(), "g1/org.example.Echo:1.0.0");
  ASSERT_EQ(document["notes"].AsArray().size(), 1u) << out_.str();
  EXPECT_EQ(document["notes"].AsArray()[0].AsString(),
            "interface level: org.example.Stock: not for you");
}

TEST_F(GuardedLookTest, ASilentFolderIsWaitedForNoLongerThanTheTimeout) {
  const std::string plain = registry_;
  registry_ = plain + "?register-mode=interface";
  auto shop = Provider("shop", {kEcho, kStock});
  registry_ = plain;
  Guard("/dubbo/org.example.Stock/providers", absl::OkStatus());
  ASSERT_EQ(Run({"services", "--json", "--timeout=200ms"}), kDone) << err_.str();
  const Json document = Document();
  ASSERT_EQ(document["services"].AsArray().size(), 1u) << out_.str();
  ASSERT_EQ(document["notes"].AsArray().size(), 1u) << out_.str();
  EXPECT_THAT(document["notes"].AsArray()[0].AsString(),
              HasSubstr("org.example.Stock: no answer in 200ms"));
}

TEST_F(GuardedLookTest, ARootThatCannotBeReadIsANote) {
  auto shop = Provider("shop", {kEcho});
  Guard("/dubbo", absl::PermissionDeniedError("not for you"));
  ASSERT_EQ(Run({"services", "--json"}), kDone) << err_.str();
  const Json document = Document();
  EXPECT_EQ(document["services"].AsArray().size(), 1u) << out_.str();
  ASSERT_EQ(document["notes"].AsArray().size(), 1u) << out_.str();
  EXPECT_EQ(document["notes"].AsArray()[0].AsString(), "interface level: not for you");
}

TEST_F(LookTest, OfSeveralRegistriesANoteNamesTheOneThatIsShown) {
  const std::string first = registry_;
  registry_ = "memory://other";
  auto other = Provider("other", {kStock});
  registry_ = first;
  auto shop = Provider("shop", {kEcho});
  const std::string revision = shop->provider().registered().revision;
  EXPECT_EQ(Run({"services"}), kDone);
  EXPECT_EQ(err_.str(), "");
  registry_ = first + "|memory://other";
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"apps"},
                                             {"instances", "shop"},
                                             {"services"},
                                             {"mapping", "org.example.Echo"},
                                             {"metadata", "shop"},
                                             {"diff-metadata", "shop", revision, revision}}) {
    EXPECT_EQ(Run(words), kDone) << err_.str();
    EXPECT_EQ(err_.str(), "signpost: 2 registries named; " + words[0] +
                              " looks only at the first: " + first + "\n");
    EXPECT_THAT(out_.str(), Not(HasSubstr("other")));
  }
  // One centre that is named twice is one; consumers look at all.
  registry_ = first + "|" + first + "?mode=application";
  EXPECT_EQ(Run({"services"}), kDone);
  EXPECT_EQ(err_.str(), "");
  registry_ = first + "|memory://other";
  EXPECT_EQ(Run({"resolve", "org.example.Stock"}), kDone) << err_.str();
  EXPECT_THAT(err_.str(), Not(HasSubstr("looks only")));
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

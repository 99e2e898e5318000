// What Dubbo Java and dubbo-go wrote at interface level, as providers and consumers, is read as
// what they meant.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "signpost/common/json.h"
#include "signpost/registry/interface/category_watch.h"
#include "signpost/registry/interface/registered_url.h"
#include "tests/registry/interface/interface_test.h"
#include "tests/support/kept_log.h"

namespace signpost {
namespace {

constexpr char kCaptures[] = "tests/interop/captures";

class CapturesTest : public InterfaceTest {
 protected:
  static std::string Read(const std::string& name) {
    std::ifstream in(absl::StrCat(kCaptures, "/", name));
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  void Load(const std::string& name) {
    const auto json = Json::Parse(Read(name));
    ASSERT_TRUE(json.ok()) << name << ": " << json.status();
    for (const Json& node : json->AsArray()) {
      const std::string path = node["path"].AsString();
      if (absl::StartsWith(path, "/dubbo/")) Put(path);
    }
  }
};

TEST_F(CapturesTest, ProvidersAreListedAsTheyServed) {
  int captures = 0;
  for (const auto& file : std::filesystem::directory_iterator(kCaptures)) {
    const std::string name = file.path().filename();
    const bool level = absl::StrContains(name, "-interface-") || absl::StrContains(name, "-all-");
    if (!level || !absl::EndsWith(name, ".zk.json")) continue;
    ++captures;
    local_ = MemoryCentre(name);
    admin_ = NewLocalStore(local_, executor_);
    Load(name);
    const KeptLog log;
    auto process = Start();
    const std::string app = absl::StartsWith(name, "go") ? "demo-go" : "demo-java";
    const std::string protocol = absl::StrContains(name, "-tri-") ? "tri" : "dubbo";
    for (const char* service :
         {"demo.GreetingService", "demo.OrderService?group=shop&version=1.0.0"}) {
      auto listener = Subscribe(*process, *Url::Parse(absl::StrCat("consumer://h/", service)));
      ASSERT_EQ(listener->Hosts(), Texts{"127.0.0.1:21999"}) << name << " " << service;
      EXPECT_TRUE(listener->last.state.ok()) << listener->last.state;
      EXPECT_EQ(listener->last.apps, Texts{app});
      const EndpointSpec& spec = listener->last.list->spec(0);
      EXPECT_EQ(spec.service->protocol, protocol);
      EXPECT_EQ(spec.weight, 100);
      // Of 2026, in milliseconds.
      EXPECT_GT(spec.timestamp_ms, 1'796'000'000'000) << name;
      EXPECT_LT(spec.timestamp_ms, 1'797'000'000'000) << name;
    }
    EXPECT_EQ(Subscribe(*process, *Url::Parse("consumer://h/demo.OrderService"))->Hosts(), Texts{});
    EXPECT_TRUE(log.lines().empty()) << log.text();
    process.reset();
    executor_->RunUntilIdle();
  }
  EXPECT_EQ(captures, 16);
}

// What Java wrote is what is written here of the same URL.
TEST_F(CapturesTest, NodesAreNamedAsJavaNamesThem) {
  const auto json = Json::Parse(Read("java-tri-interface-local.zk.json"));
  ASSERT_TRUE(json.ok());
  int nodes = 0;
  for (const Json& node : json->AsArray()) {
    const std::string path = node["path"].AsString();
    const std::vector<std::string> parts = absl::StrSplit(path, '/');
    if (parts.size() != 5 || parts[3] != "providers") continue;
    ++nodes;
    const auto url = interface_internal::DecodeNodeName(parts[4]);
    ASSERT_TRUE(url.ok()) << url.status();
    const auto form = interface_internal::NodeOf(
        "/dubbo", url->With("bind.ip", "127.0.0.1").With("pid", "77").With("anyhost", "true"), {});
    ASSERT_TRUE(form.ok());
    EXPECT_EQ(form->path, path);
  }
  EXPECT_EQ(nodes, 2);
}

TEST_F(CapturesTest, AConsumerIsNamedAsJavaNamesIt) {
  int nodes = 0;
  for (absl::string_view line : absl::StrSplit(Read("java-consumer-writes.zk.jsonl"), '\n')) {
    const auto node = Json::Parse(line);
    if (!node.ok() || !node->Has("path")) continue;
    const std::string path = (*node)["path"].AsString();
    if (!absl::StrContains(path, "/consumers/consumer%3A")) continue;
    ++nodes;
    const auto url = interface_internal::DecodeNodeName(path.substr(path.rfind('/') + 1));
    ASSERT_TRUE(url.ok()) << url.status();
    const Url before = url->With("category", "providers,configurators,routers").Without("check");
    const auto form = interface_internal::NodeOf("/dubbo", before, {});
    ASSERT_TRUE(form.ok()) << form.status();
    EXPECT_EQ(form->path, path);
  }
  EXPECT_GT(nodes, 0);
}

}  // namespace
}  // namespace signpost

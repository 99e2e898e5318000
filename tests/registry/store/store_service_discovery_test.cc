#include "signpost/registry/store/store_service_discovery.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "signpost/common/manual_executor.h"
#include "signpost/registry/memory/memory_store.h"
#include "signpost/registry/store/local_centre.h"
#include "tests/support/kept_log.h"

namespace signpost {
namespace {

class StoreServiceDiscoveryTest : public testing::Test {
 protected:
  std::shared_ptr<Store> Open() { return NewLocalStore(centre_, executor_); }
  void Put(Store& store, const std::string& key, const std::string& value) {
    store.Put(key, value, {}, [](absl::StatusOr<int64_t> v) { EXPECT_TRUE(v.ok()) << v.status(); });
    executor_->RunUntilIdle();
  }
  static ServiceInstance Instance(const std::string& host, int64_t time = 1) {
    ServiceInstance instance;
    instance.app = "shop";
    instance.host = host;
    instance.port = 20880;
    instance.metadata[kRevisionKey] = "r1";
    instance.metadata[kTimestampKey] = absl::StrCat(time);
    return instance;
  }

  SimulatedClock clock_;
  std::shared_ptr<ManualExecutor> executor_ = std::make_shared<ManualExecutor>(clock_);
  std::shared_ptr<LocalCentre> centre_ = MemoryCentre("discovery-test");
};

TEST_F(StoreServiceDiscoveryTest, RegistersUpdatesInPlaceAndUnregisters) {
  auto store = Open();
  StoreServiceDiscovery discovery(store, StoreLayout(), absl::Seconds(60), clock_);
  std::vector<InstanceUpdate> updates;
  Subscription watch = discovery.Watch("shop", [&](absl::StatusOr<InstanceUpdate> update) {
    ASSERT_TRUE(update.ok()) << update.status();
    updates.push_back(*update);
  });
  executor_->RunUntilIdle();
  ASSERT_EQ(updates.size(), 1u);
  EXPECT_TRUE(updates[0].list->instances.empty());

  ServiceInstance instance = Instance("2001:db8::1");
  EXPECT_EQ(discovery.PathOf(instance), "/services/shop/[2001:db8::1]:20880");
  std::optional<absl::Status> done;
  discovery.Register(instance, {}, [&](absl::Status s) { done = s; });
  executor_->RunUntilIdle();
  ASSERT_TRUE(done.has_value() && done->ok()) << done->message();
  ASSERT_EQ(updates.size(), 2u);
  ASSERT_EQ(updates[1].delta.added.size(), 1u);
  EXPECT_EQ(updates[1].delta.added[0]->host, "2001:db8::1");

  // The same again writes nothing; other metadata is one change, without a gap.
  discovery.Register(instance, {}, [](absl::Status) {});
  executor_->RunUntilIdle();
  EXPECT_EQ(updates.size(), 2u);
  instance.metadata[kRevisionKey] = "r2";
  discovery.Register(instance, {}, [](absl::Status) {});
  executor_->RunUntilIdle();
  ASSERT_EQ(updates.size(), 3u);
  ASSERT_EQ(updates[2].delta.changed.size(), 1u);
  EXPECT_EQ(updates[2].delta.changed[0].after->revision(), "r2");
  EXPECT_TRUE(updates[2].delta.removed.empty());

  discovery.Unregister(instance, {}, [&](absl::Status s) { done = s; });
  executor_->RunUntilIdle();
  EXPECT_TRUE(done->ok());
  EXPECT_EQ(updates.back().delta.removed.size(), 1u);
  // Not there: fine as well.
  discovery.Unregister(instance, {}, [&](absl::Status s) { done = s; });
  executor_->RunUntilIdle();
  EXPECT_TRUE(done->ok());
  watch.Cancel();
  store->Close();
}

// A new process has taken the address over before the old one leaves.
TEST_F(StoreServiceDiscoveryTest, TheNodeOfAnotherSessionIsLeftAlone) {
  auto old_store = Open();
  auto new_store = Open();
  StoreServiceDiscovery old_one(old_store, StoreLayout(), absl::Seconds(60), clock_);
  StoreServiceDiscovery new_one(new_store, StoreLayout(), absl::Seconds(60), clock_);
  const ServiceInstance instance = Instance("192.0.2.1");
  const ServiceInstance newer = Instance("192.0.2.1", 2);
  old_one.Register(instance, {}, [](absl::Status s) { EXPECT_TRUE(s.ok()) << s; });
  new_one.Register(newer, {}, [](absl::Status s) { EXPECT_TRUE(s.ok()) << s; });
  executor_->RunUntilIdle();
  const auto there = [&] {
    std::optional<bool> answer;
    old_store->Exists(old_one.PathOf(instance), {}, [&](absl::StatusOr<bool> e) { answer = *e; });
    executor_->RunUntilIdle();
    return answer;
  };
  old_one.Unregister(instance, {}, [](absl::Status s) { EXPECT_TRUE(s.ok()) << s; });
  executor_->RunUntilIdle();
  EXPECT_EQ(there(), true);
  new_one.Unregister(newer, {}, [](absl::Status s) { EXPECT_TRUE(s.ok()) << s; });
  executor_->RunUntilIdle();
  EXPECT_EQ(there(), false);
  new_one.Unregister(newer, {}, [](absl::Status s) { EXPECT_TRUE(s.ok()) << s; });
  executor_->RunUntilIdle();
}

// A provider that stops just after its session was lost: what it wrote need not wait for its end.
TEST_F(StoreServiceDiscoveryTest, TheNodeOfALostSessionOfOursIsTakenOff) {
  auto lost = Open();
  auto store = Open();
  StoreServiceDiscovery before(lost, StoreLayout(), absl::Seconds(60), clock_);
  StoreServiceDiscovery now(store, StoreLayout(), absl::Seconds(60), clock_);
  const ServiceInstance instance = Instance("192.0.2.1");
  before.Register(instance, {}, [](absl::Status s) { EXPECT_TRUE(s.ok()) << s; });
  executor_->RunUntilIdle();
  now.Unregister(instance, {}, [](absl::Status s) { EXPECT_TRUE(s.ok()) << s; });
  executor_->RunUntilIdle();
  std::optional<bool> there;
  store->Exists(now.PathOf(instance), {}, [&](absl::StatusOr<bool> e) { there = *e; });
  executor_->RunUntilIdle();
  EXPECT_EQ(there, false);
}

TEST_F(StoreServiceDiscoveryTest, WritesNothingThatWouldBlindPeers) {
  auto store = Open();
  StoreServiceDiscovery discovery(store, StoreLayout(), absl::Seconds(60), clock_);
  ServiceInstance instance = Instance("192.0.2.1");
  instance.port = 0;
  std::optional<absl::Status> done;
  discovery.Register(instance, {}, [&](absl::Status s) { done = s; });
  executor_->RunUntilIdle();
  ASSERT_TRUE(done.has_value());
  EXPECT_TRUE(absl::IsInvalidArgument(*done)) << *done;
  store->Close();
}

// TC-16, and other children that are no usable instance.
TEST_F(StoreServiceDiscoveryTest, SkipsWhatIsNoInstanceAndWarnsOnce) {
  const KeptLog log;
  auto store = Open();
  const std::string folder = "/services/shop/";
  const std::string plain = R"("payload":{"@class":"c","metadata":{}}})";
  std::map<std::string, std::string> bad = {
      {"text", "192.0.2.9"},
      {"empty", ""},
      {"providers", ""},
      {"configurators", ""},
      {"no-port", R"({"name":"shop","address":"192.0.2.3",)" + plain},
      {"port-zero", R"({"name":"shop","address":"192.0.2.3","port":0,)" + plain},
      {"not-utf8", R"({"name":"shop","address":"192.0.2.3","port":1,"x":")"
                   "\xff"
                   R"(",)" +
                       plain},
      {"huge", R"({"name":"shop","address":"192.0.2.3","port":1,"x":")" +
                   std::string(1 << 20, 'x') + R"(",)" + plain},
      {"slash", R"({"name":"a/b","address":"192.0.2.3","port":1,)" + plain},
      {"slash-address", R"({"name":"shop","address":"a/b","port":1,)" + plain},
      {"deep", R"({"name":"shop","address":"192.0.2.3","port":1,"x":)" + std::string(5000, '[')},
  };
  Put(*store, folder + "192.0.2.1:20880", ToCuratorJson(Instance("192.0.2.1")));
  Put(*store, folder + "unknown-class",
      R"({"name":"shop","address":"192.0.2.4","port":20880,"x":1,"payload":{"@class":"y","metadata":{}}})");
  for (const auto& [name, value] : bad) Put(*store, folder + name, value);
  StoreServiceDiscovery discovery(store, StoreLayout(), absl::Seconds(60), clock_);
  InstanceUpdate last;
  Subscription watch = discovery.Watch("shop", [&](absl::StatusOr<InstanceUpdate> update) {
    ASSERT_TRUE(update.ok());
    last = *update;
  });
  executor_->RunUntilIdle();
  ASSERT_EQ(last.list->instances.size(), 2u);
  EXPECT_EQ(last.list->instances[0]->host, "192.0.2.1");
  EXPECT_EQ(last.list->instances[1]->host, "192.0.2.4");
  EXPECT_EQ(last.list->skipped.size(), bad.size());
  const auto warnings = [&](const std::string& name) {
    const std::vector<std::string> lines = log.lines();
    return std::count_if(lines.begin(), lines.end(), [&](const std::string& line) {
      return absl::StrContains(line, folder + name + ":") && line.size() < 9000;
    });
  };
  for (const auto& [name, value] : bad) EXPECT_EQ(warnings(name), 1) << name;
  // Not again when they or others are written.
  for (const auto& [name, value] : bad) Put(*store, folder + name, value);
  Put(*store, folder + "192.0.2.5:20880", ToCuratorJson(Instance("192.0.2.5")));
  EXPECT_EQ(last.list->instances.size(), 3u);
  for (const auto& [name, value] : bad) EXPECT_EQ(warnings(name), 1) << name;
  EXPECT_EQ(log.lines().size(), bad.size());
  watch.Cancel();
  store->Close();
}

// TC-17
TEST_F(StoreServiceDiscoveryTest, OfTwoNodesWithOneAddressTheNewerCounts) {
  auto store = Open();
  Put(*store, "/services/shop/old", ToCuratorJson(Instance("192.0.2.1", 1000)));
  StoreServiceDiscovery discovery(store, StoreLayout(), absl::Seconds(60), clock_);
  std::vector<InstanceUpdate> updates;
  Subscription watch = discovery.Watch(
      "shop", [&](absl::StatusOr<InstanceUpdate> update) { updates.push_back(*update); });
  executor_->RunUntilIdle();
  Put(*store, "/services/shop/new", ToCuratorJson(Instance("192.0.2.1", 2000)));
  ASSERT_EQ(updates.back().list->instances.size(), 1u);
  EXPECT_EQ(updates.back().list->instances[0]->timestamp_ms(), 2000);
  store->Delete("/services/shop/old", Store::kAnyVersion, {}, [](absl::Status) {});
  executor_->RunUntilIdle();
  for (const InstanceUpdate& update : updates) EXPECT_EQ(update.list->instances.size(), 1u);
  EXPECT_EQ(updates.back().list->instances[0]->timestamp_ms(), 2000);
  watch.Cancel();
  store->Close();
}

TEST_F(StoreServiceDiscoveryTest, ListsApplicationsWithoutTheOtherRoots) {
  auto store = Open();
  const StoreLayout layout = StoreLayout::FromUrl(*Url::Parse("memory://x?group=g"));
  EXPECT_EQ(layout.instances, "/g");
  EXPECT_EQ(layout.metadata_java, "/g/metadata");
  Put(*store, "/g/mapping/i", "shop");
  Put(*store, "/g/shop/a", "b");
  StoreServiceDiscovery discovery(store, layout, absl::Seconds(60), clock_);
  std::vector<std::string> apps;
  discovery.ListApplications(
      {}, [&](absl::StatusOr<std::vector<std::string>> answer) { apps = *answer; });
  executor_->RunUntilIdle();
  EXPECT_EQ(apps, std::vector<std::string>{"shop"});
  store->Close();
}

}  // namespace
}  // namespace signpost

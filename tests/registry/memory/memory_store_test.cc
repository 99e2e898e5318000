#include "signpost/registry/memory/memory_store.h"

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "signpost/common/executor.h"
#include "signpost/common/url.h"
#include "signpost/registry/store/local_centre.h"
#include "signpost/registry/store/store.h"
#include "tests/conformance/store_suite.h"

namespace signpost {
namespace {

class MemoryFixture final : public StoreFixture {
 public:
  std::unique_ptr<Store> Open(std::shared_ptr<Executor> executor) override {
    return NewLocalStore(centre_, std::move(executor));
  }
  bool ExpireSession(Store& store) override {
    centre_->ExpireSession(store);
    return true;
  }
  int WatchCount() override { return static_cast<int>(centre_->watch_count()); }

 private:
  std::shared_ptr<LocalCentre> centre_ = MemoryCentre("suite");
};

StoreSuiteParam Param() {
  StoreSuiteParam param;
  param.name = "memory";
  param.make = [] { return std::make_unique<MemoryFixture>(); };
  param.too_large = (4 << 20) + 1;
  return param;
}

INSTANTIATE_TEST_SUITE_P(Memory, StoreSuite, testing::Values(Param()));

TEST(MemoryCentreTest, NamesAreSharedAndGoWithTheirUsers) {
  auto executor = NewSerialExecutor("memory-test");
  auto centre = MemoryCentre("x");
  EXPECT_EQ(MemoryCentre("x"), centre);
  EXPECT_NE(MemoryCentre("y"), centre);
  auto store = NewLocalStore(centre, executor);
  const std::weak_ptr<LocalCentre> weak = centre;
  centre.reset();
  EXPECT_EQ(MemoryCentre("x"), weak.lock());
  store.reset();
  EXPECT_TRUE(weak.expired());
}

TEST(MemoryCentreTest, OfflineIsToldAndEnds) {
  auto centre = MemoryCentre("offline");
  auto executor = NewSerialExecutor("memory-test");
  const std::unique_ptr<Store> store = NewLocalStore(centre, executor);
  const std::unique_ptr<Store> same = NewLocalStore(centre, executor);
  auto values = std::make_shared<ToldValues>();
  auto events = std::make_shared<ToldEvents>();
  const Subscription watch =
      store->Watch("/k", [values](auto value) { values->Add(std::move(value)); });
  const Subscription session = store->WatchSession([events](SessionEvent e) { events->Add(e); });
  ASSERT_TRUE(values->AwaitSize(1));
  centre->SetOffline(true);
  EXPECT_FALSE(store->IsAvailable());
  ASSERT_TRUE(values->AwaitSize(2));
  EXPECT_TRUE(absl::IsUnavailable(values->items()[1].status()));
  auto put = std::make_shared<Told<absl::Status>>();
  const auto answer = [put](absl::StatusOr<int64_t> result) { put->Add(result.status()); };
  same->Put("/k", "v", CallOptions(), answer);
  ASSERT_TRUE(put->AwaitSize(1));
  EXPECT_TRUE(absl::IsUnavailable(put->items()[0]));
  centre->SetOffline(false);
  same->Put("/k", "v", CallOptions(), answer);
  EXPECT_TRUE(values->Await(
      [](const auto& items) { return items.back().ok() && items.back()->value == "v"; }));
  ASSERT_TRUE(events->AwaitSize(3));
  EXPECT_EQ(events->items(),
            (std::vector<SessionEvent>{SessionEvent::kConnected, SessionEvent::kDisconnected,
                                       SessionEvent::kConnected}));
}

TEST(OpenMemoryCentreTest, OpensByUrl) {
  CentreOptions options;
  options.executor = NewSerialExecutor("memory-test");
  const auto url = Url::Parse("memory://by-url");
  ASSERT_TRUE(url.ok()) << url.status();
  auto centre = OpenMemoryCentre(*url, options);
  ASSERT_TRUE(centre.ok()) << centre.status();
  EXPECT_EQ((*centre)->url(), *url);
  EXPECT_TRUE((*centre)->store().IsAvailable());
  EXPECT_TRUE(absl::IsInvalidArgument(
      OpenMemoryCentre(*Url::Parse("zookeeper://127.0.0.1:2181"), options).status()));
}

}  // namespace
}  // namespace signpost

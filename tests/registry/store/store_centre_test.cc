#include "signpost/registry/store/store_centre.h"

#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "signpost/common/manual_executor.h"
#include "signpost/registry/memory/memory_store.h"

namespace signpost {
namespace {

class StoreCentreTest : public testing::Test {
 protected:
  void SetUp() override {
    CentreOptions options;
    options.executor = executor_;
    auto opened = OpenMemoryCentre(*Url::Parse("memory://centre-test"), options);
    ASSERT_TRUE(opened.ok()) << opened.status();
    centre_ = *std::move(opened);
  }
  void TearDown() override { centre_->Close(); }
  void Put(const std::string& key, const std::string& value) {
    centre_->store().Put(key, value, {}, [](absl::StatusOr<int64_t> v) { EXPECT_TRUE(v.ok()); });
    executor_->RunUntilIdle();
  }
  absl::StatusOr<StoreValue> Get(const std::string& key) {
    absl::StatusOr<StoreValue> value = absl::UnknownError("no answer");
    centre_->store().Get(key, {}, [&](absl::StatusOr<StoreValue> v) { value = std::move(v); });
    executor_->RunUntilIdle();
    return value;
  }
  absl::StatusOr<MetadataInfo> GetInfo(const std::string& revision) {
    absl::StatusOr<MetadataInfo> info = absl::UnknownError("no answer");
    centre_->metadata_report().Get("shop", revision, {},
                                   [&](absl::StatusOr<MetadataInfo> v) { info = std::move(v); });
    executor_->RunUntilIdle();
    return info;
  }
  static MetadataInfo Info(const std::string& revision) {
    MetadataInfo info;
    info.app = "shop";
    info.revision = revision;
    ServiceInfo& service = info.services["org.example.Echo:tri"];
    service.name = service.path = "org.example.Echo";
    service.protocol = "tri";
    return info;
  }

  SimulatedClock clock_;
  std::shared_ptr<ManualExecutor> executor_ = std::make_shared<ManualExecutor>(clock_);
  std::unique_ptr<RegistryCentre> centre_;
};

TEST_F(StoreCentreTest, MetadataIsWrittenForJavaAndGoOnce) {
  std::optional<absl::Status> done;
  centre_->metadata_report().Publish(Info("r1"), {}, [&](absl::Status s) { done = s; });
  executor_->RunUntilIdle();
  ASSERT_TRUE(done.has_value() && done->ok());
  const auto java = Get("/dubbo/metadata/shop/r1");
  const auto go = Get("/dubbo/shop/r1");
  ASSERT_TRUE(java.ok() && go.ok());
  EXPECT_EQ(java->value, go->value);
  centre_->metadata_report().Publish(Info("r1"), {}, [](absl::Status) {});
  executor_->RunUntilIdle();
  EXPECT_EQ(Get("/dubbo/metadata/shop/r1")->version, java->version);
}

// What nobody can use is no document.
TEST_F(StoreCentreTest, AnEmptyOrForeignDocumentIsReplaced) {
  Put("/dubbo/metadata/shop/r1", "{}");
  Put("/dubbo/shop/r1", ToJson(Info("r2")));
  centre_->metadata_report().Publish(Info("r1"), {}, [](absl::Status s) { EXPECT_TRUE(s.ok()); });
  executor_->RunUntilIdle();
  EXPECT_EQ(Get("/dubbo/metadata/shop/r1")->value, ToJson(Info("r1")));
  EXPECT_EQ(Get("/dubbo/shop/r1")->value, ToJson(Info("r1")));
}

// With `group` dubbo-go's root is where the instances lie, and a document there would blind Java.
TEST_F(StoreCentreTest, NoDocumentIsWrittenAmongInstances) {
  CentreOptions options;
  options.executor = executor_;
  auto grouped = OpenMemoryCentre(*Url::Parse("memory://centre-test?group=g1"), options);
  ASSERT_TRUE(grouped.ok());
  (*grouped)->metadata_report().Publish(Info("r1"), {},
                                        [](absl::Status s) { EXPECT_TRUE(s.ok()); });
  executor_->RunUntilIdle();
  EXPECT_EQ((*grouped)->metadata_report().PathsOf("shop", "r1"),
            std::vector<std::string>{"/g1/metadata/shop/r1"});
  EXPECT_TRUE(Get("/g1/metadata/shop/r1").ok());
  EXPECT_TRUE(absl::IsNotFound(Get("/g1/shop/r1").status()));
  (*grouped)->Close();
}

TEST_F(StoreCentreTest, MetadataFallsToTheOtherPath) {
  EXPECT_TRUE(absl::IsNotFound(GetInfo("r1").status()));
  Put("/dubbo/shop/r1", ToJson(Info("r1")));
  EXPECT_TRUE(GetInfo("r1").ok());
  Put("/dubbo/metadata/shop/r1", "{broken");
  EXPECT_TRUE(GetInfo("r1").ok());
  Put("/dubbo/metadata/shop/r2", "{broken");
  const absl::Status broken = GetInfo("r2").status();
  EXPECT_FALSE(broken.ok());
  EXPECT_NE(broken.message().find("/dubbo/metadata/shop/r2"), std::string::npos) << broken;
}

TEST_F(StoreCentreTest, MetadataNamesThatWouldLieElsewhereAreRefused) {
  std::optional<absl::Status> done;
  centre_->metadata_report().Publish(Info("a/b"), {}, [&](absl::Status s) { done = s; });
  ASSERT_TRUE(done.has_value());
  EXPECT_TRUE(absl::IsInvalidArgument(*done));
}

TEST_F(StoreCentreTest, MappingIsCompareAndSet) {
  MappingStore& mapping = centre_->mapping_store();
  std::optional<absl::Status> done;
  mapping.CompareAndSet("i", "a", MappingStore::kAbsent, {}, [&](absl::Status s) { done = s; });
  executor_->RunUntilIdle();
  EXPECT_TRUE(done->ok());
  mapping.CompareAndSet("i", "b", MappingStore::kAbsent, {}, [&](absl::Status s) { done = s; });
  executor_->RunUntilIdle();
  EXPECT_TRUE(absl::IsAlreadyExists(*done)) << *done;
  EXPECT_EQ(Get("/dubbo/mapping/i")->value, "a");
}

TEST_F(StoreCentreTest, ConfigOfZeroBytesIsAbsent) {
  ConfigSource& config = centre_->config_source();
  const ConfigKey key{"dubbo", "shop.condition-router"};
  EXPECT_EQ(config.PathOf(key), "/dubbo/config/dubbo/shop.condition-router");
  Put(config.PathOf(key), "");
  absl::Status seen;
  config.Get(key, {}, [&](absl::StatusOr<ConfigItem> item) { seen = item.status(); });
  executor_->RunUntilIdle();
  EXPECT_TRUE(absl::IsNotFound(seen)) << seen;
  std::optional<absl::Status> done;
  config.Put(key, "rule", ConfigSource::kAbsent, {}, [&](absl::Status s) { done = s; });
  executor_->RunUntilIdle();
  EXPECT_TRUE(done->ok()) << *done;
  config.Put(key, "other", ConfigSource::kAbsent, {}, [&](absl::Status s) { done = s; });
  executor_->RunUntilIdle();
  EXPECT_TRUE(absl::IsAborted(*done)) << *done;
}

}  // namespace
}  // namespace signpost

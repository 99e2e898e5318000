#include "signpost/mapping/memory_mapping_store.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "signpost/common/manual_executor.h"

namespace signpost {
namespace {

class MemoryMappingStoreTest : public testing::Test {
 protected:
  absl::StatusOr<MappingText> Get(const std::string& name) {
    std::optional<absl::StatusOr<MappingText>> result;
    store_.Get(name, CallOptions(),
               [&result](absl::StatusOr<MappingText> text) { result = std::move(text); });
    EXPECT_FALSE(result.has_value()) << "answered inside the call";
    executor_.RunUntilIdle();
    if (!result.has_value()) return absl::UnknownError("no answer");
    return *std::move(result);
  }
  absl::Status Set(const std::string& name, std::string text, int64_t expected) {
    std::optional<absl::Status> result;
    store_.CompareAndSet(name, std::move(text), expected, CallOptions(),
                         [&result](absl::Status status) { result = status; });
    executor_.RunUntilIdle();
    return result.value_or(absl::UnknownError("no answer"));
  }

  SimulatedClock clock_;
  ManualExecutor executor_{clock_};
  MemoryMappingStore store_{executor_};
};

TEST_F(MemoryMappingStoreTest, VersionsGuardWrites) {
  EXPECT_EQ(Get("I").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Set("I", "a", 0).code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(Set("I", "a", MappingStore::kAbsent).ok());
  EXPECT_EQ(Set("I", "b", MappingStore::kAbsent).code(), absl::StatusCode::kAlreadyExists);
  const absl::StatusOr<MappingText> text = Get("I");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(text->text, "a");
  ASSERT_TRUE(Set("I", "a,b", text->version).ok());
  EXPECT_EQ(Set("I", "a,c", text->version).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(store_.TextOf("I"), "a,b");
  EXPECT_EQ(store_.writes(), 2);
  EXPECT_EQ(store_.attempts(), 5);
}

TEST_F(MemoryMappingStoreTest, HooksLoseRaces) {
  store_.LoseNext(1);
  EXPECT_EQ(Set("I", "a", MappingStore::kAbsent).code(), absl::StatusCode::kAborted);
  store_.BeforeCompareAndSet([this](const std::string& name) { store_.Put(name, "first"); });
  EXPECT_EQ(Set("I", "a", MappingStore::kAbsent).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(store_.TextOf("I"), "first");
  EXPECT_EQ(store_.writes(), 0);
}

TEST_F(MemoryMappingStoreTest, FaultsAndSilence) {
  store_.FailNext(absl::UnavailableError("down"));
  EXPECT_EQ(Get("I").status().code(), absl::StatusCode::kUnavailable);
  store_.SetSilent(true);
  EXPECT_EQ(Get("I").status().code(), absl::StatusCode::kUnknown);
  EXPECT_EQ(Set("I", "a", MappingStore::kAbsent).code(), absl::StatusCode::kUnknown);
  EXPECT_EQ(store_.TextOf("I"), "");
}

TEST_F(MemoryMappingStoreTest, ListIsSorted) {
  store_.Put("b", "x");
  store_.Put("a", "x");
  std::vector<std::string> names;
  store_.List(CallOptions(), [&names](absl::StatusOr<std::vector<std::string>> got) {
    ASSERT_TRUE(got.ok());
    names = *got;
  });
  executor_.RunUntilIdle();
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b"}));
  EXPECT_NE(store_.PathOf("a"), store_.PathOf("b"));
}

TEST_F(MemoryMappingStoreTest, WatchTellsThePresentStateAndEachChange) {
  std::vector<std::string> seen;
  Subscription watch = store_.Watch("I", [&seen](absl::StatusOr<MappingText> text) {
    seen.push_back(text.ok() ? text->text : std::string(text.status().message()));
  });
  executor_.RunUntilIdle();
  EXPECT_EQ(seen.size(), 1u);
  store_.Put("I", "a");
  store_.Put("J", "other");
  ASSERT_TRUE(Set("I", "a,b", 0).ok());
  store_.BreakWatches("I", absl::UnavailableError("lost"));
  store_.Remove("I");
  executor_.RunUntilIdle();
  ASSERT_EQ(seen.size(), 5u);
  EXPECT_EQ(seen[1], "a");
  EXPECT_EQ(seen[2], "a,b");
  EXPECT_EQ(seen[3], "lost");
  EXPECT_EQ(seen[4], seen[0]);
  store_.Put("I", "z");
  watch.Cancel();
  executor_.RunUntilIdle();
  EXPECT_EQ(seen.size(), 5u);
  EXPECT_EQ(store_.watches(), 0);
}

TEST_F(MemoryMappingStoreTest, AWatchMayCancelItself) {
  int calls = 0;
  Subscription watch;
  watch = store_.Watch("I", [&calls, &watch](absl::StatusOr<MappingText>) {
    ++calls;
    watch.Cancel();
  });
  store_.Put("I", "a");
  executor_.RunUntilIdle();
  EXPECT_EQ(calls, 1);
}

TEST_F(MemoryMappingStoreTest, AWatchMayOutliveTheStore) {
  int calls = 0;
  auto store = std::make_unique<MemoryMappingStore>(executor_);
  Subscription watch = store->Watch("I", [&calls](absl::StatusOr<MappingText>) { ++calls; });
  store.reset();
  executor_.RunUntilIdle();
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace signpost

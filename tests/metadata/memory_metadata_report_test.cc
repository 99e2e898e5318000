#include "signpost/metadata/memory_metadata_report.h"

#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "signpost/common/manual_executor.h"

namespace signpost {
namespace {

MetadataInfo InfoOf(std::string app, std::string revision) {
  MetadataInfo info;
  info.app = std::move(app);
  info.revision = std::move(revision);
  return info;
}

class MemoryMetadataReportTest : public testing::Test {
 protected:
  absl::Status Publish(const MetadataInfo& info) {
    std::optional<absl::Status> result;
    report_.Publish(info, CallOptions(), [&result](absl::Status status) { result = status; });
    EXPECT_FALSE(result.has_value()) << "answered inside the call";
    executor_.RunUntilIdle();
    return result.value_or(absl::UnknownError("no answer"));
  }
  absl::StatusOr<MetadataInfo> Get(const std::string& app, const std::string& revision) {
    std::optional<absl::StatusOr<MetadataInfo>> result;
    report_.Get(app, revision, CallOptions(),
                [&result](absl::StatusOr<MetadataInfo> info) { result = std::move(info); });
    executor_.RunUntilIdle();
    if (!result.has_value()) return absl::UnknownError("no answer");
    return *std::move(result);
  }

  SimulatedClock clock_;
  ManualExecutor executor_{clock_};
  MemoryMetadataReport report_{executor_};
};

TEST_F(MemoryMetadataReportTest, WhatIsPublishedCanBeRead) {
  EXPECT_EQ(Get("shop", "r1").status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(Publish(InfoOf("shop", "r1")).ok());
  const absl::StatusOr<MetadataInfo> info = Get("shop", "r1");
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->app, "shop");
  EXPECT_EQ(Get("other", "r1").status().code(), absl::StatusCode::kNotFound);
  report_.Remove("shop", "r1");
  EXPECT_EQ(Get("shop", "r1").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(MemoryMetadataReportTest, ADocumentIsWrittenOnce) {
  ASSERT_TRUE(Publish(InfoOf("shop", "r1")).ok());
  ASSERT_TRUE(Publish(InfoOf("shop", "r1")).ok());
  ASSERT_TRUE(Publish(InfoOf("shop", "r2")).ok());
  EXPECT_EQ(report_.publishes(), 3);
  EXPECT_EQ(report_.writes(), 2);
  EXPECT_EQ(report_.Keys().size(), 2u);
}

TEST_F(MemoryMetadataReportTest, FaultsOnDemand) {
  report_.FailNext(absl::UnavailableError("down"), 2);
  EXPECT_EQ(Publish(InfoOf("shop", "r1")).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Get("shop", "r1").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Get("shop", "r1").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(MemoryMetadataReportTest, SilentCallsAreAnsweredLater) {
  report_.SetSilent(true);
  EXPECT_EQ(Publish(InfoOf("shop", "r1")).code(), absl::StatusCode::kUnknown);
  std::optional<absl::StatusOr<MetadataInfo>> result;
  report_.Get("shop", "r1", CallOptions(),
              [&result](absl::StatusOr<MetadataInfo> info) { result = std::move(info); });
  executor_.RunUntilIdle();
  EXPECT_FALSE(result.has_value());
}

TEST_F(MemoryMetadataReportTest, SpeaksAgain) {
  report_.SetSilent(true);
  std::optional<absl::StatusOr<MetadataInfo>> result;
  report_.Get("shop", "r1", CallOptions(),
              [&result](absl::StatusOr<MetadataInfo> info) { result = std::move(info); });
  report_.Put("shop", "r1", InfoOf("", "odd"));
  report_.SetSilent(false);
  executor_.RunUntilIdle();
  ASSERT_TRUE(result.has_value());
  ASSERT_TRUE(result->ok());
  EXPECT_EQ((*result)->revision, "odd");
  EXPECT_EQ(report_.gets(), 1);
}

}  // namespace
}  // namespace signpost

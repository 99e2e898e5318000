#include "signpost/mapping/service_name_mapping.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "signpost/common/manual_executor.h"
#include "signpost/mapping/memory_mapping_store.h"
#include "tests/support/kept_log.h"

namespace signpost {
namespace {

constexpr char kEcho[] = "org.example.Echo";

TEST(MappingTextTest, Parse) {
  EXPECT_EQ(ParseMappingText("a, b,,c"), (AppSet{"a", "b", "c"}));
  EXPECT_EQ(ParseMappingText(",a,b\n"), (AppSet{"a", "b"}));
  EXPECT_EQ(ParseMappingText("a,a"), (AppSet{"a"}));
  EXPECT_EQ(ParseMappingText(""), AppSet());
  EXPECT_EQ(ParseMappingText(" , "), AppSet());
}

TEST(MappingTextTest, WhatIsNoApplicationNameDoesNotCount) {
  EXPECT_EQ(ParseMappingText("a,../b,..,a b,\xff,c"), (AppSet{"a", "c"}));
  // It stays where it was.
  EXPECT_EQ(AddToMappingText("..,a", "b"), "..,a,b");
}

TEST(MappingTextTest, Add) {
  EXPECT_EQ(AddToMappingText("", "shop"), "shop");
  EXPECT_EQ(AddToMappingText("shop-2,my-shop", "shop"), "shop-2,my-shop,shop");
  EXPECT_EQ(AddToMappingText("z,a", "m"), "z,a,m");
  EXPECT_EQ(AddToMappingText("a, b,,c\n", "d"), "a,b,c,d");
  EXPECT_EQ(AddToMappingText("a,b", "b"), "a,b");
}

class ServiceNameMappingTest : public testing::Test {
 protected:
  ServiceNameMappingTest() { Make(ServiceNameMapping::Options()); }

  void Make(ServiceNameMapping::Options options) {
    mapping_ = std::make_unique<ServiceNameMapping>(executor_, store_, options);
  }
  // `result` must outlive the call.
  void Start(const std::string& app, std::optional<absl::Status>& result,
             const CallOptions& options = CallOptions()) {
    mapping_->Map(kEcho, app, options, [&result](absl::Status status) {
      EXPECT_FALSE(result.has_value()) << "called twice";
      result = std::move(status);
    });
  }
  absl::Status Map(const std::string& app) {
    std::optional<absl::Status> result;
    Start(app, result);
    executor_.AdvanceAndRun(absl::Seconds(5));
    EXPECT_EQ(executor_.pending_timers(), 0u);
    return result.value_or(absl::UnknownError("no answer"));
  }

  SimulatedClock clock_;
  ManualExecutor executor_{clock_};
  MemoryMappingStore store_{executor_};
  std::unique_ptr<ServiceNameMapping> mapping_;
};

// TC-07
TEST_F(ServiceNameMappingTest, AddsOnce) {
  store_.Put(kEcho, "shop-2,my-shop");
  ASSERT_TRUE(Map("shop").ok());
  EXPECT_EQ(store_.TextOf(kEcho), "shop-2,my-shop,shop");
  ASSERT_TRUE(Map("shop").ok());
  EXPECT_EQ(store_.writes(), 1);
  EXPECT_EQ(store_.attempts(), 1);
}

TEST_F(ServiceNameMappingTest, TheFirstCreates) {
  ASSERT_TRUE(Map("shop").ok());
  EXPECT_EQ(store_.TextOf(kEcho), "shop");
}

// TC-06
TEST_F(ServiceNameMappingTest, ApplicationsThatRaceAreAllIn) {
  for (const int count : {2, 20}) {
    store_.Remove(kEcho);
    AppSet wanted;
    std::vector<std::unique_ptr<ServiceNameMapping>> processes;
    std::vector<std::optional<absl::Status>> results(count);
    for (int i = 0; i < count; ++i) {
      const std::string app = absl::StrCat("shop-", i);
      wanted.insert(app);
      processes.push_back(
          std::make_unique<ServiceNameMapping>(executor_, store_, ServiceNameMapping::Options()));
      CallOptions options;
      options.timeout = absl::Seconds(30);
      processes.back()->Map(kEcho, app, options,
                            [&results, i](absl::Status status) { results[i] = status; });
    }
    executor_.AdvanceAndRun(absl::Seconds(30));
    for (const std::optional<absl::Status>& result : results) {
      ASSERT_TRUE(result.has_value());
      EXPECT_TRUE(result->ok()) << *result;
    }
    const std::string text = store_.TextOf(kEcho);
    EXPECT_EQ(ParseMappingText(text), wanted);
    EXPECT_GT(store_.attempts(), count) << "nobody met anybody";
    // Each once.
    EXPECT_EQ(std::count(text.begin(), text.end(), ','), count - 1);
  }
}

TEST_F(ServiceNameMappingTest, ALostRaceIsMergedWithWhatTheWinnerWrote) {
  int left = 2;
  store_.BeforeCompareAndSet([this, &left](const std::string& name) {
    if (left == 0) return;
    store_.Put(name, left == 2 ? "first" : "first,second");
    --left;
  });
  ASSERT_TRUE(Map("shop").ok());
  EXPECT_EQ(store_.TextOf(kEcho), "first,second,shop");
  EXPECT_EQ(store_.attempts(), 3);
}

TEST_F(ServiceNameMappingTest, AMappingDeletedInBetweenIsMadeAgain) {
  store_.Put(kEcho, "old");
  bool deleted = false;
  store_.BeforeCompareAndSet([this, &deleted](const std::string& name) {
    if (!deleted) store_.Remove(name);
    deleted = true;
  });
  ASSERT_TRUE(Map("shop").ok());
  EXPECT_EQ(store_.TextOf(kEcho), "shop");
}

TEST_F(ServiceNameMappingTest, SomebodyElseAddedUs) {
  store_.BeforeCompareAndSet([this](const std::string& name) { store_.Put(name, "shop"); });
  ASSERT_TRUE(Map("shop").ok());
  EXPECT_EQ(store_.writes(), 0);
}

TEST_F(ServiceNameMappingTest, TriesAreBounded) {
  ServiceNameMapping::Options options;
  options.max_attempts = 3;
  Make(options);
  store_.LoseNext(1000);
  const absl::Status status = Map("shop");
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(absl::StrContains(status.message(), kEcho)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "lost 3 races")) << status;
  EXPECT_EQ(store_.attempts(), 3);
}

TEST_F(ServiceNameMappingTest, TriesAreSpacedAndEachDelayIsLonger) {
  ServiceNameMapping::Options options;
  options.backoff.initial = absl::Milliseconds(100);
  options.backoff.jitter = 0;
  Make(options);
  store_.LoseNext(1000);
  std::optional<absl::Status> result;
  Start("shop", result);
  executor_.RunUntilIdle();
  EXPECT_EQ(store_.attempts(), 1);
  executor_.AdvanceAndRun(absl::Milliseconds(99));
  EXPECT_EQ(store_.attempts(), 1);
  executor_.AdvanceAndRun(absl::Milliseconds(1));
  EXPECT_EQ(store_.attempts(), 2);
  executor_.AdvanceAndRun(absl::Milliseconds(199));
  EXPECT_EQ(store_.attempts(), 2);
  executor_.AdvanceAndRun(absl::Milliseconds(1));
  EXPECT_EQ(store_.attempts(), 3);
  mapping_.reset();
}

TEST_F(ServiceNameMappingTest, OtherErrorsEndTheCall) {
  store_.FailNext(absl::UnavailableError("down"));
  EXPECT_EQ(Map("shop").code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(store_.attempts(), 0);
}

TEST_F(ServiceNameMappingTest, DeadlineEndsTheRaces) {
  ServiceNameMapping::Options options;
  options.max_attempts = 1000000;
  Make(options);
  store_.LoseNext(1000000);
  std::optional<absl::Status> result;
  CallOptions call;
  call.timeout = absl::Seconds(2);
  Start("shop", result, call);
  executor_.AdvanceAndRun(absl::Milliseconds(1999));
  EXPECT_FALSE(result.has_value());
  executor_.AdvanceAndRun(absl::Milliseconds(1));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->code(), absl::StatusCode::kDeadlineExceeded);
  const int attempts = store_.attempts();
  executor_.AdvanceAndRun(absl::Seconds(10));
  EXPECT_EQ(store_.attempts(), attempts);
  EXPECT_EQ(executor_.pending_timers(), 0u);
}

TEST_F(ServiceNameMappingTest, DeadlineEndsSilence) {
  store_.SetSilent(true);
  EXPECT_EQ(Map("shop").code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(ServiceNameMappingTest, CancelEndsTheCall) {
  store_.LoseNext(1000);
  std::optional<absl::Status> result;
  CallOptions call;
  Start("shop", result, call);
  executor_.RunUntilIdle();
  EXPECT_FALSE(result.has_value());
  call.cancel.Cancel();
  executor_.RunUntilIdle();
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(executor_.pending_timers(), 0u);
}

TEST_F(ServiceNameMappingTest, CancelledBeforehandWritesNothing) {
  std::optional<absl::Status> result;
  CallOptions call;
  call.cancel.Cancel();
  Start("shop", result, call);
  executor_.RunUntilIdle();
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(store_.gets(), 0);
}

TEST_F(ServiceNameMappingTest, NamesThatWouldBreakTheTextAreRefused) {
  for (const char* app : {"", "a,b", "a/b", "a b"}) {
    EXPECT_EQ(Map(app).code(), absl::StatusCode::kInvalidArgument) << app;
  }
  EXPECT_EQ(store_.gets(), 0);
}

TEST_F(ServiceNameMappingTest, Get) {
  std::vector<absl::StatusOr<AppSet>> seen;
  const auto get = [this, &seen] {
    mapping_->Get(kEcho, CallOptions(),
                  [&seen](absl::StatusOr<AppSet> apps) { seen.push_back(std::move(apps)); });
    executor_.RunUntilIdle();
  };
  get();
  store_.Put(kEcho, "a, b");
  get();
  store_.FailNext(absl::UnavailableError("down"));
  get();
  ASSERT_EQ(seen.size(), 3u);
  ASSERT_TRUE(seen[0].ok());
  EXPECT_TRUE(seen[0]->empty());
  ASSERT_TRUE(seen[1].ok());
  EXPECT_EQ(*seen[1], (AppSet{"a", "b"}));
  EXPECT_EQ(seen[2].status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(ServiceNameMappingTest, NamesThatAreNoneAreSaidOnce) {
  const KeptLog log;
  store_.Put(kEcho, "a,../b");
  std::optional<absl::StatusOr<AppSet>> told;
  const Subscription watch =
      mapping_->Watch(kEcho, [&](absl::StatusOr<AppSet> apps) { told = std::move(apps); });
  executor_.RunUntilIdle();
  EXPECT_EQ(**told, AppSet{"a"});
  ASSERT_EQ(log.lines().size(), 1u) << log.text();
  EXPECT_NE(log.text().find("../b"), std::string::npos);
  EXPECT_NE(log.text().find(kEcho), std::string::npos);
}

// Each application costs a watch: one node must not use up all of them, nor the time.
TEST_F(ServiceNameMappingTest, ARunAwayMappingIsRefused) {
  std::string text;
  for (int i = 0; i < 150000; ++i) absl::StrAppend(&text, "a", i, ",");
  store_.Put(kEcho, text);
  std::optional<absl::StatusOr<AppSet>> told;
  const Subscription watch =
      mapping_->Watch(kEcho, [&](absl::StatusOr<AppSet> apps) { told = std::move(apps); });
  executor_.RunUntilIdle();
  ASSERT_TRUE(told.has_value());
  EXPECT_TRUE(absl::IsResourceExhausted(told->status())) << told->status();
  EXPECT_NE(told->status().message().find("150000"), std::string::npos);
  store_.Put(kEcho, "shop");
  executor_.RunUntilIdle();
  EXPECT_TRUE(told->ok());
}

TEST_F(ServiceNameMappingTest, WatchFollowsTheSet) {
  std::vector<std::string> seen;
  Subscription watch = mapping_->Watch(kEcho, [&seen](absl::StatusOr<AppSet> apps) {
    std::string text = apps.ok() ? "" : "error";
    if (apps.ok()) {
      for (const std::string& app : *apps) absl::StrAppend(&text, "[", app, "]");
    }
    seen.push_back(text);
  });
  executor_.RunUntilIdle();
  const auto put = [this](const char* text) {
    store_.Put(kEcho, text);
    executor_.RunUntilIdle();
  };
  put("old");
  put(" old,,");  // the same set
  put("old,new");
  put("new,old");  // the same set
  put("new");
  EXPECT_EQ(seen, (std::vector<std::string>{"", "[old]", "[new][old]", "[new]"}));
  // After an error the set is news even if it is the same.
  seen.clear();
  store_.BreakWatches(kEcho, absl::UnavailableError("lost"));
  put("new");
  store_.Remove(kEcho);
  executor_.RunUntilIdle();
  EXPECT_EQ(seen, (std::vector<std::string>{"error", "[new]", ""}));
  watch.Cancel();
  put("later");
  EXPECT_EQ(seen.size(), 3u);
}

TEST_F(ServiceNameMappingTest, NothingRunsAfterDestruction) {
  store_.LoseNext(1000);
  std::optional<absl::Status> result;
  CallOptions call;
  Start("shop", result, call);
  executor_.RunUntilIdle();
  mapping_.reset();
  EXPECT_EQ(executor_.pending_timers(), 0u);
  call.cancel.Cancel();
  executor_.AdvanceAndRun(absl::Seconds(10));
  EXPECT_FALSE(result.has_value());
  EXPECT_EQ(store_.attempts(), 1);
}

}  // namespace
}  // namespace signpost

#include "signpost/metadata/metadata_resolver.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "signpost/common/manual_executor.h"
#include "signpost/metadata/memory_metadata_report.h"
#include "tests/support/fake_fetcher.h"

namespace signpost {
namespace {

using Instances = std::vector<std::shared_ptr<const ServiceInstance>>;
using Result = std::optional<absl::StatusOr<ResolvedMetadata>>;

MetadataInfo InfoOf(std::string revision, int services = 1) {
  MetadataInfo info;
  info.app = "shop";
  info.revision = std::move(revision);
  for (int i = 0; i < services; ++i) {
    ServiceInfo service;
    service.name = service.path = absl::StrCat("demo.S", i);
    service.protocol = "tri";
    info.services[service.match_key()] = service;
  }
  return info;
}

std::shared_ptr<const ServiceInstance> InstanceOf(const std::string& host,
                                                  const std::string& storage, bool speaks = true) {
  auto instance = std::make_shared<ServiceInstance>();
  instance->app = "shop";
  instance->host = host;
  instance->port = 20880;
  instance->metadata = {{kRevisionKey, "r1"}, {kStorageTypeKey, storage}};
  if (speaks) instance->metadata["meta-v"] = "2.0.0";
  return instance;
}

class MetadataResolverTest : public testing::Test {
 protected:
  MetadataResolverTest() { Make(Options()); }

  static MetadataResolver::Options Options() {
    MetadataResolver::Options options;
    options.shuffle = false;
    return options;
  }
  void Make(MetadataResolver::Options options, bool with_report = true) {
    std::vector<std::unique_ptr<MetadataFetcher>> fetchers;
    fetchers.push_back(std::make_unique<FakeFetcher>(executor_, hosts_));
    resolver_ = std::make_unique<MetadataResolver>(executor_, with_report ? &report_ : nullptr,
                                                   std::move(fetchers), options);
  }
  // `result` must outlive the call.
  void Start(const std::string& revision, Instances instances, Result& result) {
    resolver_->Resolve("shop", revision, std::move(instances),
                       [&result](absl::StatusOr<ResolvedMetadata> got) {
                         EXPECT_FALSE(result.has_value()) << "called twice";
                         result = std::move(got);
                       });
  }
  absl::StatusOr<ResolvedMetadata> Resolve(const std::string& revision, Instances instances) {
    Result result;
    Start(revision, std::move(instances), result);
    executor_.RunUntilIdle();
    if (!result.has_value()) return absl::UnknownError("no answer");
    return *std::move(result);
  }

  SimulatedClock clock_;
  ManualExecutor executor_{clock_};
  FakeHosts hosts_;
  MemoryMetadataReport report_{executor_};
  std::unique_ptr<MetadataResolver> resolver_;
};

TEST_F(MetadataResolverTest, RemoteIsReadFromTheReportOnce) {
  report_.Put("shop", "r1", InfoOf("r1"));
  absl::StatusOr<ResolvedMetadata> result = Resolve("r1", {InstanceOf("a", "remote")});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->source, MetadataSource::kReport);
  EXPECT_EQ(result->info->services.size(), 1u);
  const MetadataPtr first = result->info;
  result = Resolve("r1", {});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->source, MetadataSource::kMemory);
  EXPECT_EQ(result->info, first);
  EXPECT_EQ(report_.gets(), 1);
  EXPECT_TRUE(hosts_.asked.empty());
}

TEST_F(MetadataResolverTest, CallbacksComeAsTasksAlsoFromMemory) {
  report_.Put("shop", "r1", InfoOf("r1"));
  ASSERT_TRUE(Resolve("r1", {InstanceOf("a", "remote")}).ok());
  Result result;
  Start("r1", {}, result);
  EXPECT_FALSE(result.has_value());
  executor_.RunUntilIdle();
  EXPECT_TRUE(result.has_value());
}

TEST_F(MetadataResolverTest, LocalIsAskedOfTheInstance) {
  hosts_.answers.insert({"a", InfoOf("r1", 2)});
  const absl::StatusOr<ResolvedMetadata> result = Resolve("r1", {InstanceOf("a", "local")});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->source, MetadataSource::kService);
  EXPECT_EQ(result->info->services.size(), 2u);
  EXPECT_EQ(report_.gets(), 0);
}

TEST_F(MetadataResolverTest, AnswersInsideTheCallAreTaken) {
  hosts_.inside_the_call = true;
  hosts_.answers.insert({"a", absl::UnavailableError("down")});
  hosts_.answers.insert({"b", InfoOf("r1")});
  EXPECT_TRUE(Resolve("r1", {InstanceOf("a", "local"), InstanceOf("b", "local")}).ok());
}

TEST_F(MetadataResolverTest, CallsForOneRevisionJoin) {
  report_.Put("shop", "r1", InfoOf("r1"));
  std::vector<Result> results(20);
  for (Result& result : results) Start("r1", {InstanceOf("a", "remote")}, result);
  executor_.RunUntilIdle();
  for (const Result& result : results) {
    ASSERT_TRUE(result.has_value());
    ASSERT_TRUE(result->ok());
    EXPECT_EQ((*result)->info, (*results[0])->info);
  }
  EXPECT_EQ(report_.gets(), 1);
}

TEST_F(MetadataResolverTest, WhoJoinsBringsInstances) {
  Result first;
  Result second;
  Start("r1", {InstanceOf("silent", "local")}, first);
  executor_.RunUntilIdle();
  hosts_.answers.insert({"b", InfoOf("r1")});
  Start("r1", {InstanceOf("silent", "local"), InstanceOf("b", "local")}, second);
  executor_.AdvanceAndRun(absl::Seconds(5));
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_TRUE(first->ok()) << first->status();
  EXPECT_TRUE(second->ok()) << second->status();
  EXPECT_EQ(hosts_.asked, (std::vector<std::string>{"silent", "b"}));
}

TEST_F(MetadataResolverTest, SameRevisionOfTwoApplicationsIsTwoDocuments) {
  report_.Put("shop", "r1", InfoOf("r1", 1));
  report_.Put("bank", "r1", InfoOf("r1", 2));
  ASSERT_TRUE(Resolve("r1", {InstanceOf("a", "remote")}).ok());
  Result result;
  resolver_->Resolve("bank", "r1", {InstanceOf("b", "remote")},
                     [&result](absl::StatusOr<ResolvedMetadata> got) { result = std::move(got); });
  executor_.RunUntilIdle();
  ASSERT_TRUE(result.has_value() && result->ok());
  EXPECT_EQ((*result)->info->services.size(), 2u);
}

// An instance on its way out still shows the revision but has withdrawn its services.
// TC-11
TEST_F(MetadataResolverTest, EmptyAnswerIsNotUsedAndTheNextInstanceIsAsked) {
  hosts_.answers.insert({"leaving", InfoOf("r1", 0)});
  absl::StatusOr<ResolvedMetadata> result = Resolve("r1", {InstanceOf("leaving", "local")});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(absl::StrContains(result.status().message(), "without services")) << result.status();
  hosts_.answers.insert({"good", InfoOf("r1")});
  result = Resolve("r1", {InstanceOf("leaving", "local"), InstanceOf("good", "local")});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->info->services.size(), 1u);
  EXPECT_EQ(hosts_.asked, (std::vector<std::string>{"leaving", "leaving", "good"}));
}

TEST_F(MetadataResolverTest, AnswerOfAnotherRevisionIsNotUsed) {
  hosts_.answers.insert({"newer", InfoOf("r2")});
  hosts_.answers.insert({"good", InfoOf("r1")});
  const absl::StatusOr<ResolvedMetadata> result =
      Resolve("r1", {InstanceOf("newer", "local"), InstanceOf("good", "local")});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->info->revision, "r1");
  // It is no answer for r2 either.
  EXPECT_FALSE(Resolve("r2", {}).ok());
}

TEST_F(MetadataResolverTest, DocumentWithoutRevisionAndAppIsOfTheAskedOne) {
  MetadataInfo info = InfoOf("");
  info.app.clear();
  report_.Put("shop", "r1", info);
  const absl::StatusOr<ResolvedMetadata> result = Resolve("r1", {InstanceOf("a", "remote")});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->info->revision, "r1");
  EXPECT_EQ(result->info->app, "shop");
}

// The document comes after the instance.
// TC-11, in the report: the instances that speak are asked instead.
TEST_F(MetadataResolverTest, ADocumentThatCannotBelongIsNotUsed) {
  hosts_.answers.emplace("a", InfoOf("r1"));
  report_.Put("shop", "r1", InfoOf("r1", 0));
  EXPECT_EQ(Resolve("r1", {InstanceOf("a", "remote")})->source, MetadataSource::kService);
  Make(Options());
  report_.Put("shop", "r1", InfoOf("r2"));
  EXPECT_EQ(Resolve("r1", {InstanceOf("a", "remote")})->source, MetadataSource::kService);
}

TEST_F(MetadataResolverTest, AbsenceIsNotRemembered) {
  const Instances instances = {InstanceOf("a", "remote", /*speaks=*/false)};
  const absl::StatusOr<ResolvedMetadata> missing = Resolve("r1", instances);
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(absl::StrContains(missing.status().message(), "metadata of shop, revision r1"))
      << missing.status();
  clock_.Advance(absl::Seconds(3));
  report_.Put("shop", "r1", InfoOf("r1"));
  EXPECT_TRUE(Resolve("r1", instances).ok());
  EXPECT_EQ(report_.gets(), 2);
}

TEST_F(MetadataResolverTest, RemoteFallsBackToInstancesThatSpeak) {
  hosts_.answers.insert({"a", InfoOf("r1")});
  const absl::StatusOr<ResolvedMetadata> result = Resolve("r1", {InstanceOf("a", "remote")});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->source, MetadataSource::kService);
  EXPECT_EQ(report_.gets(), 1);
}

TEST_F(MetadataResolverTest, LocalThatNobodySpeaksToMayHaveWrittenTheDocument) {
  report_.Put("shop", "r1", InfoOf("r1"));
  const absl::StatusOr<ResolvedMetadata> result =
      Resolve("r1", {InstanceOf("a", "local", /*speaks=*/false)});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->source, MetadataSource::kReport);
}

TEST_F(MetadataResolverTest, LocalThatNobodySpeaksToIsNamed) {
  for (const bool with_report : {true, false}) {
    Make(Options(), with_report);
    const absl::StatusOr<ResolvedMetadata> result =
        Resolve("r1", {InstanceOf("10.0.0.1", "local", /*speaks=*/false)});
    EXPECT_EQ(result.status().code(), absl::StatusCode::kUnavailable);
    EXPECT_TRUE(
        absl::StrContains(result.status().message(), "it does not say where its metadata is"))
        << result.status();
    EXPECT_TRUE(absl::StrContains(result.status().message(), "10.0.0.1:20880")) << result.status();
  }
}

TEST_F(MetadataResolverTest, LocalInstancesFailAndTheReportIsTheLastResort) {
  hosts_.answers.insert({"a", absl::UnavailableError("down")});
  report_.Put("shop", "r1", InfoOf("r1"));
  const absl::StatusOr<ResolvedMetadata> result = Resolve("r1", {InstanceOf("a", "local")});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->source, MetadataSource::kReport);
  EXPECT_EQ(hosts_.asked.size(), 1u);
}

TEST_F(MetadataResolverTest, BesideASilentInstanceTheNextOneIsAsked) {
  hosts_.answers.insert({"good", InfoOf("r1", 1)});
  Result result;
  Start("r1", {InstanceOf("silent", "local"), InstanceOf("good", "local")}, result);
  executor_.AdvanceAndRun(absl::Milliseconds(199));
  EXPECT_FALSE(result.has_value());
  EXPECT_EQ(hosts_.asked.size(), 1u);
  EXPECT_FALSE(hosts_.options[0].cancel.cancelled());
  executor_.AdvanceAndRun(absl::Milliseconds(1));
  ASSERT_TRUE(result.has_value() && result->ok());
  EXPECT_TRUE(hosts_.options[0].cancel.cancelled());
  ASSERT_EQ(hosts_.silent.size(), 1u);
  std::move(hosts_.silent[0])(InfoOf("r1", 7));  // too late
  executor_.RunUntilIdle();
  EXPECT_EQ(Resolve("r1", {})->info->services.size(), 1u);
  EXPECT_EQ(executor_.pending_timers(), 0u);
}

TEST_F(MetadataResolverTest, ASlowAnswerStillCounts) {
  Result result;
  Start("r1", {InstanceOf("slow", "local"), InstanceOf("silent", "local")}, result);
  executor_.AdvanceAndRun(absl::Milliseconds(4900));
  ASSERT_EQ(hosts_.silent.size(), 2u);
  EXPECT_FALSE(hosts_.options[0].cancel.cancelled());
  std::move(hosts_.silent[0])(InfoOf("r1"));
  executor_.RunUntilIdle();
  ASSERT_TRUE(result.has_value() && result->ok());
  EXPECT_TRUE(hosts_.options[1].cancel.cancelled());
  EXPECT_EQ(executor_.pending_timers(), 0u);
}

TEST_F(MetadataResolverTest, OneOf50ThatIsWellIsFoundWithin10Seconds) {
  Instances instances;
  for (int i = 0; i < 49; ++i) instances.push_back(InstanceOf(absl::StrCat("s", i), "local"));
  instances.push_back(InstanceOf("good", "local"));
  hosts_.answers.insert({"good", InfoOf("r1")});
  Result result;
  Start("r1", instances, result);
  const auto running = [&] {
    size_t count = 0;
    for (const CallOptions& options : hosts_.options) count += options.cancel.cancelled() ? 0 : 1;
    return count;
  };
  for (int i = 0; i < 97 && !result.has_value(); ++i) {
    executor_.AdvanceAndRun(absl::Milliseconds(100));
    EXPECT_LE(running(), 5u);
  }
  EXPECT_FALSE(result.has_value());
  executor_.AdvanceAndRun(absl::Milliseconds(300));
  ASSERT_TRUE(result.has_value());
  ASSERT_TRUE(result->ok()) << result->status();
  EXPECT_EQ(hosts_.asked.size(), 50u);
  EXPECT_EQ(running(), 1u);  // the one that answered
  EXPECT_EQ(executor_.pending_timers(), 0u);
}

TEST_F(MetadataResolverTest, FaultsDelayNothing) {
  Instances instances;
  for (int i = 0; i < 49; ++i) {
    const std::string host = absl::StrCat("f", i);
    instances.push_back(InstanceOf(host, "local"));
    hosts_.answers.insert({host, absl::UnavailableError("refused")});
  }
  instances.push_back(InstanceOf("good", "local"));
  hosts_.answers.insert({"good", InfoOf("r1")});
  EXPECT_TRUE(Resolve("r1", instances).ok());
  EXPECT_EQ(hosts_.asked.size(), 50u);
}

TEST_F(MetadataResolverTest, WhoJoinsBringsInstancesAlsoWhenAllHaveBeenAsked) {
  Result first;
  Start("r1", {InstanceOf("silent", "local")}, first);
  executor_.AdvanceAndRun(absl::Seconds(1));
  hosts_.answers.insert({"good", InfoOf("r1")});
  Result second;
  Start("r1", {InstanceOf("good", "local")}, second);
  executor_.AdvanceAndRun(absl::Milliseconds(200));
  EXPECT_TRUE(first.has_value() && first->ok());
  EXPECT_TRUE(second.has_value() && second->ok());
}

TEST_F(MetadataResolverTest, AThousandInstancesOfARevisionAreOneQuestion) {
  Instances instances;
  for (int i = 0; i < 1000; ++i) {
    const std::string host = absl::StrCat("h", i);
    instances.push_back(InstanceOf(host, "local"));
    hosts_.answers.insert({host, InfoOf("r1")});
  }
  EXPECT_TRUE(Resolve("r1", instances).ok());
  EXPECT_TRUE(Resolve("r1", instances).ok());
  executor_.AdvanceAndRun(absl::Seconds(10));
  EXPECT_EQ(hosts_.asked.size(), 1u);
}

TEST_F(MetadataResolverTest, SilenceOfAllIsADeadline) {
  MetadataResolver::Options options = Options();
  options.attempt_timeout = absl::Seconds(1);
  options.max_instances = 2;
  Make(options, /*with_report=*/false);
  Result result;
  Start("r1", {InstanceOf("a", "local"), InstanceOf("b", "local"), InstanceOf("c", "local")},
        result);
  executor_.AdvanceAndRun(absl::Milliseconds(1199));
  EXPECT_FALSE(result.has_value());
  executor_.AdvanceAndRun(absl::Milliseconds(1));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(absl::StrContains(result->status().message(), "(2 instances asked)"))
      << result->status();
  EXPECT_TRUE(absl::StrContains(result->status().message(), "instance b:20880"))
      << result->status();
  EXPECT_EQ(hosts_.asked, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(executor_.pending_timers(), 0u);
}

TEST_F(MetadataResolverTest, SilentReportIsGivenUp) {
  report_.SetSilent(true);
  hosts_.answers.insert({"a", InfoOf("r1")});
  Result result;
  Start("r1", {InstanceOf("a", "remote")}, result);
  executor_.AdvanceAndRun(absl::Seconds(5));
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(result->ok()) << result->status();
}

TEST_F(MetadataResolverTest, TheLeastRecentlyUsedRevisionGoes) {
  MetadataResolver::Options options = Options();
  options.max_cached = 2;
  Make(options);
  for (const char* revision : {"r1", "r2", "r3"}) report_.Put("shop", revision, InfoOf(revision));
  const Instances instances = {InstanceOf("a", "remote")};
  ASSERT_TRUE(Resolve("r1", instances).ok());
  ASSERT_TRUE(Resolve("r2", instances).ok());
  ASSERT_TRUE(Resolve("r1", instances).ok());  // now r2 is the older one
  ASSERT_TRUE(Resolve("r3", instances).ok());
  EXPECT_EQ(Resolve("r1", instances)->source, MetadataSource::kMemory);
  EXPECT_EQ(Resolve("r3", instances)->source, MetadataSource::kMemory);
  EXPECT_EQ(Resolve("r2", instances)->source, MetadataSource::kReport);
}

TEST_F(MetadataResolverTest, OfManyInstancesFewAreLookedAt) {
  Instances many;
  for (int i = 0; i < 30000; ++i) many.push_back(InstanceOf(absl::StrCat("h", i), "local"));
  for (int i = 0; i < 200; ++i) hosts_.answers.emplace(absl::StrCat("h", i), InfoOf("r2"));
  EXPECT_FALSE(Resolve("r1", many).ok());
  EXPECT_EQ(hosts_.asked.size(), 64u);
  // One that wrote the document counts wherever it stands.
  many.back() = InstanceOf("writer", "remote");
  report_.Put("shop", "r1", InfoOf("r1"));
  EXPECT_EQ(Resolve("r1", many)->source, MetadataSource::kReport);
}

TEST_F(MetadataResolverTest, NothingToAsk) {
  EXPECT_EQ(Resolve("", {}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Resolve("0", {InstanceOf("a", "remote")}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Resolve("r1", {}).status().code(), absl::StatusCode::kUnavailable);
  Make(Options(), /*with_report=*/false);
  EXPECT_EQ(Resolve("r1", {InstanceOf("a", "remote", false)}).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(report_.gets(), 0);
}

TEST_F(MetadataResolverTest, InstancesAreSpreadUnlessToldOtherwise) {
  Make(MetadataResolver::Options());
  std::map<std::string, int> first_asked;
  for (int round = 0; round < 64; ++round) {
    hosts_.asked.clear();
    for (const char* host : {"a", "b", "c", "d"}) {
      hosts_.answers.insert_or_assign(host, absl::UnavailableError("down"));
    }
    Resolve("r1", {InstanceOf("a", "local"), InstanceOf("b", "local"), InstanceOf("c", "local"),
                   InstanceOf("d", "local")})
        .IgnoreError();
    ASSERT_EQ(hosts_.asked.size(), 4u);
    ++first_asked[hosts_.asked[0]];
  }
  EXPECT_GT(first_asked.size(), 1u);
}

TEST_F(MetadataResolverTest, NothingRunsAfterDestruction) {
  Result result;
  Start("r1", {InstanceOf("silent", "local")}, result);
  executor_.RunUntilIdle();
  ASSERT_EQ(hosts_.silent.size(), 1u);
  resolver_.reset();
  EXPECT_TRUE(hosts_.options[0].cancel.cancelled());
  EXPECT_EQ(executor_.pending_timers(), 0u);
  std::move(hosts_.silent[0])(InfoOf("r1"));
  executor_.AdvanceAndRun(absl::Seconds(10));
  EXPECT_FALSE(result.has_value());
}

TEST_F(MetadataResolverTest, ACallbackMayDestroyTheResolver) {
  report_.Put("shop", "r1", InfoOf("r1"));
  Result other;
  bool called = false;
  resolver_->Resolve("shop", "r1", {InstanceOf("a", "remote")},
                     [this, &called](absl::StatusOr<ResolvedMetadata>) {
                       called = true;
                       resolver_.reset();
                     });
  Start("r1", {InstanceOf("a", "remote")}, other);
  executor_.RunUntilIdle();
  EXPECT_TRUE(called);
  EXPECT_FALSE(other.has_value());
}

}  // namespace
}  // namespace signpost

#include "signpost/registry/interface/interface_registry.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "signpost/common/await.h"
#include "tests/registry/interface/interface_test.h"

namespace signpost {
namespace {

class InterfaceRegistryTest : public InterfaceTest {
 protected:
  std::optional<absl::StatusOr<ServiceAddresses>> Lookup(Process& process,
                                                         CallOptions options = {}) {
    auto answer = std::make_shared<std::optional<absl::StatusOr<ServiceAddresses>>>();
    process.registry->Lookup(Consumer(), options, [answer](absl::StatusOr<ServiceAddresses> a) {
      answer->emplace(std::move(a));
    });
    executor_->RunUntilIdle();
    return *answer;
  }
};

TEST_F(InterfaceRegistryTest, WhatOneExportsAnotherFinds) {
  auto provider = Start();
  auto consumer = Start();
  auto listener = Subscribe(*consumer, Consumer());
  Export(*provider, "tri://192.0.2.1:50051/org.example.Echo?side=provider&weight=30");
  EXPECT_EQ(listener->Hosts(), Texts{"192.0.2.1:50051"});
  provider.reset();
  executor_->RunUntilIdle();
  EXPECT_EQ(listener->Hosts(), Texts{});
}

TEST_F(InterfaceRegistryTest, OptionsComeFromTheRegistryUrl) {
  const auto options = InterfaceRegistryOptions::FromUrl(*Url::Parse(
      "zookeeper://h?simplified=true&extra-keys=a, b,,c&accepts=tri&enable-empty-protection=true"));
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_TRUE(options->simplified);
  EXPECT_TRUE(options->empty_protection);
  EXPECT_EQ(options->extra_keys, (Texts{"a", "b", "c"}));
  EXPECT_EQ(options->accepts.allow, Texts{"tri"});
  const auto none = InterfaceRegistryOptions::FromUrl(*Url::Parse("zookeeper://h"));
  EXPECT_FALSE(none->simplified || none->empty_protection);
  EXPECT_TRUE(none->extra_keys.empty() && none->accepts.allow.empty());
  const auto denied = InterfaceRegistryOptions::FromUrl(*Url::Parse("zookeeper://h?accepts=-rest"));
  EXPECT_TRUE(denied->accepts.allow.empty());
  EXPECT_EQ(denied->accepts.deny, Texts{"rest"});
  for (const char* bad :
       {"zookeeper://h?simplified=perhaps", "zookeeper://h?enable-empty-protection=2"}) {
    EXPECT_TRUE(
        absl::IsInvalidArgument(InterfaceRegistryOptions::FromUrl(*Url::Parse(bad)).status()))
        << bad;
  }
}

TEST_F(InterfaceRegistryTest, SubscriptionsOfOneInterfaceShareAWatch) {
  auto process = Start();
  const size_t before = local_->watch_count();
  auto first = Subscribe(*process, Consumer("&group=a"));
  auto second = Subscribe(*process, Consumer("&group=b"));
  const Subscription urls = process->registry->WatchUrls(Consumer(), [](auto) {});
  executor_->RunUntilIdle();
  EXPECT_EQ(local_->watch_count(), before + 1);
  process->registry->Unsubscribe(Consumer("&group=a"), first);
  process->registry->Unsubscribe(Consumer("&group=x"), second);  // unknown
  executor_->RunUntilIdle();
  EXPECT_EQ(local_->watch_count(), before + 1);
  PutProvider("tri://192.0.2.1:1/org.example.Echo?group=b");
  EXPECT_EQ(first->count, 1);
  EXPECT_EQ(second->Hosts(), Texts{"192.0.2.1:1"});
  process->registry->Unsubscribe(Consumer("&group=b"), second);
  executor_->RunUntilIdle();
  EXPECT_EQ(local_->watch_count(), before + 1);
}

TEST_F(InterfaceRegistryTest, TheSamePairIsSubscribedOnce) {
  auto process = Start();
  auto listener = Subscribe(*process, Consumer());
  process->registry->Subscribe(Consumer(), listener);
  process->registry->Subscribe(Consumer(), nullptr);
  executor_->RunUntilIdle();
  EXPECT_EQ(listener->count, 1);
}

TEST_F(InterfaceRegistryTest, LookupAnswersOnce) {
  PutProvider("tri://192.0.2.1:1/org.example.Echo");
  auto process = Start();
  const size_t before = local_->watch_count();
  const auto answer = Lookup(*process);
  ASSERT_TRUE(answer.has_value() && answer->ok());
  EXPECT_EQ((*answer)->list->size(), 1u);
  executor_->RunUntilIdle();
  EXPECT_EQ(local_->watch_count(), before);
}

// A centre that never answers.
TEST_F(InterfaceRegistryTest, LookupEndsByItsDeadlineOrItsCaller) {
  auto process = Start();
  CallOptions options;
  options.cancel.Cancel();
  local_->SetOffline(true);
  const auto told = Lookup(*process);
  ASSERT_TRUE(told.has_value() && told->ok());
  EXPECT_TRUE(absl::IsUnavailable((*told)->state)) << (*told)->state;
  std::optional<absl::StatusOr<ServiceAddresses>> answer;
  options = CallOptions();
  options.timeout = absl::ZeroDuration();
  process->registry->Lookup(Consumer("&x=2"), options,
                            [&](absl::StatusOr<ServiceAddresses> a) { answer = std::move(a); });
  executor_->RunUntilIdle();
  ASSERT_TRUE(answer.has_value());
}

TEST_F(InterfaceRegistryTest, AfterCloseNothingRuns) {
  auto process = Start();
  auto listener = Subscribe(*process, Consumer());
  EXPECT_TRUE(process->registry->IsAvailable());
  local_->SetOffline(true);
  const Answer waiting = Register(*process, "tri://192.0.2.1:1/org.example.Echo", absl::Minutes(1));
  std::vector<absl::Status> late;
  process->registry->Close();
  process->registry->Close();
  EXPECT_FALSE(process->registry->IsAvailable());
  executor_->RunUntilIdle();
  ASSERT_TRUE(waiting->has_value());
  EXPECT_TRUE(absl::IsFailedPrecondition(**waiting)) << **waiting;
  const auto keep = [&](absl::Status s) { late.push_back(s); };
  process->registry->Register(*Url::Parse("tri://h:1/a.A"), {}, keep);
  process->registry->Unregister(*Url::Parse("tri://h:1/a.A"), {}, keep);
  process->registry->UnregisterAll({}, keep);
  const auto answer = Lookup(*process);
  ASSERT_TRUE(answer.has_value());
  EXPECT_TRUE(absl::IsFailedPrecondition(answer->status()));
  ASSERT_EQ(late.size(), 3u);
  for (const absl::Status& each : late) EXPECT_TRUE(absl::IsFailedPrecondition(each)) << each;
  local_->SetOffline(false);
  const int count = listener->count;
  process->registry->Subscribe(Consumer("&x=1"), listener);
  EXPECT_FALSE(process->registry->WatchUrls(Consumer(), [](auto) {}).active());
  PutProvider("tri://192.0.2.1:1/org.example.Echo");
  executor_->AdvanceAndRun(absl::Minutes(1));
  EXPECT_EQ(listener->count, count);
}

TEST_F(InterfaceRegistryTest, AWatchOfUrlsMayOutliveTheRegistry) {
  auto process = Start();
  int calls = 0;
  Subscription watch = process->registry->WatchUrls(Consumer(), [&](auto) { ++calls; });
  executor_->RunUntilIdle();
  process.reset();
  PutProvider("tri://192.0.2.1:1/org.example.Echo");
  watch.Cancel();
  EXPECT_EQ(calls, 1);
}

class ClosingListener final : public NotifyListener {
 public:
  explicit ClosingListener(std::unique_ptr<InterfaceRegistry>& registry) : registry_(registry) {}
  void Notify(const ServiceAddresses&) override { registry_.reset(); }

 private:
  std::unique_ptr<InterfaceRegistry>& registry_;
};

TEST_F(InterfaceRegistryTest, AListenerMayEndTheRegistry) {
  auto process = Start();
  process->registry->Subscribe(Consumer(), std::make_shared<ClosingListener>(process->registry));
  Subscribe(*process, Consumer("&x=1"));
  EXPECT_EQ(process->registry, nullptr);
}

TEST_F(InterfaceRegistryTest, ADoneCallbackMayEndTheRegistry) {
  auto process = Start();
  process->registry->Register(*Url::Parse("tri://192.0.2.1:1/a.A"), {},
                              [&](absl::Status) { process->registry.reset(); });
  process->registry->Register(*Url::Parse("tri://192.0.2.1:1/a.B"), {}, [](absl::Status) {});
  executor_->RunUntilIdle();
  EXPECT_EQ(process->registry, nullptr);
}

}  // namespace
}  // namespace signpost

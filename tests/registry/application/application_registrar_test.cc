// The provider's side, through ApplicationRegistry: in which order things are written, how many at
// a time, and who is told what.
#include "signpost/registry/application/application_registrar.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "signpost/registry/return_pace.h"
#include "tests/registry/application/application_test.h"
#include "tests/support/forwarding_store.h"

namespace signpost {
namespace {

using application_internal::ApplicationRegistrar;

constexpr char kInstance[] = "/services/shop/192.0.2.1:50051";
constexpr char kEcho[] = "tri://192.0.2.1:50051/org.example.Echo";
constexpr char kOther[] = "tri://192.0.2.1:50051/org.example.Other";

// Keeps the keys that are written, in the order in which that holds; may refuse some.
class WritingStore final : public ForwardingStore {
 public:
  WritingStore(std::unique_ptr<Store> target, Executor& executor)
      : ForwardingStore(std::move(target)), executor_(executor) {}

  void Get(const std::string& key, const CallOptions& options, ValueCallback done) override {
    ++reads;
    ForwardingStore::Get(key, options, Counted<StoreValue>("", std::move(done)));
  }
  void CompareAndSet(const std::string& key, std::string value, int64_t expected_version,
                     const CallOptions& options, VersionCallback done) override {
    const absl::Status refusal = refuse ? refuse(key) : absl::OkStatus();
    if (!refusal.ok()) {
      executor_.Post([done = std::move(done), refusal]() mutable { std::move(done)(refusal); });
      return;
    }
    ForwardingStore::CompareAndSet(key, std::move(value), expected_version, options,
                                   Counted<int64_t>(key, std::move(done)));
  }
  void CreateSessionBound(const std::string& key, std::string value, absl::Duration ttl,
                          const CallOptions& options, VersionCallback done,
                          ParentKind parents) override {
    EXPECT_EQ(parents, ParentKind::kContainer) << key;
    ForwardingStore::CreateSessionBound(key, std::move(value), ttl, options,
                                        Counted<int64_t>(key, std::move(done)), parents);
  }

  // The place of the first key that begins so.
  size_t PlaceOf(const std::string& start) const {
    const auto it = std::find_if(written.begin(), written.end(), [&](const std::string& key) {
      return absl::StartsWith(key, start);
    });
    return static_cast<size_t>(it - written.begin());
  }

  std::function<absl::Status(const std::string& key)> refuse;
  std::vector<std::string> written;
  size_t reads = 0;
  size_t most = 0;  // calls together

 private:
  template <typename T>
  absl::AnyInvocable<void(absl::StatusOr<T>) &&> Counted(
      const std::string& key, absl::AnyInvocable<void(absl::StatusOr<T>) &&> done) {
    most = std::max(most, ++now_);
    return [this, key, done = std::move(done)](absl::StatusOr<T> answer) mutable {
      --now_;
      if (!key.empty() && answer.ok()) written.push_back(key);
      std::move(done)(std::move(answer));
    };
  }

  Executor& executor_;
  size_t now_ = 0;
};

class ApplicationRegistrarTest : public ApplicationRegistryTest {
 protected:
  using Answer = std::shared_ptr<std::optional<absl::Status>>;

  std::unique_ptr<Process> StartWriting() {
    auto owned = std::make_unique<WritingStore>(NewLocalStore(local_, executor_), *executor_);
    store_ = owned.get();
    return Start("shop", std::move(owned));
  }
  static CallOptions Patient() {
    CallOptions options;
    options.timeout = absl::Minutes(10);
    return options;
  }
  Answer Register(Process& process, const std::string& url) {
    auto answer = std::make_shared<std::optional<absl::Status>>();
    process.registry->Register(*Url::Parse(url), Patient(),
                               [answer](absl::Status s) { *answer = s; });
    executor_->RunUntilIdle();
    return answer;
  }
  Answer Unregister(Process& process, const std::string& url) {
    auto answer = std::make_shared<std::optional<absl::Status>>();
    process.registry->Unregister(*Url::Parse(url), Patient(),
                                 [answer](absl::Status s) { *answer = s; });
    executor_->RunUntilIdle();
    return answer;
  }
  Answer UnregisterAll(Process& process) {
    auto answer = std::make_shared<std::optional<absl::Status>>();
    process.registry->UnregisterAll(Patient(), [answer](absl::Status s) { *answer = s; });
    executor_->RunUntilIdle();
    return answer;
  }
  std::optional<StoreValue> Read(const std::string& key) {
    std::optional<StoreValue> value;
    admin_->Get(key, {}, [&](absl::StatusOr<StoreValue> v) {
      if (v.ok()) value = *v;
    });
    executor_->RunUntilIdle();
    return value;
  }
  std::vector<std::string> Names(const std::string& folder) {
    std::vector<std::string> names;
    admin_->List(folder, {}, [&](absl::StatusOr<std::vector<StoreChild>> children) {
      for (const StoreChild& child : *children) names.push_back(child.name);
    });
    executor_->RunUntilIdle();
    return names;
  }

  WritingStore* store_ = nullptr;
};

// TC-12, the provider's half.
TEST_F(ApplicationRegistrarTest, TheDocumentIsWrittenBeforeTheInstance) {
  auto provider = StartWriting();
  store_->refuse = [](const std::string& key) {
    return absl::StartsWith(key, "/dubbo/metadata/") ? absl::UnavailableError(key + ": not now")
                                                     : absl::OkStatus();
  };
  const Answer answer = Register(*provider, kEcho);
  executor_->AdvanceAndRun(absl::Seconds(3));
  EXPECT_FALSE(answer->has_value());
  EXPECT_FALSE(Read(kInstance).has_value());
  store_->refuse = nullptr;
  executor_->AdvanceAndRun(absl::Seconds(10));
  ASSERT_TRUE(answer->has_value());
  EXPECT_TRUE((*answer)->ok()) << **answer;
  ASSERT_TRUE(Read(kInstance).has_value());
  EXPECT_LT(store_->PlaceOf("/dubbo/metadata/shop/"), store_->PlaceOf("/dubbo/mapping/"));
  EXPECT_LT(store_->PlaceOf("/dubbo/mapping/"), store_->PlaceOf(kInstance));
  // A later revision likewise: the instance names it when its document is there.
  store_->written.clear();
  Export(*provider, kOther);
  EXPECT_LT(store_->PlaceOf("/dubbo/metadata/shop/"), store_->PlaceOf(kInstance));
  EXPECT_LT(store_->PlaceOf(kInstance), store_->written.size());
}

TEST_F(ApplicationRegistrarTest, ProtocolsThatTheRegistryDoesNotAcceptAreNotWritten) {
  auto provider = std::make_unique<Process>();
  provider->centre = NewStoreCentre(*Url::Parse("memory://application-test?accepts=-rest"),
                                    executor_, NewLocalStore(local_, executor_));
  provider->resolver = std::make_unique<MetadataResolver>(
      *executor_, &provider->centre->metadata_report(),
      std::vector<std::unique_ptr<MetadataFetcher>>(), MetadataResolver::Options());
  ApplicationRegistryOptions options;
  options.app = "shop";
  provider->registry = std::make_unique<ApplicationRegistry>(
      *executor_, *provider->centre, *provider->table, *provider->resolver, options);
  Export(*provider, "rest://192.0.2.1:8080/org.example.Other");
  EXPECT_EQ(provider->registry->registered().revision, "");
  EXPECT_EQ(Names("/services/shop"), std::vector<std::string>{});
  Export(*provider, kEcho);
  EXPECT_EQ(Names("/services/shop"), std::vector<std::string>{"192.0.2.1:50051"});
  EXPECT_EQ(Names("/dubbo/mapping"), std::vector<std::string>{"org.example.Echo"});
  EXPECT_FALSE(absl::StrContains(Read(kInstance)->value, "8080"));
}

TEST_F(ApplicationRegistrarTest, AnOppositeWishEndsThoseWhoWait) {
  auto provider = Start("shop");
  Export(*provider, "tri://192.0.2.1:50051/org.example.Third");
  local_->SetOffline(true);
  const Answer there = Register(*provider, kEcho);
  const Answer other = Register(*provider, kOther);
  const Answer gone = Unregister(*provider, kEcho);
  ASSERT_TRUE(there->has_value());
  EXPECT_TRUE(absl::IsCancelled(**there)) << **there;
  EXPECT_FALSE(other->has_value() || gone->has_value());
  const Answer again = Register(*provider, kEcho);
  ASSERT_TRUE(gone->has_value());
  EXPECT_TRUE(absl::IsCancelled(**gone)) << **gone;
  const Answer all = UnregisterAll(*provider);
  for (const Answer& each : {other, again}) {
    ASSERT_TRUE(each->has_value());
    EXPECT_TRUE(absl::IsCancelled(**each)) << **each;
  }
  EXPECT_FALSE(all->has_value());
  // The instance stays after all, with another service.
  const Answer last = Register(*provider, kOther);
  ASSERT_TRUE(all->has_value());
  EXPECT_TRUE(absl::IsCancelled(**all)) << **all;
  const Answer twice = Register(*provider, kOther);
  local_->SetOffline(false);
  executor_->AdvanceAndRun(absl::Minutes(1));
  for (const Answer& each : {last, twice}) {
    ASSERT_TRUE(each->has_value());
    EXPECT_TRUE((*each)->ok()) << **each;
  }
  EXPECT_EQ(Names("/services/shop"), std::vector<std::string>{"192.0.2.1:50051"});
  EXPECT_EQ(Names("/dubbo/mapping"),
            (std::vector<std::string>{"org.example.Other", "org.example.Third"}));
}

TEST_F(ApplicationRegistrarTest, ManyMappingsAreWrittenAWindowAtATime) {
  constexpr size_t kMany = 200;
  auto provider = StartWriting();
  std::vector<Answer> answers;
  for (size_t i = 0; i < kMany; ++i) {
    answers.push_back(Register(*provider, absl::StrCat("tri://192.0.2.1:50051/org.example.S", i)));
  }
  executor_->AdvanceAndRun(absl::Seconds(1));
  for (const Answer& each : answers) {
    ASSERT_TRUE(each->has_value());
    EXPECT_TRUE((*each)->ok()) << **each;
  }
  EXPECT_EQ(Names("/dubbo/mapping").size(), kMany);
  EXPECT_GT(store_->most, 1u);
  EXPECT_LE(store_->most, registry_internal::kCallWindow);
}

TEST_F(ApplicationRegistrarTest, WhatIsProbablyThereIsLookedAtAfterAWhileWhatIsLostAtOnce) {
  auto provider = StartWriting();
  Export(*provider, kEcho);
  executor_->AdvanceAndRun(absl::Seconds(1));
  store_->reads = 0;
  const int64_t version = Read(kInstance)->version;
  local_->SetOffline(true);
  executor_->RunUntilIdle();
  local_->SetOffline(false);
  executor_->RunUntilIdle();
  EXPECT_EQ(store_->reads, 0u);
  executor_->AdvanceAndRun(absl::Milliseconds(500));
  EXPECT_GT(store_->reads, 0u);
  EXPECT_EQ(Read(kInstance)->version, version);
}

// TC-47: the instance of the application.
TEST_F(ApplicationRegistrarTest, AChangeWhileCutOffEndsInOneInstance) {
  for (const bool new_session : {false, true}) {
    auto inner = NewLocalStore(local_, executor_);
    const Store& handle = *inner;
    auto provider = Start("shop", std::move(inner));
    const std::string u1 = absl::StrCat(kEcho, "?weight=1");
    const std::string u2 = absl::StrCat(kEcho, "?weight=2");
    Export(*provider, u1);
    const std::string before = provider->registry->registered().revision;
    local_->SetOffline(true);
    executor_->AdvanceAndRun(absl::Seconds(1));
    const Answer added = Register(*provider, u2);
    const Answer removed = Unregister(*provider, u1);
    executor_->AdvanceAndRun(absl::Seconds(20));
    EXPECT_FALSE(added->has_value() || removed->has_value());
    if (new_session) local_->ExpireSession(handle);
    local_->SetOffline(false);
    executor_->AdvanceAndRun(absl::Seconds(1));
    ASSERT_TRUE(added->has_value() && removed->has_value()) << new_session;
    EXPECT_TRUE((*added)->ok() && (*removed)->ok());
    EXPECT_EQ(Names("/services/shop"), std::vector<std::string>{"192.0.2.1:50051"});
    const std::string revision = provider->registry->registered().revision;
    EXPECT_NE(revision, before);
    EXPECT_TRUE(absl::StrContains(Read(kInstance)->value, revision));
    const std::string document = Read("/dubbo/metadata/shop/" + revision)->value;
    EXPECT_TRUE(absl::StrContains(document, R"("weight":"2")")) << document;
    provider.reset();
    executor_->RunUntilIdle();
    EXPECT_EQ(Names("/services/shop"), std::vector<std::string>{});
  }
}

}  // namespace
}  // namespace signpost

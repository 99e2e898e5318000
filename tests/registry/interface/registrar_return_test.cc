// What the registrar does when the centre goes and comes back: at once what was lost, after a while
// what is probably still there, and never too much together.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/strings/str_cat.h"
#include "signpost/registry/interface/interface_registrar.h"
#include "signpost/registry/return_pace.h"
#include "tests/registry/interface/interface_test.h"
#include "tests/support/forwarding_store.h"

namespace signpost {
namespace {

using interface_internal::InterfaceRegistrar;

constexpr size_t kMany = 200;
constexpr char kEcho[] = "tri://192.0.2.1:1/org.example.Echo?side=provider";
constexpr char kFixed[] = "tri://192.0.2.1:1/org.example.Echo?dynamic=false&side=provider";

// Counts the calls that are under way.
class CountingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  void Get(const std::string& key, const CallOptions& options, ValueCallback done) override {
    ++reads;
    ForwardingStore::Get(key, options, Counted<absl::StatusOr<StoreValue>>(std::move(done)));
  }
  void Put(const std::string& key, std::string value, const CallOptions& options,
           VersionCallback done) override {
    ForwardingStore::Put(key, std::move(value), options,
                         Counted<absl::StatusOr<int64_t>>(std::move(done)));
  }
  void CreateSessionBound(const std::string& key, std::string value, absl::Duration ttl,
                          const CallOptions& options, VersionCallback done,
                          ParentKind parents) override {
    EXPECT_EQ(parents, ParentKind::kPersistent) << key;
    ForwardingStore::CreateSessionBound(key, std::move(value), ttl, options,
                                        Counted<absl::StatusOr<int64_t>>(std::move(done)), parents);
  }
  void Delete(const std::string& key, int64_t expected_version, const CallOptions& options,
              DoneCallback done) override {
    ForwardingStore::Delete(key, expected_version, options, Counted<absl::Status>(std::move(done)));
  }

  size_t reads = 0;
  size_t most = 0;  // together

 private:
  template <typename Answer>
  absl::AnyInvocable<void(Answer) &&> Counted(absl::AnyInvocable<void(Answer) &&> done) {
    most = std::max(most, ++now_);
    return [this, done = std::move(done)](Answer answer) mutable {
      --now_;
      std::move(done)(std::move(answer));
    };
  }

  size_t now_ = 0;
};

class RegistrarReturnTest : public InterfaceTest {};

TEST_F(RegistrarReturnTest, NeverMoreThanAWindowOfCallsIsUnderWay) {
  auto inner = NewLocalStore(local_, executor_);
  const Store& handle = *inner;
  auto owned = std::make_unique<CountingStore>(std::move(inner));
  CountingStore& store = *owned;
  auto process = Start("", std::move(owned));
  size_t done = 0;
  const auto count = [&](const absl::Status& status) {
    EXPECT_TRUE(status.ok()) << status;
    ++done;
  };
  for (size_t i = 0; i < kMany; ++i) {
    process->registry->Register(*Url::Parse(absl::StrCat(kEcho, "&weight=", i)), {}, count);
  }
  executor_->RunUntilIdle();
  EXPECT_EQ(done, kMany);
  EXPECT_EQ(Nodes().size(), kMany);
  EXPECT_EQ(store.most, registry_internal::kCallWindow);

  // Lost: no time passes before they are there again.
  store.most = 0;
  local_->ExpireSession(handle);
  executor_->RunUntilIdle();
  EXPECT_EQ(Nodes().size(), kMany);
  EXPECT_EQ(store.most, registry_internal::kCallWindow);

  // Probably there: looked at after a while, which is not the same for all processes.
  store.most = store.reads = 0;
  local_->SetOffline(true);
  executor_->RunUntilIdle();
  local_->SetOffline(false);
  executor_->RunUntilIdle();
  EXPECT_EQ(store.reads, 0u);
  executor_->AdvanceAndRun(absl::Milliseconds(500));
  EXPECT_EQ(store.reads, kMany);
  EXPECT_EQ(store.most, registry_internal::kCallWindow);

  store.most = 0;
  done = 0;
  process->registry->UnregisterAll({}, count);
  executor_->RunUntilIdle();
  EXPECT_EQ(done, 1u);
  EXPECT_EQ(Nodes(), Texts{});
  EXPECT_EQ(store.most, registry_internal::kCallWindow);
}

TEST_F(RegistrarReturnTest, WhatIsNotWrittenYetDoesNotWaitWithTheRest) {
  auto process = Start();
  Export(*process, kEcho);
  local_->SetOffline(true);
  executor_->RunUntilIdle();
  const std::string late = absl::StrCat(kEcho, "&weight=1");
  const Answer answer = Register(*process, late, absl::Minutes(5));
  EXPECT_FALSE(answer->has_value());
  local_->SetOffline(false);
  executor_->RunUntilIdle();
  ASSERT_TRUE(answer->has_value());
  EXPECT_TRUE((*answer)->ok()) << **answer;
  EXPECT_EQ(Nodes(), (Texts{kEcho, late}));
}

// Tells the session events that a test says.
class ScriptedSession final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Subscription WatchSession(SessionCallback on_event) override {
    tell = std::move(on_event);
    tell(SessionEvent::kConnected);
    return Subscription([] {});
  }
  bool IsAvailable() const override { return available; }

  SessionCallback tell;
  bool available = true;
};

TEST_F(RegistrarReturnTest, PathsGoWithTheSession) {
  auto owned = std::make_unique<ScriptedSession>(NewLocalStore(local_, executor_));
  ScriptedSession& session = *owned;
  auto process = Start("", std::move(owned));
  const auto tell = [&](SessionEvent event, bool available) {
    session.available = available;
    executor_->Post([&session, event] { session.tell(event); });
    executor_->RunUntilIdle();
  };
  Export(*process, kEcho);
  Export(*process, kFixed);
  const Texts both = {PathOf(kFixed), PathOf(kEcho)};
  ASSERT_EQ(process->registry->registered_paths(), both);
  // Nothing is lost yet.
  tell(SessionEvent::kDisconnected, false);
  EXPECT_EQ(process->registry->registered_paths(), both);
  tell(SessionEvent::kExpired, false);
  EXPECT_EQ(process->registry->registered_paths(), Texts{PathOf(kFixed)});
  Delete(PathOf(kEcho));
  tell(SessionEvent::kNewSession, true);
  executor_->AdvanceAndRun(absl::Milliseconds(500));
  EXPECT_EQ(process->registry->registered_paths(), both);
  EXPECT_EQ(Nodes(), (Texts{kFixed, kEcho}));
  // Late, after the new session.
  tell(SessionEvent::kExpired, true);
  EXPECT_EQ(process->registry->registered_paths(), both);
}

}  // namespace
}  // namespace signpost

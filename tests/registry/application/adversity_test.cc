// What centres and peers do to the application level: pauses, events out of order, answers that do
// not belong to the question.
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/registry/application/application_test.h"
#include "tests/support/fake_fetcher.h"
#include "tests/support/forwarding_store.h"

namespace signpost {
namespace {

MetadataInfo DocumentOf(const std::string& revision, bool withdrawn) {
  MetadataInfo info;
  info.app = "shop";
  info.revision = revision;
  if (withdrawn) return info;
  ServiceInfo service;
  service.name = service.path = "org.example.Echo";
  service.protocol = "tri";
  info.services[service.match_key()] = service;
  return info;
}

class AdversityTest : public ApplicationRegistryTest {
 protected:
  // A consumer that asks the instances themselves, who answer as `hosts_` says.
  std::unique_ptr<Process> StartAsking() {
    std::vector<std::unique_ptr<MetadataFetcher>> fetchers;
    fetchers.push_back(std::make_unique<FakeFetcher>(*executor_, hosts_));
    return Start("", NewLocalStore(local_, executor_), std::move(fetchers));
  }
  void PutLocalInstance(const std::string& host, const std::string& revision) {
    PutInstance("shop", host, revision, {{kStorageTypeKey, "local"}, {"meta-v", "2.0.0"}});
  }

  FakeHosts hosts_;
};

TEST_F(AdversityTest, AnInstanceThatComesWhileAnotherOneIsSilentIsAskedBesideIt) {
  hosts_.answers.emplace("192.0.2.2", DocumentOf("r1", false));
  Put("/dubbo/mapping/org.example.Echo", "shop");
  PutLocalInstance("192.0.2.1", "r1");
  auto consumer = StartAsking();
  auto listener = std::make_shared<Recorder>();
  consumer->registry->Subscribe(Consumer(), listener);
  Run();
  EXPECT_EQ(hosts_.asked, std::vector<std::string>{"192.0.2.1"});
  PutLocalInstance("192.0.2.2", "r1");
  executor_->AdvanceAndRun(absl::Milliseconds(300));
  EXPECT_EQ(hosts_.asked, (std::vector<std::string>{"192.0.2.1", "192.0.2.2"}));
  EXPECT_EQ(listener->Hosts(), (Hosts{"192.0.2.1:20880", "192.0.2.2:20880"}));
}

// TC-11
TEST_F(AdversityTest, AnInstanceThatHasWithdrawnItsServicesIsNotBelieved) {
  hosts_.answers.emplace("192.0.2.1", DocumentOf("r1", true));
  hosts_.answers.emplace("192.0.2.2", DocumentOf("r1", false));
  Put("/dubbo/mapping/org.example.Echo", "shop");
  PutLocalInstance("192.0.2.1", "r1");
  PutLocalInstance("192.0.2.2", "r1");
  auto consumer = StartAsking();
  auto listener = std::make_shared<Recorder>();
  consumer->registry->Subscribe(Consumer(), listener);
  Run();
  EXPECT_EQ(hosts_.asked, (std::vector<std::string>{"192.0.2.1", "192.0.2.2"}));
  EXPECT_TRUE(listener->last.state.ok()) << listener->last.state;
  EXPECT_EQ(listener->Hosts(), (Hosts{"192.0.2.1:20880", "192.0.2.2:20880"}));
  EXPECT_EQ(listener->empty, 0);
}

// TC-11, with nobody else to ask: what was known stays, and the question is asked again.
TEST_F(AdversityTest, AnAnswerOfAnotherRevisionChangesNothing) {
  hosts_.answers.emplace("192.0.2.1", DocumentOf("r1", false));
  hosts_.answers.emplace("192.0.2.2", DocumentOf("r1", false));  // asked for r2
  Put("/dubbo/mapping/org.example.Echo", "shop");
  PutLocalInstance("192.0.2.1", "r1");
  auto consumer = StartAsking();
  auto listener = std::make_shared<Recorder>();
  consumer->registry->Subscribe(Consumer(), listener);
  Run();
  PutLocalInstance("192.0.2.2", "r2");
  executor_->AdvanceAndRun(absl::Seconds(5));
  EXPECT_EQ(listener->Hosts(), Hosts{"192.0.2.1:20880"});
  EXPECT_NE(listener->last.state.message().find("revision r2"), std::string::npos)
      << listener->last.state;
  hosts_.answers.erase("192.0.2.2");
  hosts_.answers.emplace("192.0.2.2", DocumentOf("r2", false));
  executor_->AdvanceAndRun(absl::Seconds(11));
  EXPECT_EQ(listener->Hosts(), (Hosts{"192.0.2.1:20880", "192.0.2.2:20880"}));
  EXPECT_TRUE(listener->last.state.ok()) << listener->last.state;
}

// Tells the session events that a test says, and counts what is bound to sessions.
class ScriptedSession final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Subscription WatchSession(SessionCallback on_event) override {
    tell = std::move(on_event);
    tell(SessionEvent::kConnected);
    return Subscription([] {});
  }
  void CreateSessionBound(const std::string& key, std::string value, absl::Duration ttl,
                          const CallOptions& options, VersionCallback done,
                          ParentKind parents) override {
    ++bound;
    ForwardingStore::CreateSessionBound(key, std::move(value), ttl, options, std::move(done),
                                        parents);
  }

  SessionCallback tell;
  int bound = 0;
};

// TC-15
TEST_F(AdversityTest, ALateExpiredAfterTheNewSessionRestoresNothingTwice) {
  auto owned = std::make_unique<ScriptedSession>(NewLocalStore(local_, executor_));
  ScriptedSession& session = *owned;
  auto provider = Start("shop", std::move(owned));
  auto consumer = Start("");
  auto listener = std::make_shared<Recorder>();
  consumer->registry->Subscribe(Consumer(), listener);
  Export(*provider, "tri://192.0.2.1:50051/org.example.Echo");
  ASSERT_EQ(session.bound, 1);
  ASSERT_EQ(listener->Hosts(), Hosts{"192.0.2.1:50051"});

  // The centre has dropped the node with the old session.
  Delete("/services/shop/192.0.2.1:50051");
  Run();
  ASSERT_EQ(listener->Hosts(), Hosts{});
  executor_->Post([&] { session.tell(SessionEvent::kNewSession); });
  Run();
  EXPECT_EQ(session.bound, 2);
  EXPECT_EQ(listener->Hosts(), Hosts{"192.0.2.1:50051"});
  const int heard = listener->count;
  executor_->Post([&] { session.tell(SessionEvent::kExpired); });
  executor_->AdvanceAndRun(absl::Minutes(5));
  EXPECT_EQ(session.bound, 2);
  std::optional<StoreValue> node;
  provider->centre->store().Get("/services/shop/192.0.2.1:50051", {},
                                [&](absl::StatusOr<StoreValue> v) { node = *v; });
  executor_->RunUntilIdle();
  EXPECT_TRUE(node.has_value() && node->owned);
  EXPECT_EQ(listener->count, heard);
  EXPECT_EQ(listener->Hosts(), Hosts{"192.0.2.1:50051"});
}

// TC-13: a gap within one session. What is there is left alone; what went missing is made again.
TEST_F(AdversityTest, AfterAGapWhatIsMissingIsMadeAgainAndTheRestLeftAlone) {
  auto owned = std::make_unique<ScriptedSession>(NewLocalStore(local_, executor_));
  ScriptedSession& session = *owned;
  auto provider = Start("shop", std::move(owned));
  Export(*provider, "tri://192.0.2.1:50051/org.example.Echo");
  const std::vector<std::string> paths = provider->registry->registered().paths;
  ASSERT_EQ(paths.size(), 4u);
  const auto version = [&](const std::string& path) {
    std::optional<int64_t> found;
    admin_->Get(path, {}, [&](absl::StatusOr<StoreValue> v) {
      if (v.ok()) found = v->version;
    });
    executor_->RunUntilIdle();
    return found;
  };
  const auto gap = [&] {
    executor_->Post([&] { session.tell(SessionEvent::kDisconnected); });
    executor_->Post([&] { session.tell(SessionEvent::kConnected); });
    // All processes come back at the same time, so each waits for a moment.
    executor_->AdvanceAndRun(absl::Milliseconds(600));
  };
  std::map<std::string, std::optional<int64_t>> before;
  for (const std::string& path : paths) before[path] = version(path);
  gap();
  EXPECT_EQ(session.bound, 1);
  for (const std::string& path : paths) EXPECT_EQ(version(path), before[path]) << path;
  for (const std::string& path : paths) {
    Delete(path);
    ASSERT_FALSE(version(path).has_value());
    gap();
    EXPECT_TRUE(version(path).has_value()) << path;
  }
  EXPECT_EQ(session.bound, 2);
}

// TC-11: nobody else to ask at first.
TEST_F(AdversityTest, TheNextInstanceIsAskedWhenItComes) {
  hosts_.answers.emplace("192.0.2.1", DocumentOf("r1", true));
  hosts_.answers.emplace("192.0.2.2", DocumentOf("r1", false));
  Put("/dubbo/mapping/org.example.Echo", "shop");
  PutLocalInstance("192.0.2.1", "r1");
  auto consumer = StartAsking();
  auto listener = std::make_shared<Recorder>();
  consumer->registry->Subscribe(Consumer(), listener);
  executor_->AdvanceAndRun(absl::Seconds(5));
  EXPECT_EQ(listener->Hosts(), Hosts{});
  PutLocalInstance("192.0.2.2", "r1");
  executor_->AdvanceAndRun(absl::Seconds(11));
  EXPECT_EQ(listener->Hosts(), (Hosts{"192.0.2.1:20880", "192.0.2.2:20880"}));
}

// A provider that ends while its first question is out: nobody answers that one, and nobody need.
TEST_F(AdversityTest, WhoLeavesBeforeItAnsweredIsNotWaitedFor) {
  Put("/dubbo/mapping/org.example.Echo", "shop");
  PutLocalInstance("192.0.2.1", "r1");
  auto consumer = StartAsking();
  auto listener = std::make_shared<Recorder>();
  consumer->registry->Subscribe(Consumer(), listener);
  Run();
  ASSERT_EQ(hosts_.asked, std::vector<std::string>{"192.0.2.1"});
  ASSERT_EQ(listener->count, 0);
  Delete("/services/shop/192.0.2.1:20880");
  Run();
  EXPECT_EQ(listener->count, 1);
  EXPECT_EQ(listener->last.state, absl::NotFoundError("no instance of shop for org.example.Echo"));
}

// A slow or dead provider delays nobody else, not even in the first list.
TEST_F(AdversityTest, ProvidersThatAnswerAreListedWithoutTheOneThatDoesNot) {
  hosts_.answers.emplace("192.0.2.1", DocumentOf("r1", false));
  Put("/dubbo/mapping/org.example.Echo", "shop");
  PutLocalInstance("192.0.2.1", "r1");
  PutLocalInstance("192.0.2.2", "r2");  // silent
  auto consumer = StartAsking();
  auto listener = std::make_shared<Recorder>();
  consumer->registry->Subscribe(Consumer(), listener);
  executor_->AdvanceAndRun(absl::Milliseconds(499));
  EXPECT_EQ(listener->count, 0);
  executor_->AdvanceAndRun(absl::Milliseconds(2));
  EXPECT_EQ(listener->count, 1);
  EXPECT_EQ(listener->Hosts(), Hosts{"192.0.2.1:20880"});
  EXPECT_EQ(listener->last.state,
            absl::UnavailableError("no metadata of application shop, revision "
                                   "r2: being asked for"));
  ASSERT_EQ(hosts_.silent.size(), 1u);
  std::move(hosts_.silent[0])(DocumentOf("r2", false));
  Run();
  EXPECT_EQ(listener->Hosts(), (Hosts{"192.0.2.1:20880", "192.0.2.2:20880"}));
  EXPECT_TRUE(listener->last.state.ok()) << listener->last.state;
}

// With nothing else to show it is waited for a little longer.
TEST_F(AdversityTest, WhoDoesNotAnswerIsNamedAfterTwoSeconds) {
  Put("/dubbo/mapping/org.example.Echo", "shop");
  PutLocalInstance("192.0.2.2", "r2");
  auto consumer = StartAsking();
  auto listener = std::make_shared<Recorder>();
  consumer->registry->Subscribe(Consumer(), listener);
  executor_->AdvanceAndRun(absl::Milliseconds(1999));
  EXPECT_EQ(listener->count, 0);
  executor_->AdvanceAndRun(absl::Milliseconds(2));
  EXPECT_EQ(listener->count, 1);
  EXPECT_EQ(listener->last.state,
            absl::UnavailableError("no metadata of application shop, revision "
                                   "r2: being asked for"));
  std::optional<absl::StatusOr<ServiceAddresses>> found;
  consumer->registry->Lookup(Consumer(), CallOptions(),
                             [&](auto answer) { found = std::move(answer); });
  executor_->AdvanceAndRun(absl::Milliseconds(100));
  EXPECT_FALSE(found.has_value());  // that would be no answer
  hosts_.answers.emplace("192.0.2.2", DocumentOf("r2", false));
  executor_->AdvanceAndRun(absl::Seconds(8));
  EXPECT_EQ(listener->Hosts(), Hosts{"192.0.2.2:20880"});
  ASSERT_TRUE(found.has_value());
  ASSERT_TRUE(found->ok()) << found->status();
  EXPECT_EQ((*found)->list->size(), 1u);
}

// Keeps what its watches tell until it may speak.
class PausingStore final : public ForwardingStore {
 public:
  PausingStore(std::unique_ptr<Store> target, Executor& executor)
      : ForwardingStore(std::move(target)), executor_(executor) {}

  Subscription WatchTree(const std::string& prefix, TreeCallback on_change,
                         TreeContent content) override {
    auto callback = std::make_shared<TreeCallback>(std::move(on_change));
    return ForwardingStore::WatchTree(
        prefix,
        [this, callback](absl::StatusOr<TreeDelta> delta) mutable {
          if (paused) {
            kept_.push_back({callback, std::move(delta)});
          } else {
            (*callback)(std::move(delta));
          }
        },
        content);
  }
  void Resume() {
    paused = false;
    executor_.Post([this] {
      for (auto& [callback, delta] : std::exchange(kept_, {})) (*callback)(std::move(delta));
    });
  }
  size_t kept() const { return kept_.size(); }

  bool paused = true;

 private:
  Executor& executor_;
  std::vector<std::pair<std::shared_ptr<TreeCallback>, absl::StatusOr<TreeDelta>>> kept_;
};

// TC-23; what each Store does between its own query and its watch is in the conformance suite.
TEST_F(AdversityTest, AnInstanceThatComesWhileTheStorePausesIsDelivered) {
  Put("/dubbo/mapping/org.example.Echo", "shop");
  PutDocument("shop", "r1");
  PutInstance("shop", "192.0.2.1", "r1");
  auto owned = std::make_unique<PausingStore>(NewLocalStore(local_, executor_), *executor_);
  PausingStore& store = *owned;
  auto consumer = Start("", std::move(owned));
  auto listener = std::make_shared<Recorder>();
  consumer->registry->Subscribe(Consumer(), listener);
  Run();
  ASSERT_EQ(listener->count, 0);
  ASSERT_GE(store.kept(), 1u);
  PutInstance("shop", "192.0.2.2", "r1");
  Run();
  EXPECT_EQ(listener->count, 0);
  store.Resume();
  executor_->AdvanceAndRun(absl::Seconds(1));
  EXPECT_EQ(listener->Hosts(), (Hosts{"192.0.2.1:20880", "192.0.2.2:20880"}));
}

}  // namespace
}  // namespace signpost

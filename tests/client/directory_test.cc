#include "signpost/client/directory.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "signpost/balancer/random.h"
#include "signpost/balancer/round_robin.h"
#include "signpost/common/manual_executor.h"
#include "tests/client/fake_registry.h"

namespace signpost {
namespace {

// Counts what it is told.
class FeedbackBalancer final : public Balancer {
 public:
  struct Seen {
    int done = 0;
    size_t index = 99;
    CallOutcome outcome;
  };
  explicit FeedbackBalancer(std::shared_ptr<Seen> seen) : seen_(std::move(seen)) {}
  std::shared_ptr<const Picker> Build(const std::vector<PoolMember>& pool) override {
    class Last final : public Picker {
     public:
      Last(size_t last, std::shared_ptr<Seen> seen) : last_(last), seen_(std::move(seen)) {}
      size_t Pick(const Request&) const override { return last_; }
      bool wants_feedback() const override { return true; }
      void Done(size_t index, const CallOutcome& outcome) const override {
        ++seen_->done;
        seen_->index = index;
        seen_->outcome = outcome;
      }

     private:
      size_t last_;
      std::shared_ptr<Seen> seen_;
    };
    return std::make_shared<Last>(pool.size() - 1, seen_);
  }

 private:
  std::shared_ptr<Seen> seen_;
};

// "save" may only go to the first address, "drop" to none.
class MethodRouter final : public Router {
 public:
  absl::string_view name() const override { return "method"; }
  int priority() const override { return 0; }
  absl::StatusOr<std::vector<RouteRule>> Route(const AddressList&,
                                               const Subset& input) const override {
    Subset first;
    if (!input.empty()) first.push_back(input[0]);
    return std::vector<RouteRule>{
        {"save", [](const Request& r) { return r.method == "save"; }, {first}, true},
        {"drop", [](const Request& r) { return r.method == "drop"; }, {}, true}};
  }
};

class DirectoryTest : public testing::Test {
 protected:
  DirectoryTest() { registry_->executor = executor_; }
  // What a directory posts when it goes holds the executor.
  ~DirectoryTest() override { executor_->RunUntilIdle(); }

  Directory::Parts Parts() {
    Directory::Parts parts;
    parts.service = "org.example.Greeter";
    parts.consumer = *Url::Parse("consumer://0.0.0.0/org.example.Greeter");
    parts.executor = executor_;
    parts.centres = {ApplicationLevel(registry_)};
    parts.balancer = [](const BalancerOptions& options) {
      return std::make_unique<RoundRobinBalancer>(options);
    };
    parts.balancer_options.seed = 1;
    return parts;
  }
  static Request Method(absl::string_view method) {
    Request request;
    request.method = method;
    return request;
  }

  SimulatedClock clock_;
  std::shared_ptr<ManualExecutor> executor_ = std::make_shared<ManualExecutor>(clock_);
  std::shared_ptr<FakeRegistry> registry_ = std::make_shared<FakeRegistry>();
};

TEST_F(DirectoryTest, BeforeTheFirstWordNothingIsKnown) {
  Directory directory(Parts());
  auto pick = directory.Pick(Request());
  EXPECT_EQ(pick.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(pick.status().message(), "org.example.Greeter: addresses are not known yet");
  EXPECT_TRUE(directory.addresses()->empty());
}

TEST_F(DirectoryTest, CancelledListenersLeaveNothing) {
  Directory directory(Parts());
  std::weak_ptr<int> captured;
  {
    auto owned = std::make_shared<int>(1);
    captured = owned;
    const Subscription subscription =
        directory.OnChange([owned](const ServiceAddresses&) { ++*owned; });
    executor_->RunUntilIdle();
  }
  executor_->RunUntilIdle();
  EXPECT_TRUE(captured.expired());
  directory.Close();
  {
    auto owned = std::make_shared<int>(1);
    captured = owned;
    Subscription late = directory.OnChange([owned](const ServiceAddresses&) { ++*owned; });
    executor_->RunUntilIdle();
    late.Cancel();
  }
  executor_->RunUntilIdle();
  EXPECT_TRUE(captured.expired());
}

TEST_F(DirectoryTest, PicksWhatTheRegistryTells) {
  Directory directory(Parts());
  registry_->Publish({GreeterAt(1), GreeterAt(2)});
  std::set<std::string> hosts;
  for (int i = 0; i < 2; ++i) {
    auto pick = directory.Pick(Request());
    ASSERT_TRUE(pick.ok());
    hosts.insert(pick->endpoint->host);
    directory.Done(*pick, CallOutcome());
  }
  EXPECT_EQ(hosts, (std::set<std::string>{"192.0.2.1", "192.0.2.2"}));
  EXPECT_EQ(directory.apps(), std::vector<std::string>{"shop"});
  EXPECT_EQ(directory.addresses()->size(), 2u);
  EXPECT_TRUE(directory.state().ok());

  registry_->Publish({GreeterAt(3)});
  auto pick = directory.Pick(Request());
  ASSERT_TRUE(pick.ok());
  EXPECT_EQ(pick->endpoint->host, "192.0.2.3");
  directory.Done(*pick, CallOutcome());
}

TEST_F(DirectoryTest, CountsCallsInFlight) {
  Directory directory(Parts());
  registry_->Publish({GreeterAt(1)});
  auto first = directory.Pick(Request());
  auto second = directory.Pick(Request());
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->endpoint.in_flight(), 2);
  EXPECT_EQ(first->picker, nullptr);
  Endpoint endpoint = first->endpoint;
  directory.Done(*first, CallOutcome());
  directory.Done(*first, CallOutcome());  // again: nothing
  EXPECT_EQ(endpoint.in_flight(), 1);
  directory.Done(*second, CallOutcome());
  EXPECT_EQ(endpoint.in_flight(), 0);
}

TEST_F(DirectoryTest, APickOutlivesItsAddressAndItsDirectory) {
  auto directory = std::make_unique<Directory>(Parts());
  registry_->Publish({GreeterAt(1)});
  auto pick = directory->Pick(Request());
  ASSERT_TRUE(pick.ok());
  registry_->Publish({});
  directory.reset();
  executor_->RunUntilIdle();
  EXPECT_EQ(pick->endpoint->host, "192.0.2.1");
}

TEST_F(DirectoryTest, FeedbackGoesToThePickerThatChose) {
  auto seen = std::make_shared<FeedbackBalancer::Seen>();
  auto parts = Parts();
  parts.balancer = [seen](const BalancerOptions&) {
    return std::make_unique<FeedbackBalancer>(seen);
  };
  Directory directory(std::move(parts));
  registry_->Publish({GreeterAt(1), GreeterAt(2)});
  auto pick = directory.Pick(Request());
  ASSERT_TRUE(pick.ok());
  ASSERT_NE(pick->picker, nullptr);
  registry_->Publish({GreeterAt(1)});
  directory.Done(*pick, {CallOutcome::Result::kTimeout, 17});
  EXPECT_EQ(seen->done, 1);
  EXPECT_EQ(seen->index, 1u);
  EXPECT_EQ(seen->outcome.latency_ns, 17);
}

TEST_F(DirectoryTest, EmptyListSaysTheFirstBrokenLink) {
  Directory directory(Parts());
  registry_->Publish({}, absl::NotFoundError("no mapping at /dubbo/mapping/org.example.Greeter"));
  auto pick = directory.Pick(Request());
  EXPECT_EQ(pick.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(pick.status().message(),
            "org.example.Greeter: no mapping at /dubbo/mapping/org.example.Greeter");
  EXPECT_EQ(directory.state().code(), absl::StatusCode::kNotFound);
  registry_->Publish({});
  EXPECT_EQ(directory.Pick(Request()).status().message(), "org.example.Greeter: no address");
}

TEST_F(DirectoryTest, PartlyBrokenStillPicks) {
  Directory directory(Parts());
  registry_->Publish({GreeterAt(1)}, absl::UnavailableError("shop: no metadata for revision 7"));
  auto pick = directory.Pick(Request());
  ASSERT_TRUE(pick.ok());
  directory.Done(*pick, CallOutcome());
  EXPECT_EQ(directory.state().code(), absl::StatusCode::kUnavailable);
}

TEST_F(DirectoryTest, RulesMakePoolsAndNameThemselves) {
  auto parts = Parts();
  parts.routers.push_back([](const RouterOptions&) { return std::make_unique<MethodRouter>(); });
  Directory directory(std::move(parts));
  registry_->Publish({GreeterAt(1), GreeterAt(2)});
  for (int i = 0; i < 4; ++i) {
    auto pick = directory.Pick(Method("save"));
    ASSERT_TRUE(pick.ok());
    EXPECT_EQ(pick->endpoint, directory.addresses()->at(0));
    directory.Done(*pick, CallOutcome());
  }
  EXPECT_EQ(directory.Pick(Method("drop")).status().message(),
            "org.example.Greeter: rule method/drop leaves none of 2 addresses");
  EXPECT_TRUE(directory.Pick(Method("find")).ok());
}

TEST_F(DirectoryTest, WhenReadyAnswersOnceThereIsAnAddress) {
  Directory directory(Parts());
  std::vector<absl::Status> answers;
  auto keep = [&](absl::Status status) { answers.push_back(std::move(status)); };
  directory.WhenReady(absl::Seconds(5), keep);
  executor_->RunUntilIdle();
  registry_->Publish({});
  EXPECT_TRUE(answers.empty());
  registry_->Publish({GreeterAt(1)});
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_TRUE(answers[0].ok());
  directory.WhenReady(absl::Seconds(5), keep);
  executor_->RunUntilIdle();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_TRUE(answers[1].ok());
  executor_->AdvanceAndRun(absl::Seconds(10));
  EXPECT_EQ(answers.size(), 2u);
}

TEST_F(DirectoryTest, WhenReadyGivesUpWithWhatPickWouldSay) {
  Directory directory(Parts());
  std::vector<absl::Status> answers;
  directory.WhenReady(absl::Seconds(5), [&](absl::Status s) { answers.push_back(std::move(s)); });
  executor_->RunUntilIdle();
  registry_->Publish({}, absl::NotFoundError("shop: no instance"));
  executor_->AdvanceAndRun(absl::Seconds(4));
  EXPECT_TRUE(answers.empty());
  executor_->AdvanceAndRun(absl::Seconds(1));
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0], directory.Pick(Request()).status());
}

TEST_F(DirectoryTest, OnChangeTellsThePresentThenChanges) {
  Directory directory(Parts());
  registry_->Publish({GreeterAt(1), GreeterAt(2)});
  std::vector<ServiceAddresses> seen;
  Subscription subscription =
      directory.OnChange([&](const ServiceAddresses& now) { seen.push_back(now); });
  executor_->RunUntilIdle();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].delta.added.size(), 2u);
  registry_->Publish({GreeterAt(2)});
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[1].delta.removed.size(), 1u);
  EXPECT_EQ(seen[1].list->size(), 1u);
  subscription.Cancel();
  registry_->Publish({GreeterAt(4)});
  EXPECT_EQ(seen.size(), 2u);
}

TEST_F(DirectoryTest, OnChangeMayCancelItselfInside) {
  Directory directory(Parts());
  int calls = 0;
  std::optional<Subscription> subscription;
  subscription.emplace(directory.OnChange([&](const ServiceAddresses&) {
    ++calls;
    subscription->Cancel();
  }));
  executor_->RunUntilIdle();
  EXPECT_EQ(calls, 0);  // nothing is known yet
  registry_->Publish({GreeterAt(1)});
  registry_->Publish({GreeterAt(2)});
  EXPECT_EQ(calls, 1);
}

TEST_F(DirectoryTest, CloseUnsubscribesAndAnswersAll) {
  Directory directory(Parts());
  std::vector<absl::Status> answers;
  int told = 0;
  directory.WhenReady(absl::Hours(1), [&](absl::Status s) { answers.push_back(std::move(s)); });
  Subscription subscription = directory.OnChange([&](const ServiceAddresses&) { ++told; });
  executor_->RunUntilIdle();
  auto listener = registry_->subscribed.at(0).second;
  directory.Close();
  directory.Close();
  executor_->RunUntilIdle();
  EXPECT_EQ(registry_->unsubscribed, 1);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(directory.Pick(Request()).status().message(), "org.example.Greeter: closed");
  // A word that was under way comes too late.
  ServiceAddresses late;
  late.list = AddressList::Empty();
  listener->Notify(late);
  EXPECT_EQ(told, 0);
  EXPECT_EQ(directory.Pick(Request()).status().message(), "org.example.Greeter: closed");
  EXPECT_EQ(executor_->pending_timers(), 0u);
}

TEST_F(DirectoryTest, TheLastReferenceUnsubscribes) {
  {
    Directory directory(Parts());
    EXPECT_EQ(registry_->subscribed.size(), 1u);
  }
  EXPECT_TRUE(registry_->subscribed.empty());
}

TEST_F(DirectoryTest, WaitReadyOnTheExecutorIsRefused) {
  Directory directory(Parts());
  absl::Status status;
  executor_->Post([&] { status = directory.WaitReady(absl::Seconds(1)); });
  executor_->RunUntilIdle();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace signpost

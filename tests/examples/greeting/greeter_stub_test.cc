#include "signpost/examples/greeting/greeter_stub.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "signpost/balancer/balancer.h"
#include "signpost/client/client.h"
#include "signpost/client/plugins/memory.h"
#include "signpost/common/mutex.h"
#include "tests/examples/greeting/fake_connector.h"

namespace example {
namespace {

using signpost::CallOutcome;
using testing::ElementsAre;
using testing::HasSubstr;
using Result = CallOutcome::Result;

constexpr char kA[] = "192.0.2.1:1";
constexpr char kB[] = "192.0.2.2:2";

// What Directory::Done was told, without the picks that were not used.
class Outcomes {
 public:
  void Add(const CallOutcome& outcome) {
    signpost::MutexLock lock(mutex_);
    if (outcome.result != Result::kCancelled) results_.push_back(outcome.result);
  }
  std::vector<Result> Take() {
    signpost::MutexLock lock(mutex_);
    return std::exchange(results_, {});
  }

 private:
  signpost::Mutex mutex_;
  std::vector<Result> results_ ABSL_GUARDED_BY(mutex_);
};

class InTurn final : public signpost::Picker {
 public:
  InTurn(size_t size, Outcomes& outcomes) : size_(size), outcomes_(outcomes) {}
  size_t Pick(const signpost::Request&) const override {
    return size_ == 0 ? kNone : next_++ % size_;
  }
  bool wants_feedback() const override { return true; }
  void Done(size_t, const CallOutcome& outcome) const override { outcomes_.Add(outcome); }

 private:
  const size_t size_;
  Outcomes& outcomes_;
  mutable std::atomic<size_t> next_ = 0;
};

class InTurnBalancer final : public signpost::Balancer {
 public:
  explicit InTurnBalancer(Outcomes& outcomes) : outcomes_(outcomes) {}
  std::shared_ptr<const signpost::Picker> Build(
      const std::vector<signpost::PoolMember>& pool) override {
    return std::make_shared<InTurn>(pool.size(), outcomes_);
  }

 private:
  Outcomes& outcomes_;
};

class GreeterStubTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(signpost::AddMemory(registries_).ok());
    auto balancers = std::make_shared<signpost::BalancerFactories>("balancer");
    ASSERT_TRUE(balancers
                    ->Add("inturn",
                          [this](const signpost::BalancerOptions&) {
                            return std::make_unique<InTurnBalancer>(outcomes_);
                          })
                    .ok());
    auto options = Options("");
    options.balancer = "inturn";
    options.balancers = balancers;
    client_ = Open(options);
    auto directory = client_->consumer().Refer("org.example.Greeter");
    ASSERT_TRUE(directory.ok()) << directory.status();
    directory_ = *directory;
    connections_ =
        std::make_unique<Connections>(client_->executor(), connector_, Connections::Told());
    watch_ = directory_->OnChange(
        [this](const signpost::ServiceAddresses& now) { connections_->Update(now.delta); });
  }
  void TearDown() override {
    watch_.Cancel();
    connections_.reset();
    directory_.reset();
  }

  static signpost::ClientOptions Options(const std::string& app) {
    signpost::ClientOptions options;
    options.app = app;
    options.registry =
        absl::StrCat("memory://", testing::UnitTest::GetInstance()->current_test_info()->name());
    return options;
  }
  std::unique_ptr<signpost::Client> Open(signpost::ClientOptions options) {
    auto client = signpost::Client::Create(std::move(options), registries_);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }
  // Registers it, and waits until there is a connection.
  void Provide(const std::string& address) {
    const uint64_t opened = connections_->opened();
    auto provider = Open(Options("greeting"));
    ASSERT_TRUE(
        provider->provider()
            .Export(absl::StrCat("thrift://", address, "/org.example.Greeter?methods=greet"))
            .ok());
    ASSERT_TRUE(provider->Start(absl::Seconds(30)).ok());
    providers_[address] = std::move(provider);
    ASSERT_TRUE(connections_->AwaitOpened(opened, absl::Seconds(30)));
  }
  GreeterStub Stub(absl::Duration call_timeout = absl::Seconds(30)) {
    CallLimits limits;
    limits.call_timeout = call_timeout;
    return GreeterStub(directory_, *connections_, limits);
  }
  void FailAt(const std::string& address, absl::Status status) {
    signpost::MutexLock lock(mutex_);
    failures_[address] = std::move(status);
  }
  absl::StatusOr<std::string> Answer(const std::string& address) {
    signpost::MutexLock lock(mutex_);
    const auto found = failures_.find(address);
    if (found != failures_.end() && !found->second.ok()) return found->second;
    return address;
  }

  signpost::RegistryFactories registries_{"registry"};
  signpost::Mutex mutex_;
  std::map<std::string, absl::Status> failures_ ABSL_GUARDED_BY(mutex_);
  Outcomes outcomes_;
  FakeConnector connector_{[this](const std::string& address) { return Answer(address); }};
  std::map<std::string, std::unique_ptr<signpost::Client>> providers_;
  std::unique_ptr<signpost::Client> client_;
  std::shared_ptr<signpost::Directory> directory_;
  std::unique_ptr<Connections> connections_;
  signpost::Subscription watch_;
};

TEST_F(GreeterStubTest, CallsAreSpread) {
  connector_.AnswerAll();
  Provide(kA);
  Provide(kB);
  std::map<std::string, int> answers;
  for (int i = 0; i < 10; ++i) {
    const auto greeting = Stub().Greet("Ann");
    ASSERT_TRUE(greeting.ok()) << greeting.status();
    EXPECT_EQ(greeting->tries, 1u);
    ++answers[greeting->text];
  }
  EXPECT_THAT(answers, ElementsAre(std::pair(kA, 5), std::pair(kB, 5)));
  EXPECT_EQ(outcomes_.Take(), std::vector<Result>(10, Result::kOk));
}

TEST_F(GreeterStubTest, ADeadAddressIsReplacedByAnother) {
  connector_.AnswerAll();
  Provide(kA);
  Provide(kB);
  FailAt(kA, absl::UnavailableError("reset"));
  size_t retried = 0;
  for (int i = 0; i < 4; ++i) {
    const auto greeting = Stub().Greet("Ann");
    ASSERT_TRUE(greeting.ok()) << greeting.status();
    EXPECT_EQ(greeting->text, kB);
    retried += greeting->tries - 1;
  }
  EXPECT_GE(retried, 1u);
  EXPECT_THAT(outcomes_.Take(), testing::Contains(Result::kError));
}

TEST_F(GreeterStubTest, TriesAreBounded) {
  connector_.AnswerAll();
  Provide(kA);
  FailAt(kA, absl::DeadlineExceededError("no answer"));
  // Each try has a new connection to it.
  const auto greeting = Stub().Greet("Ann");
  EXPECT_TRUE(absl::IsDeadlineExceeded(greeting.status())) << greeting.status();
  EXPECT_THAT(greeting.status().message(), HasSubstr(absl::StrCat(kA, ": no answer")));
  EXPECT_EQ(outcomes_.Take(), std::vector<Result>(3, Result::kTimeout));
}

TEST_F(GreeterStubTest, AProvidersOwnErrorIsTheAnswer) {
  connector_.AnswerAll();
  Provide(kA);
  FailAt(kA, absl::InternalError("the provider refuses"));
  EXPECT_EQ(Stub().Greet("Ann").status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(outcomes_.Take(), std::vector<Result>(1, Result::kError));
  EXPECT_EQ(connector_.connects(kA), 1);
}

TEST_F(GreeterStubTest, NobodyThere) {
  const auto greeting = Stub().Greet("Ann");
  ASSERT_FALSE(greeting.ok());
  EXPECT_THAT(greeting.status().message(), HasSubstr("org.example.Greeter"));
}

// A call waits for a connection, but not for ever.
TEST_F(GreeterStubTest, NoConnectionYet) {
  auto provider = Open(Options("greeting"));
  ASSERT_TRUE(provider->provider()
                  .Export(absl::StrCat("thrift://", kA, "/org.example.Greeter?methods=greet"))
                  .ok());
  ASSERT_TRUE(provider->Start(absl::Seconds(30)).ok());
  ASSERT_TRUE(directory_->WaitReady(absl::Seconds(30)).ok());
  const auto none = Stub(absl::Milliseconds(10)).Greet("Ann");
  EXPECT_TRUE(absl::IsUnavailable(none.status())) << none.status();
  EXPECT_THAT(none.status().message(), HasSubstr(kA));
  const auto executor = signpost::NewSerialExecutor("answers");
  executor->PostAfter(absl::Milliseconds(10), [this] { connector_.Answer(kA); });
  const auto greeting = Stub().Greet("Ann");
  EXPECT_TRUE(greeting.ok()) << greeting.status();
}

}  // namespace
}  // namespace example

// Who is asked when many do not answer, and what the end of a pool leaves. Without a network.
#include "signpost/metadata/ask_pool.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "signpost/common/await.h"
#include "signpost/common/manual_executor.h"
#include "signpost/common/mutex.h"

namespace signpost::metadata_internal {
namespace {

constexpr absl::Duration kBound = absl::Seconds(20);

// A service: hangs until it is interrupted or released, or answers.
class Service final : public Question {
 public:
  enum Kind { kAnswers, kHangs, kDeaf, kLooksUp };  // the last two: until they are released
  explicit Service(Kind kind) : kind_(kind) {}

  absl::StatusOr<MetadataInfo> Run(absl::Duration) override {
    MutexLock lock(mutex_);
    ++runs_;
    changed_.SignalAll();
    while (kind_ != kAnswers && !released_ && !(interrupted_ && kind_ == kHangs)) {
      changed_.Wait(mutex_);
    }
    ended_ = true;
    changed_.SignalAll();
    if (kind_ == kAnswers || released_) return MetadataInfo();
    return absl::UnavailableError("interrupted");
  }
  void Interrupt() override {
    MutexLock lock(mutex_);
    interrupted_ = true;
    changed_.SignalAll();
  }
  bool interruptible() const override { return kind_ != kLooksUp; }

  void Release() {
    MutexLock lock(mutex_);
    released_ = true;
    changed_.SignalAll();
  }
  bool Begun() { return Await(&Service::runs_); }
  bool Ended() { return Await(&Service::ended_); }
  int runs() {
    MutexLock lock(mutex_);
    return runs_;
  }

 private:
  template <typename Field>
  bool Await(Field Service::*field) {
    const absl::Duration end = Clock::Real().MonotonicNow() + kBound;
    MutexLock lock(mutex_);
    while (this->*field == 0 && Clock::Real().MonotonicNow() < end) {
      changed_.WaitFor(mutex_, kBound);
    }
    return this->*field != 0;
  }

  const Kind kind_;
  Mutex mutex_;
  CondVar changed_;
  int runs_ = 0;
  bool ended_ = false;
  bool interrupted_ = false;
  bool released_ = false;
};
using ServicePtr = std::shared_ptr<Service>;

// Starts threads as it is told, and knows when they have ended.
struct Starter {
  std::thread Start(std::function<void()> body) {
    MutexLock lock(mutex);
    if (room == 0) throw std::system_error(EAGAIN, std::generic_category());
    --room;
    ++living;
    return std::thread([this, body = std::move(body)] {
      body();
      MutexLock ended(mutex);
      --living;
      changed.SignalAll();
    });
  }
  bool AllEnded() {
    const absl::Duration end = Clock::Real().MonotonicNow() + kBound;
    MutexLock lock(mutex);
    while (living > 0 && Clock::Real().MonotonicNow() < end) changed.WaitFor(mutex, kBound);
    return living == 0;
  }
  Mutex mutex;
  CondVar changed;
  int room = 1000;
  int living = 0;
};

class AskPoolTest : public testing::Test {
 protected:
  using Answer = absl::StatusOr<MetadataInfo>;
  struct Asked {
    ServicePtr service;
    std::shared_ptr<Waiter<Answer>> answer = std::make_shared<Waiter<Answer>>();
    absl::Status Status() { return answer->Wait(kBound).status(); }
  };

  AskPoolTest() {
    options_.start = [this](std::function<void()> body) { return starter_.Start(std::move(body)); };
  }
  ~AskPoolTest() override {
    pool_.reset();
    for (const ServicePtr& service : services_) service->Release();
    EXPECT_TRUE(starter_.AllEnded());
  }

  void Open() { pool_ = std::make_unique<AskPool>(*executor_, options_); }

  Asked Ask(const std::string& address, Service::Kind kind, absl::Duration timeout = absl::Hours(1),
            CancelToken cancel = CancelToken()) {
    Asked asked{std::make_shared<Service>(kind)};
    services_.push_back(asked.service);
    CallOptions options;
    options.timeout = timeout;
    options.cancel = cancel;
    pool_->Ask(address, asked.service, options, asked.answer->Callback());
    return asked;
  }

  // Makes `count` addresses late: hung0, hung1 ...
  void MakeLate(int count) {
    for (int i = 0; i < count; ++i) {
      EXPECT_TRUE(absl::IsDeadlineExceeded(
          Ask(absl::StrCat("hung", i), Service::kHangs, absl::Milliseconds(10)).Status()));
    }
    // One that was not begun in its short time is not late.
    while (pool_->late() < static_cast<size_t>(count)) {
      for (int i = 0; i < count; ++i) {
        EXPECT_FALSE(
            Ask(absl::StrCat("hung", i), Service::kHangs, absl::Milliseconds(100)).Status().ok());
      }
    }
  }

  Starter starter_;
  AskPool::Options options_;
  std::vector<ServicePtr> services_;
  std::shared_ptr<Executor> executor_ = NewSerialExecutor("control");
  std::unique_ptr<AskPool> pool_;
};

// The time is the test's.
class TimedAskPoolTest : public testing::Test {
 protected:
  ~TimedAskPoolTest() override {
    for (const ServicePtr& service : services_) service->Release();
  }

  void Open() { pool_ = std::make_unique<AskPool>(executor_, options_); }

  ServicePtr Ask(const std::string& address, Service::Kind kind,
                 absl::Duration timeout = absl::Seconds(4)) {
    auto service = std::make_shared<Service>(kind);
    services_.push_back(service);
    answers_.erase(address);
    CallOptions options;
    options.timeout = timeout;
    pool_->Ask(address, service, options, [this, address](absl::StatusOr<MetadataInfo> answer) {
      answers_[address] = answer.status();
    });
    return service;
  }

  SimulatedClock clock_;
  ManualExecutor executor_{clock_};
  AskPool::Options options_;
  std::vector<ServicePtr> services_;
  std::map<std::string, absl::Status> answers_;
  std::unique_ptr<AskPool> pool_;
};

TEST_F(AskPoolTest, HungServicesHideNobody) {
  Open();
  for (int i = 0; i < 15; ++i) Ask(absl::StrCat("hung", i), Service::kHangs);
  EXPECT_TRUE(Ask("good", Service::kAnswers).Status().ok());
  EXPECT_TRUE(Ask("good", Service::kAnswers).Status().ok());
  EXPECT_LE(pool_->threads(), 16u);
}

TEST_F(AskPoolTest, LateAddressesHaveHalfOfTheThreads) {
  Open();
  MakeLate(20);
  std::vector<Asked> hung;
  for (int i = 0; i < 20; ++i) hung.push_back(Ask(absl::StrCat("hung", i), Service::kHangs));
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(hung[i].service->Begun());
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(Ask("good", Service::kAnswers).Status().ok());
  for (int i = 8; i < 20; ++i) EXPECT_EQ(hung[i].service->runs(), 0) << i;
}

// Nothing ends a look-up, so those whose name server hangs would keep all threads.
TEST_F(AskPoolTest, LookUpsHaveHalfOfTheThreads) {
  Open();
  std::vector<Asked> names;
  for (int i = 0; i < 20; ++i) names.push_back(Ask(absl::StrCat("name", i), Service::kLooksUp));
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(names[i].service->Begun());
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(Ask("good", Service::kAnswers).Status().ok());
  for (int i = 8; i < 20; ++i) EXPECT_EQ(names[i].service->runs(), 0) << i;
  for (Asked& asked : names) asked.service->Release();
  for (Asked& asked : names) EXPECT_TRUE(asked.Status().ok());
}

TEST_F(AskPoolTest, GoodAnswerIsForgiven) {
  Open();
  MakeLate(1);
  EXPECT_TRUE(Ask("hung0", Service::kAnswers).Status().ok());
  EXPECT_EQ(pool_->late(), 0u);
}

TEST_F(AskPoolTest, RecordIsBounded) {
  options_.max_late = 3;
  Open();
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(
        Ask(absl::StrCat("hung", i), Service::kHangs, absl::Milliseconds(50)).Status().ok());
  }
  EXPECT_LE(pool_->late(), 3u);
}

TEST_F(TimedAskPoolTest, OneLateAddressGivesWayToTheNext) {
  options_.max_threads = 1;
  Open();
  for (const char* address : {"a", "b"}) {
    ASSERT_TRUE(Ask(address, Service::kHangs)->Begun());
    executor_.AdvanceAndRun(absl::Seconds(4));
    ASSERT_TRUE(absl::IsDeadlineExceeded(answers_[address])) << answers_[address];
  }
  auto hung = Ask("a", Service::kHangs);
  ASSERT_TRUE(hung->Begun());
  executor_.AdvanceAndRun(absl::Seconds(2));  // alone it keeps its time
  EXPECT_EQ(answers_.count("a"), 0u);
  executor_.AdvanceAndRun(absl::Seconds(2));
  hung = Ask("a", Service::kHangs);
  ASSERT_TRUE(hung->Begun());
  auto back = Ask("b", Service::kAnswers);
  executor_.AdvanceAndRun(absl::Seconds(1));
  EXPECT_NE(answers_["a"].message().find("others wait"), std::string::npos) << answers_["a"];
  EXPECT_TRUE(back->Ended());
}

TEST_F(TimedAskPoolTest, HungServicesThatWereNeverAskedHideNobody) {
  Open();
  std::vector<ServicePtr> hung;
  for (int i = 0; i < 20; ++i) hung.push_back(Ask(absl::StrCat("hung", i), Service::kHangs));
  auto good = Ask("good", Service::kAnswers);
  for (int i = 0; i < 16; ++i) ASSERT_TRUE(hung[i]->Begun());
  executor_.AdvanceAndRun(absl::Seconds(1));
  EXPECT_TRUE(good->Ended());
  EXPECT_EQ(pool_->late(), 5u);  // as many as waited
}

TEST_F(TimedAskPoolTest, WhoComesWhenATurnIsOverDoesNotWait) {
  Open();
  std::vector<ServicePtr> hung;
  for (int i = 0; i < 16; ++i) hung.push_back(Ask(absl::StrCat("hung", i), Service::kHangs));
  for (const ServicePtr& service : hung) ASSERT_TRUE(service->Begun());
  executor_.AdvanceAndRun(absl::Seconds(2));
  EXPECT_EQ(pool_->late(), 0u);
  EXPECT_TRUE(Ask("good", Service::kAnswers)->Ended());
  EXPECT_EQ(pool_->late(), 1u);
}

TEST_F(TimedAskPoolTest, OneThatWaitsEndsOneOfThoseThatRun) {
  Open();
  std::vector<ServicePtr> hung;
  for (int i = 0; i < 9; ++i) hung.push_back(Ask(absl::StrCat("hung", i), Service::kHangs));
  for (const ServicePtr& service : hung) ASSERT_TRUE(service->Begun());
  executor_.AdvanceAndRun(absl::Seconds(4));
  ASSERT_EQ(pool_->late(), 9u);
  answers_.clear();
  // Their threads do not end while the test looks.
  for (int i = 0; i < 8; ++i) hung[i] = Ask(absl::StrCat("hung", i), Service::kDeaf);
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(hung[i]->Begun());
  auto waits = Ask("hung8", Service::kAnswers);
  executor_.AdvanceAndRun(absl::Seconds(1));
  EXPECT_EQ(answers_.size(), 1u);
  EXPECT_EQ(answers_.count("hung8"), 0u);
  for (int i = 0; i < 8; ++i) {
    if (answers_.count(absl::StrCat("hung", i)) != 0) hung[i]->Release();
  }
  EXPECT_TRUE(waits->Ended());
}

// Only the time in which it was asked is its own.
TEST_F(TimedAskPoolTest, WaitingForAThreadMakesNobodyLate) {
  options_.max_threads = 1;
  Open();
  auto before = Ask("before", Service::kLooksUp, absl::Hours(1));
  ASSERT_TRUE(before->Begun());
  auto hung = Ask("hung", Service::kHangs);
  executor_.AdvanceAndRun(absl::Milliseconds(3750));
  before->Release();
  ASSERT_TRUE(hung->Begun());
  executor_.AdvanceAndRun(absl::Milliseconds(250));
  EXPECT_TRUE(absl::IsDeadlineExceeded(answers_["hung"])) << answers_["hung"];
  EXPECT_EQ(pool_->late(), 0u);
}

TEST_F(AskPoolTest, TimeEndsWhatIsAskedAndWhatWaits) {
  options_.max_threads = 1;
  Open();
  Asked hung = Ask("hung", Service::kHangs, absl::Seconds(1));
  ASSERT_TRUE(hung.service->Begun());
  Asked waits = Ask("other", Service::kAnswers, absl::Milliseconds(1));
  const absl::Status status = waits.Status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_EQ(waits.service->runs(), 0);
  EXPECT_TRUE(absl::IsDeadlineExceeded(hung.Status()));
  EXPECT_TRUE(hung.service->Ended());
  EXPECT_EQ(pool_->late(), 1u);  // not the one that was not asked
}

TEST_F(AskPoolTest, AnswersInTimeWhenNothingInterruptsIt) {
  Open();
  EXPECT_TRUE(
      absl::IsDeadlineExceeded(Ask("deaf", Service::kLooksUp, absl::Milliseconds(50)).Status()));
}

TEST_F(AskPoolTest, CancelEndsWhatIsAskedAndWhatWaits) {
  options_.max_threads = 1;
  Open();
  CancelToken first, second, before;
  before.Cancel();
  EXPECT_TRUE(absl::IsCancelled(Ask("x", Service::kAnswers, absl::Hours(1), before).Status()));
  Asked hung = Ask("hung", Service::kHangs, absl::Hours(1), first);
  ASSERT_TRUE(hung.service->Begun());
  Asked waits = Ask("other", Service::kAnswers, absl::Hours(1), second);
  second.Cancel();
  EXPECT_TRUE(absl::IsCancelled(waits.Status()));
  EXPECT_EQ(waits.service->runs(), 0);
  first.Cancel();
  EXPECT_TRUE(absl::IsCancelled(hung.Status()));
  EXPECT_TRUE(hung.service->Ended());
  EXPECT_EQ(pool_->late(), 0u);  // it was not given its time
}

// A caller with a timer of its own cancels at the same time.
TEST_F(AskPoolTest, CancelledLateIsLate) {
  SimulatedClock clock;
  ManualExecutor executor(clock);
  AskPool pool(executor, options_);
  CallOptions options;
  options.timeout = absl::Seconds(5);
  auto hung = std::make_shared<Service>(Service::kHangs);
  absl::Status status;
  pool.Ask("hung", hung, options,
           [&](absl::StatusOr<MetadataInfo> answer) { status = answer.status(); });
  ASSERT_TRUE(hung->Begun());
  executor.AdvanceAndRun(absl::Seconds(4.99));
  options.cancel.Cancel();
  EXPECT_TRUE(status.ok());  // on the executor only
  executor.RunUntilIdle();
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  EXPECT_EQ(pool.late(), 1u);
  EXPECT_EQ(executor.pending_timers(), 0u);
}

TEST_F(AskPoolTest, NoThread) {
  starter_.room = 0;
  Open();
  const absl::Status none = Ask("good", Service::kAnswers).Status();
  EXPECT_TRUE(absl::IsResourceExhausted(none)) << none;
  EXPECT_NE(none.message().find("good"), std::string::npos);
  {
    MutexLock lock(starter_.mutex);
    starter_.room = 1;
  }
  Asked hung = Ask("hung", Service::kHangs);
  ASSERT_TRUE(hung.service->Begun());
  Asked waits = Ask("good", Service::kAnswers);
  hung.service->Release();
  EXPECT_TRUE(waits.Status().ok());
}

TEST_F(AskPoolTest, IdleThreadsEnd) {
  options_.idle = absl::Milliseconds(1);
  Open();
  EXPECT_TRUE(Ask("good", Service::kAnswers).Status().ok());
  EXPECT_TRUE(starter_.AllEnded());
  EXPECT_EQ(pool_->threads(), 0u);
  EXPECT_TRUE(Ask("good", Service::kAnswers).Status().ok());
}

TEST_F(AskPoolTest, EndDropsCallbacksAndInterrupts) {
  options_.max_threads = 1;
  options_.end_wait = absl::Hours(1);
  Open();
  Asked hung = Ask("hung", Service::kHangs);
  ASSERT_TRUE(hung.service->Begun());
  Asked waits = Ask("other", Service::kAnswers);
  pool_.reset();
  EXPECT_TRUE(absl::IsCancelled(hung.Status()));  // as a Waiter says of a dropped callback
  EXPECT_TRUE(absl::IsCancelled(waits.Status()));
  EXPECT_EQ(waits.service->runs(), 0);
}

TEST_F(AskPoolTest, EndDoesNotWaitForALookUp) {
  options_.end_wait = absl::Hours(1);
  Open();
  Asked asked = Ask("name", Service::kLooksUp);
  ASSERT_TRUE(asked.service->Begun());
  pool_.reset();
  EXPECT_TRUE(absl::IsCancelled(asked.Status()));
  // What is left of it runs without an executor.
  executor_.reset();
  asked.service->Release();
  EXPECT_TRUE(starter_.AllEnded());
}

TEST_F(AskPoolTest, EndWaitsABoundedTime) {
  options_.end_wait = absl::Milliseconds(20);
  Open();
  Asked asked = Ask("deaf", Service::kDeaf);
  ASSERT_TRUE(asked.service->Begun());
  pool_.reset();
  EXPECT_TRUE(absl::IsCancelled(asked.Status()));
}

TEST_F(AskPoolTest, EndsAtAnyMoment) {
  for (int round = 0; round < 100; ++round) {
    Open();
    std::vector<Asked> all;
    for (int i = 0; i < 20; ++i) {
      all.push_back(Ask(absl::StrCat("x", i), i % 3 == 0 ? Service::kHangs : Service::kAnswers,
                        absl::Milliseconds(i % 5)));
    }
    pool_.reset();
    // Each was answered or dropped.
    for (Asked& asked : all) {
      EXPECT_EQ(asked.Status().message().find("no answer in 20s"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace signpost::metadata_internal

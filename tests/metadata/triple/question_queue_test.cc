// Without gRPC, so that ThreadSanitizer sees all of it.
#include "signpost/metadata/triple/question_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/await.h"
#include "signpost/common/clock.h"
#include "signpost/common/manual_executor.h"
#include "signpost/common/mutex.h"

namespace signpost::metadata_triple_internal {
namespace {

// Answers when the test says so.
class FakeQuestion final : public Question {
 public:
  void Start(absl::Duration left, Done done) override {
    started = true;
    left_ = left;
    done_ = std::move(done);
  }
  void Cancel() override { cancelled = true; }
  void Answer(absl::StatusOr<MetadataInfo> answer) {
    Done done = std::move(done_);
    std::move(done)(std::move(answer));
  }
  absl::Duration left() const { return left_; }

  bool started = false;
  bool cancelled = false;

 private:
  absl::Duration left_ = absl::ZeroDuration();
  Done done_;
};

// One question and what came of it.
struct Asked {
  std::shared_ptr<FakeQuestion> question = std::make_shared<FakeQuestion>();
  CancelToken cancel;
  std::optional<absl::StatusOr<MetadataInfo>> answer;
};

class QuestionQueueTest : public testing::Test {
 protected:
  void Open(size_t max_open, size_t max_waiting = 1000) {
    QuestionQueue::Options options;
    options.max_open = max_open;
    options.max_waiting = max_waiting;
    options.max_late = 10;
    queue_ = std::make_unique<QuestionQueue>(executor_, options);
  }
  std::shared_ptr<Asked> Ask(const std::string& address,
                             absl::Duration timeout = absl::Seconds(8)) {
    auto asked = std::make_shared<Asked>();
    CallOptions options;
    options.timeout = timeout;
    options.cancel = asked->cancel;
    queue_->Ask(address, asked->question, options, [asked](absl::StatusOr<MetadataInfo> answer) {
      EXPECT_FALSE(asked->answer.has_value());
      asked->answer.emplace(std::move(answer));
    });
    executor_.RunUntilIdle();
    return asked;
  }
  void Answer(const std::shared_ptr<Asked>& asked, absl::StatusOr<MetadataInfo> answer) {
    asked->question->Answer(std::move(answer));
    executor_.RunUntilIdle();
  }
  // Makes an address late.
  void MakeLate(const std::string& address) {
    const auto asked = Ask(address, absl::Seconds(1));
    executor_.AdvanceAndRun(absl::Seconds(1));
    ASSERT_TRUE(asked->answer.has_value());
    Answer(asked, absl::CancelledError("late"));
  }

  SimulatedClock clock_;
  ManualExecutor executor_{clock_};
  std::unique_ptr<QuestionQueue> queue_;
};

TEST_F(QuestionQueueTest, AnAnswerComesOnTheExecutor) {
  Open(2);
  const auto asked = Ask("a");
  ASSERT_TRUE(asked->question->started);
  EXPECT_EQ(asked->question->left(), absl::Seconds(8));
  asked->question->Answer(MetadataInfo());
  EXPECT_FALSE(asked->answer.has_value());
  executor_.RunUntilIdle();
  ASSERT_TRUE(asked->answer.has_value());
  EXPECT_TRUE(asked->answer->ok());
  EXPECT_EQ(executor_.pending_timers(), 0u);
}

TEST_F(QuestionQueueTest, OnlySoManyAreAskedAtOnce) {
  Open(3);
  std::vector<std::shared_ptr<Asked>> all;
  for (int i = 0; i < 1000; ++i) all.push_back(Ask(absl::StrCat(i)));
  const auto open = [&] {
    size_t count = 0;
    for (const auto& asked : all) {
      count += asked->question->started && !asked->answer.has_value() ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(open(), 3u);
  for (const auto& asked : all) {
    ASSERT_TRUE(asked->question->started);  // in their order
    Answer(asked, MetadataInfo());
    EXPECT_LE(open(), 3u);
    EXPECT_TRUE(asked->answer.has_value());
  }
}

TEST_F(QuestionQueueTest, TooManyAreRefused) {
  Open(1, 2);
  const auto first = Ask("a");
  const auto second = Ask("b");
  const auto third = Ask("c");
  const auto fourth = Ask("d");
  ASSERT_TRUE(fourth->answer.has_value());
  EXPECT_TRUE(absl::IsResourceExhausted(fourth->answer->status()));
  EXPECT_FALSE(third->answer.has_value());
}

TEST_F(QuestionQueueTest, SilenceEndsByTheDeadline) {
  Open(1);
  const auto asked = Ask("a");
  executor_.AdvanceAndRun(absl::Milliseconds(7999));
  EXPECT_FALSE(asked->answer.has_value());
  executor_.AdvanceAndRun(absl::Milliseconds(1));
  ASSERT_TRUE(asked->answer.has_value());
  EXPECT_TRUE(absl::IsDeadlineExceeded(asked->answer->status()));
  EXPECT_EQ(asked->answer->status().message(), "a: no answer in time");
  EXPECT_TRUE(asked->question->cancelled);
  // An answer that comes yet is not heard.
  Answer(asked, MetadataInfo());
  EXPECT_EQ(executor_.pending_timers(), 0u);
}

TEST_F(QuestionQueueTest, APlaceIsFreeWhenTheQuestionHasEnded) {
  Open(1);
  const auto first = Ask("a");
  first->cancel.Cancel();
  const auto second = Ask("b");
  ASSERT_TRUE(first->answer.has_value());
  EXPECT_TRUE(absl::IsCancelled(first->answer->status()));
  EXPECT_TRUE(first->question->cancelled);
  EXPECT_FALSE(second->question->started);
  Answer(first, absl::CancelledError("so it is"));
  EXPECT_TRUE(second->question->started);
}

TEST_F(QuestionQueueTest, TheTimeOfWaitingCounts) {
  Open(1);
  const auto first = Ask("a");
  const auto second = Ask("b", absl::Seconds(1));
  executor_.AdvanceAndRun(absl::Seconds(1));
  ASSERT_TRUE(second->answer.has_value());
  EXPECT_EQ(second->answer->status().message(), "b: no time left to ask it");
  EXPECT_FALSE(second->question->started);
  const auto third = Ask("c");
  executor_.AdvanceAndRun(absl::Milliseconds(500));
  Answer(first, MetadataInfo());
  ASSERT_TRUE(third->question->started);
  EXPECT_EQ(third->question->left(), absl::Milliseconds(7500));
}

TEST_F(QuestionQueueTest, NoTimeAtAll) {
  Open(1);
  const auto asked = Ask("a", absl::ZeroDuration());
  ASSERT_TRUE(asked->answer.has_value());
  EXPECT_TRUE(absl::IsDeadlineExceeded(asked->answer->status()));
  EXPECT_FALSE(asked->question->started);
}

TEST_F(QuestionQueueTest, CancelledBeforeItIsAsked) {
  Open(1);
  const auto first = Ask("a");
  const auto second = Ask("b");
  second->cancel.Cancel();
  executor_.RunUntilIdle();
  ASSERT_TRUE(second->answer.has_value());
  EXPECT_TRUE(absl::IsCancelled(second->answer->status()));
  Answer(first, MetadataInfo());
  EXPECT_FALSE(second->question->started);

  const auto asked = std::make_shared<FakeQuestion>();
  CallOptions options;
  options.cancel.Cancel();
  std::optional<absl::StatusOr<MetadataInfo>> answer;
  queue_->Ask("c", asked, options,
              [&](absl::StatusOr<MetadataInfo> answered) { answer.emplace(std::move(answered)); });
  executor_.RunUntilIdle();
  ASSERT_TRUE(answer.has_value());
  EXPECT_TRUE(absl::IsCancelled(answer->status()));
  EXPECT_FALSE(asked->started);
}

TEST_F(QuestionQueueTest, AfterAQuarterOneGivesWay) {
  Open(1);
  const auto hung = Ask("a");
  executor_.AdvanceAndRun(absl::Seconds(2));
  EXPECT_FALSE(hung->answer.has_value());  // nobody waits
  const auto next = Ask("b");
  ASSERT_TRUE(hung->answer.has_value());
  EXPECT_TRUE(absl::IsDeadlineExceeded(hung->answer->status()));
  EXPECT_TRUE(hung->question->cancelled);
  Answer(hung, absl::CancelledError("so it is"));
  EXPECT_TRUE(next->question->started);
}

TEST_F(QuestionQueueTest, GivesWayOneForOne) {
  Open(2);
  const auto a = Ask("a");
  const auto b = Ask("b");
  executor_.AdvanceAndRun(absl::Seconds(2));
  const auto c = Ask("c");
  EXPECT_TRUE(a->answer.has_value());
  EXPECT_FALSE(b->answer.has_value());
  const auto d = Ask("d");
  EXPECT_TRUE(b->answer.has_value());
}

TEST_F(QuestionQueueTest, LateAddressesHaveHalfOfThePlaces) {
  Open(4);
  for (const char* address : {"a", "b", "c"}) MakeLate(address);
  const auto a = Ask("a");
  const auto b = Ask("b");
  const auto c = Ask("c");
  EXPECT_TRUE(a->question->started);
  EXPECT_TRUE(b->question->started);
  EXPECT_FALSE(c->question->started);
  const auto good = Ask("good");
  const auto better = Ask("better");
  EXPECT_TRUE(good->question->started);
  EXPECT_TRUE(better->question->started);
  // One that answers is late no longer.
  Answer(a, MetadataInfo());
  EXPECT_TRUE(c->question->started);
  Answer(c, absl::NotFoundError("c"));
  const auto again = Ask("a");
  EXPECT_TRUE(again->question->started);
}

TEST_F(QuestionQueueTest, ThoseThatAreNotLateComeFirst) {
  Open(1);
  MakeLate("late");
  const auto running = Ask("a");
  const auto late = Ask("late");
  const auto good = Ask("b");
  Answer(running, MetadataInfo());
  EXPECT_TRUE(good->question->started);
  EXPECT_FALSE(late->question->started);
  Answer(good, MetadataInfo());
  EXPECT_TRUE(late->question->started);
}

TEST_F(QuestionQueueTest, OnlySoManyLateOnesAreRemembered) {
  Open(2);
  for (int i = 0; i < 11; ++i) MakeLate(absl::StrCat(i));
  // The first was forgotten: not late, so it takes the place beside a late one.
  const auto late = Ask("10");
  const auto forgotten = Ask("0");
  EXPECT_TRUE(late->question->started);
  EXPECT_TRUE(forgotten->question->started);
}

TEST_F(QuestionQueueTest, TheEndDropsWhatIsOpen) {
  Open(1);
  const auto open = Ask("a");
  const auto waiting = Ask("b");
  queue_.reset();
  EXPECT_TRUE(open->question->cancelled);
  EXPECT_EQ(executor_.pending_timers(), 0u);
  // Whatever comes later touches nothing.
  open->question->Answer(MetadataInfo());
  open->cancel.Cancel();
  waiting->cancel.Cancel();
  executor_.RunUntilIdle();
  EXPECT_FALSE(open->answer.has_value());
  EXPECT_FALSE(waiting->answer.has_value());
  EXPECT_FALSE(waiting->question->started);
}

TEST_F(QuestionQueueTest, TheEndBeforeItWasBegun) {
  Open(1);
  const auto question = std::make_shared<FakeQuestion>();
  const auto dropped = std::make_shared<int>(0);
  queue_->Ask("a", question, CallOptions(),
              [dropped](absl::StatusOr<MetadataInfo>) { ADD_FAILURE() << "called"; });
  queue_.reset();
  executor_.RunUntilIdle();
  EXPECT_FALSE(question->started);
  EXPECT_EQ(dropped.use_count(), 1);
}

TEST_F(QuestionQueueTest, ACallbackMayEndTheQueue) {
  Open(1);
  const auto question = std::make_shared<FakeQuestion>();
  bool called = false;
  queue_->Ask("a", question, CallOptions(), [&](absl::StatusOr<MetadataInfo>) {
    called = true;
    queue_.reset();
  });
  const auto waiting = Ask("b");
  question->Answer(MetadataInfo());
  executor_.RunUntilIdle();
  EXPECT_TRUE(called);
  EXPECT_TRUE(waiting->question->cancelled);  // it had begun
}

// Answers from a thread of its own, or when it is cancelled.
class ThreadedQuestion final : public Question {
 public:
  explicit ThreadedQuestion(bool hangs) : hangs_(hangs) {}
  ~ThreadedQuestion() override {
    if (thread_.joinable()) thread_.detach();
  }
  void Start(absl::Duration, Done done) override {
    shared_->done = std::move(done);
    if (!hangs_) thread_ = std::thread([shared = shared_] { shared->End(MetadataInfo()); });
  }
  void Cancel() override { shared_->End(absl::CancelledError("cancelled")); }

 private:
  struct Shared {
    void End(absl::StatusOr<MetadataInfo> answer) {
      if (!ended.exchange(true)) std::move(done)(std::move(answer));
    }
    std::atomic<bool> ended{false};
    Done done;
  };
  const bool hangs_;
  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::thread thread_;
};

TEST(QuestionQueueThreadsTest, ManyAskCancelAndEnd) {
  const auto executor = NewSerialExecutor("control");
  for (int round = 0; round < 20; ++round) {
    auto queue = std::make_unique<QuestionQueue>(*executor, QuestionQueue::Options{4, 1000, 10});
    std::atomic<int> dropped{0};
    std::vector<std::thread> askers;
    for (int asker = 0; asker < 3; ++asker) {
      askers.emplace_back([&, asker] {
        for (int i = 0; i < 20; ++i) {
          CallOptions options;
          options.timeout = absl::Seconds(20);
          const auto counted = std::shared_ptr<void>(nullptr, [&dropped](void*) { ++dropped; });
          queue->Ask(absl::StrCat(asker, "/", i), std::make_shared<ThreadedQuestion>(i % 3 == 0),
                     options, [counted](absl::StatusOr<MetadataInfo>) {});
          if (i % 2 == 0) options.cancel.Cancel();
        }
      });
    }
    for (std::thread& asker : askers) asker.join();
    queue.reset();
    // All callbacks are gone once the executor has run what was posted, and the threads are
    // through.
    const absl::Duration end = Clock::Real().MonotonicNow() + absl::Seconds(20);
    while (dropped < 60 && Clock::Real().MonotonicNow() < end) {
      Await<absl::Status>(absl::Seconds(20), [&](auto done) {
        executor->Post([done = std::move(done)]() mutable { done(absl::OkStatus()); });
      }).IgnoreError();
    }
    ASSERT_EQ(dropped, 60);
  }
}

}  // namespace
}  // namespace signpost::metadata_triple_internal

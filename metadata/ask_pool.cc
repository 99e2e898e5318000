#include "signpost/metadata/ask_pool.h"

#include <pthread.h>

#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "signpost/common/gate.h"
#include "signpost/common/mutex.h"

namespace signpost::metadata_internal {
namespace {

using Callback = MetadataFetcher::FetchCallback;

// One question. All but the constants belong to the mutex of the pool.
struct Item {
  Item(std::string the_address, std::shared_ptr<Question> the_question, const CallOptions& options,
       absl::Duration now, Callback the_done)
      : address(std::move(the_address)),
        question(std::move(the_question)),
        time(options.timeout),
        end(now + options.timeout),
        cancel(options.cancel),
        done(std::move(the_done)),
        may_block(!question->interruptible()) {}

  const std::string address;
  const std::shared_ptr<Question> question;
  const absl::Duration time;
  const absl::Duration end;  // on the clock of the executor
  const CancelToken cancel;
  Callback done;                           // moved out when it is answered
  const bool may_block;                    // nothing may end it
  bool slow = false;                       // asked as one of those that have half of the threads
  std::optional<absl::Duration> begun_at;  // on the clock of the executor
  bool turn_over = false;                  // it gives way if others wait
  bool ends = false;                       // it has given way or is answered
  bool answered = false;
  Executor::TimerId timer = 0;  // ends it
  Executor::TimerId turn = 0;   // its turn is over
  int cancel_id = 0;
};
using ItemPtr = std::shared_ptr<Item>;

struct Worker {
  std::thread thread;
  ItemPtr running;
  bool ended = false;
};

}  // namespace

// Shared with the threads, which may outlive the pool.
struct AskPool::State : std::enable_shared_from_this<AskPool::State> {
  State(Executor& the_executor, Options the_options)
      : executor(the_executor), options(std::move(the_options)) {}

  // Only with a pass of the gate, or while the pool is there.
  Executor& executor;
  const Options options;
  Gate gate;

  mutable Mutex mutex;
  CondVar work;   // queue, late, stop
  CondVar ended;  // a thread
  bool stop ABSL_GUARDED_BY(mutex) = false;
  std::deque<ItemPtr> queue ABSL_GUARDED_BY(mutex);
  std::list<Worker> workers ABSL_GUARDED_BY(mutex);
  // Late addresses, and which of them was asked before which.
  std::map<std::string, uint64_t> late ABSL_GUARDED_BY(mutex);
  uint64_t asked ABSL_GUARDED_BY(mutex) = 0;

  bool IsLate(const ItemPtr& item) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return late.count(item->address) != 0;
  }

  bool IsSlow(const ItemPtr& item) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return item->may_block || IsLate(item);
  }

  size_t RunningSlow() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    size_t count = 0;
    for (const Worker& worker : workers) {
      if (worker.running != nullptr && worker.running->slow) ++count;
    }
    return count;
  }

  size_t SlowThreads() const { return std::max<size_t>(options.max_threads / 2, 1); }

  // When its address was asked last; those that are not late come first.
  uint64_t LastAsked(const ItemPtr& item) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    const auto found = late.find(item->address);
    return found == late.end() ? 0 : found->second;
  }

  // The next to be asked; null: none may be asked now.
  ItemPtr Take() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    auto next = std::find_if(queue.begin(), queue.end(),
                             [this](const ItemPtr& item) { return !IsSlow(item); });
    if (next == queue.end() && RunningSlow() < SlowThreads()) {
      next = std::min_element(queue.begin(), queue.end(), [this](const auto& a, const auto& b) {
        return LastAsked(a) < LastAsked(b);
      });
    }
    if (next == queue.end()) return nullptr;
    ItemPtr item = *next;
    item->slow = IsSlow(item);
    queue.erase(next);
    return item;
  }

  // Whether more of the queue may be asked than there are threads without a question.
  bool WantsThread() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (workers.size() >= options.max_threads) return false;
    const auto idle = std::count_if(workers.begin(), workers.end(),
                                    [](const Worker& each) { return each.running == nullptr; });
    return Askable(RunningSlow()) > static_cast<size_t>(idle);
  }

  // How many of the queue may be asked while so many slow ones are.
  size_t Askable(size_t running_slow) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    size_t slow = 0;
    for (const ItemPtr& item : queue) slow += IsSlow(item) ? 1 : 0;
    const size_t room = SlowThreads() > running_slow ? SlowThreads() - running_slow : 0;
    return queue.size() - slow + std::min(slow, room);
  }

  // Whether one more of the queue could be asked if `running` ended. Threads that are about to be
  // free count already, so that one who waits costs only one of those that run.
  bool HoldsUp(const Item& running) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (!running.question->interruptible()) return false;
    size_t free = 0;
    size_t slow = 0;
    for (const Worker& worker : workers) {
      const Item* const item = worker.running.get();
      if (item == nullptr || (item->ends && item->question->interruptible())) {
        ++free;
      } else if (item->slow) {
        ++slow;
      }
    }
    const size_t without = slow - (running.slow ? 1 : 0);
    return std::min(free + 1, Askable(without)) > std::min(free, Askable(slow));
  }

  bool StartThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    const auto worker = workers.emplace(workers.end());
    try {
      worker->thread = options.start([self = shared_from_this(), worker] {
        pthread_setname_np(pthread_self(), "metadata-ask");
        self->Work(worker);
      });
      return true;
    } catch (const std::system_error&) {
      workers.erase(worker);
      return false;
    }
  }

  void Add(const ItemPtr& item) {
    bool no_thread = false;
    {
      MutexLock lock(mutex);
      if (stop || item->answered) return;
      queue.push_back(item);
      // Another thread will come to it, if there is one.
      if (WantsThread() && !StartThread() && workers.empty()) no_thread = true;
      work.Signal();
    }
    EndTurns();
    if (no_thread) {
      Answer(item, absl::ResourceExhaustedError(
                       absl::StrCat(item->address, ": no thread can be started to ask it")));
    }
  }

  void Work(std::list<Worker>::iterator me) {
    mutex.Lock();
    while (!stop) {
      ItemPtr item = Take();
      if (item == nullptr) {
        if (work.WaitFor(mutex, options.idle) || stop || !queue.empty()) continue;
        me->thread.detach();
        workers.erase(me);
        mutex.Unlock();
        return;
      }
      me->running = item;
      const absl::Duration now = executor.clock().MonotonicNow();
      const absl::Duration left = item->end - now;
      if (left > absl::ZeroDuration()) item->begun_at = now;
      const auto of_late = late.find(item->address);
      if (of_late != late.end()) of_late->second = ++asked;
      // One that could not be started before, or was of no use.
      if (WantsThread()) StartThread();
      mutex.Unlock();
      if (left <= absl::ZeroDuration()) {
        Expire(item);
      } else {
        LimitTurn(item);
        Answer(item, item->question->Run(left));
      }
      mutex.Lock();
      // The gate was closed: Close takes the callback, which must not end under the lock.
      while (!item->answered) work.Wait(mutex);
      me->running = nullptr;
    }
    me->ended = true;
    ended.SignalAll();
    mutex.Unlock();
  }

  void LimitTurn(const ItemPtr& item) {
    const Gate::Pass pass = gate.Enter();
    if (!pass) return;
    const Executor::TimerId turn = executor.PostAfter(
        item->time / 4, [weak = weak_from_this(), item = std::weak_ptr<Item>(item)] {
          const std::shared_ptr<State> self = weak.lock();
          const ItemPtr due = item.lock();
          if (self == nullptr || due == nullptr) return;
          {
            MutexLock lock(self->mutex);
            due->turn_over = true;
          }
          self->EndTurns();
        });
    MutexLock lock(mutex);
    item->turn = turn;  // when it is answered already the timer finds that out
  }

  // Those whose turn is over give way to those that wait.
  void EndTurns() {
    while (const ItemPtr item = GivesWay()) {
      Answer(item, absl::DeadlineExceededError(absl::StrCat(item->address, ": no answer in ",
                                                            absl::FormatDuration(item->time / 4),
                                                            ", and others wait")));
    }
  }

  // The next of them, which is late from now on; null: none.
  ItemPtr GivesWay() {
    MutexLock lock(mutex);
    for (const Worker& worker : workers) {
      const ItemPtr& item = worker.running;
      if (item == nullptr || !item->turn_over || item->ends || !HoldsUp(*item)) continue;
      item->ends = true;
      MarkLate(item->address);
      return item;
    }
    return nullptr;
  }

  void Expire(const ItemPtr& item) {
    bool begun = false;
    {
      MutexLock lock(mutex);
      begun = item->begun_at.has_value();
    }
    Answer(item, absl::DeadlineExceededError(absl::StrCat(
                     item->address, begun ? ": no answer in time" : ": no time left to ask it")));
  }

  // The first answer counts.
  void Answer(const ItemPtr& item, absl::StatusOr<MetadataInfo> answer) {
    const Gate::Pass pass = gate.Enter();
    if (!pass) return;
    Callback done;
    Executor::TimerId timers[2];
    int cancel_id = 0;
    bool begun = false;
    {
      MutexLock lock(mutex);
      if (std::exchange(item->answered, true)) return;
      item->ends = true;
      done = std::move(item->done);
      timers[0] = std::exchange(item->timer, 0);
      timers[1] = std::exchange(item->turn, 0);
      cancel_id = std::exchange(item->cancel_id, 0);
      begun = item->begun_at.has_value();
      if (begun) {
        Judge(*item, answer.status());
      } else if (auto found = std::find(queue.begin(), queue.end(), item); found != queue.end()) {
        queue.erase(found);
      }
    }
    for (const Executor::TimerId timer : timers) executor.Cancel(timer);
    if (cancel_id != 0) item->cancel.RemoveCallback(cancel_id);
    // No harm when it is Run itself that has answered.
    if (begun) item->question->Interrupt();
    executor.Post([done = std::move(done), answer = std::move(answer)]() mutable {
      std::move(done)(std::move(answer));
    });
  }

  // A caller's own timer may cancel just before ours, so it is the time that counts, not the error;
  // and that which it waited before somebody asked is not its own. An eighth: a resolver that has
  // others to ask gives up sooner than the time is over.
  void Judge(const Item& item, const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (status.ok() || absl::IsNotFound(status)) {
      if (late.erase(item.address) != 0) work.SignalAll();
    } else if (executor.clock().MonotonicNow() - *item.begun_at >= item.time / 8) {
      MarkLate(item.address);
    }
  }

  void MarkLate(const std::string& address) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    late[address] = ++asked;
    if (late.size() <= options.max_late) return;
    late.erase(std::min_element(late.begin(), late.end(),
                                [](const auto& a, const auto& b) { return a.second < b.second; }));
    work.SignalAll();
  }

  void Close() {
    gate.Close();
    // All items that have a callback are in the queue or with a thread.
    std::vector<ItemPtr> items;
    std::vector<Callback> dropped;  // ends last, without the lock
    std::vector<std::thread> threads;
    {
      MutexLock lock(mutex);
      stop = true;
      items.assign(queue.begin(), queue.end());
      queue.clear();
      for (const Worker& worker : workers) {
        if (worker.running != nullptr) items.push_back(worker.running);
      }
      for (const ItemPtr& item : items) {
        item->answered = true;
        dropped.push_back(std::move(item->done));
      }
      work.SignalAll();
    }
    for (const ItemPtr& item : items) {
      executor.Cancel(item->timer);
      executor.Cancel(item->turn);
      if (item->cancel_id != 0) item->cancel.RemoveCallback(item->cancel_id);
      item->question->Interrupt();
    }
    const absl::Duration end = Clock::Real().MonotonicNow() + options.end_wait;
    {
      MutexLock lock(mutex);
      for (;;) {
        const absl::Duration left = end - Clock::Real().MonotonicNow();
        if (left <= absl::ZeroDuration() || !AnyToWaitFor()) break;
        ended.WaitFor(mutex, left);
      }
      for (Worker& worker : workers) {
        if (worker.ended) {
          threads.push_back(std::move(worker.thread));
        } else {
          worker.thread.detach();
        }
      }
    }
    for (std::thread& thread : threads) thread.join();
  }

  bool AnyToWaitFor() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return std::any_of(workers.begin(), workers.end(), [](const Worker& each) {
      // A callback that is dropped by a thread of the pool may end the pool.
      if (each.ended || each.thread.get_id() == std::this_thread::get_id()) return false;
      return each.running == nullptr || each.running->question->interruptible();
    });
  }
};

AskPool::AskPool(Executor& executor, Options options)
    : state_([&] {
        if (options.start == nullptr) {
          options.start = [](std::function<void()> body) { return std::thread(std::move(body)); };
        }
        return std::make_shared<State>(executor, std::move(options));
      }()) {}

AskPool::~AskPool() { state_->Close(); }

void AskPool::Ask(std::string address, std::shared_ptr<Question> question,
                  const CallOptions& options, MetadataFetcher::FetchCallback done) {
  Executor& executor = state_->executor;
  auto item = std::make_shared<Item>(std::move(address), std::move(question), options,
                                     executor.clock().MonotonicNow(), std::move(done));
  const std::weak_ptr<State> weak_state = state_;
  const std::weak_ptr<Item> weak_item = item;
  const Executor::TimerId timer = executor.PostAfter(options.timeout, [weak_state, weak_item] {
    const std::shared_ptr<State> state = weak_state.lock();
    const ItemPtr expired = weak_item.lock();
    if (state != nullptr && expired != nullptr) state->Expire(expired);
  });
  const int cancel_id = item->cancel.OnCancel([weak_state, weak_item] {
    const std::shared_ptr<State> state = weak_state.lock();
    const ItemPtr given_up = weak_item.lock();
    if (state == nullptr || given_up == nullptr) return;
    state->Answer(given_up, absl::CancelledError(absl::StrCat(given_up->address, ": given up")));
  });
  bool answered = false;
  {
    MutexLock lock(state_->mutex);
    answered = item->answered;
    if (!answered) {
      item->timer = timer;
      item->cancel_id = cancel_id;
    }
  }
  if (answered) {
    executor.Cancel(timer);
    item->cancel.RemoveCallback(cancel_id);
    return;
  }
  state_->Add(item);
}

size_t AskPool::threads() const {
  MutexLock lock(state_->mutex);
  return state_->workers.size();
}

size_t AskPool::late() const {
  MutexLock lock(state_->mutex);
  return state_->late.size();
}

}  // namespace signpost::metadata_internal

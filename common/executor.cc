#include "signpost/common/executor.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>

#include "signpost/common/mutex.h"

namespace signpost {
namespace {

using Task = Executor::Task;
using TimerId = Executor::TimerId;

// A clock that a test moves cannot wake the thread, so the thread looks this often.
constexpr absl::Duration kForeignClockPoll = absl::Milliseconds(2);

// Shared by the executor and its thread: the thread may outlive the executor when the last
// reference is dropped by one of the executor's own tasks.
struct State {
  explicit State(Clock& the_clock) : clock(the_clock) {}

  struct Entry {
    TimerId timer;  // 0: none
    Task task;
  };

  Clock& clock;
  std::atomic<std::thread::id> thread{};
  Mutex mutex;
  CondVar changed;
  bool stopped ABSL_GUARDED_BY(mutex) = false;
  std::deque<Entry> queue ABSL_GUARDED_BY(mutex);
  std::map<std::pair<absl::Duration, TimerId>, Task> timers ABSL_GUARDED_BY(mutex);
  std::unordered_map<TimerId, absl::Duration> due ABSL_GUARDED_BY(mutex);
  TimerId next_id ABSL_GUARDED_BY(mutex) = 1;

  void QueueDueTimers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (timers.empty()) return;
    const absl::Duration now = clock.MonotonicNow();
    while (!timers.empty() && timers.begin()->first.first <= now) {
      auto first = timers.begin();
      due.erase(first->first.second);
      queue.push_back({first->first.second, std::move(first->second)});
      timers.erase(first);
    }
  }

  void WaitForWork() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (timers.empty()) {
      changed.Wait(mutex);
      return;
    }
    absl::Duration wait = timers.begin()->first.first - clock.MonotonicNow();
    if (&clock != &Clock::Real()) wait = std::min(wait, kForeignClockPoll);
    // Rounded up: the wait counts microseconds and must not spin on the rest.
    changed.WaitFor(mutex, wait + absl::Microseconds(1));
  }

  void Run() {
    thread.store(std::this_thread::get_id());
    for (;;) {
      mutex.Lock();
      QueueDueTimers();
      while (!stopped && queue.empty()) {
        WaitForWork();
        QueueDueTimers();
      }
      if (stopped) break;
      Task task = std::move(queue.front().task);
      queue.pop_front();
      mutex.Unlock();
      std::move(task)();
      // `task` is destroyed here, on this thread and without the lock.
    }
    auto dropped_queue = std::exchange(queue, {});
    auto dropped_timers = std::exchange(timers, {});
    due.clear();
    mutex.Unlock();
  }
};

class SerialExecutor final : public Executor {
 public:
  SerialExecutor(const char* name, Clock& clock) : state_(std::make_shared<State>(clock)) {
    thread_ = std::thread([state = state_, short_name = std::string(name).substr(0, 15)] {
      pthread_setname_np(pthread_self(), short_name.c_str());
      state->Run();
    });
  }

  ~SerialExecutor() override {
    {
      MutexLock lock(state_->mutex);
      state_->stopped = true;
    }
    state_->changed.SignalAll();
    if (IsCurrent()) {
      thread_.detach();  // it ends by itself after the running task
    } else {
      thread_.join();
    }
  }

  void Post(Task task) override {
    // Once queued, the task may run and drop the last reference: `this` is not touched after that.
    const std::shared_ptr<State> state = state_;
    {
      MutexLock lock(state->mutex);
      if (state->stopped) return;
      state->queue.push_back({0, std::move(task)});
    }
    state->changed.Signal();
  }

  TimerId PostAfter(absl::Duration delay, Task task) override {
    const std::shared_ptr<State> state = state_;  // as in Post
    TimerId id = 0;
    {
      MutexLock lock(state->mutex);
      id = state->next_id++;
      if (state->stopped) return id;
      if (delay > absl::ZeroDuration()) {
        const absl::Duration due = state->clock.MonotonicNow() + delay;
        state->due.emplace(id, due);
        state->timers.emplace(std::make_pair(due, id), std::move(task));
      } else {
        state->queue.push_back({id, std::move(task)});
      }
    }
    state->changed.Signal();
    return id;
  }

  bool Cancel(TimerId id) override {
    if (id == 0) return false;
    Task dropped;  // destroyed after the lock is gone
    MutexLock lock(state_->mutex);
    if (auto found = state_->due.find(id); found != state_->due.end()) {
      auto timer = state_->timers.find({found->second, id});
      dropped = std::move(timer->second);
      state_->timers.erase(timer);
      state_->due.erase(found);
      return true;
    }
    auto& queue = state_->queue;
    auto entry = std::find_if(queue.begin(), queue.end(),
                              [id](const State::Entry& each) { return each.timer == id; });
    if (entry == queue.end()) return false;
    dropped = std::move(entry->task);
    queue.erase(entry);
    return true;
  }

  bool IsCurrent() const override {
    return state_->thread.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }

  Clock& clock() const override { return state_->clock; }

 private:
  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace

std::shared_ptr<Executor> NewSerialExecutor(const char* name, Clock& clock) {
  return std::make_shared<SerialExecutor>(name, clock);
}

}  // namespace signpost

#include "signpost/common/executor.h"

#include <pthread.h>

#include <atomic>
#include <deque>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "signpost/common/mutex.h"

namespace signpost {
namespace {

// What the thread and the executor share, so that the thread may outlive the executor when the last
// reference goes inside one of its own tasks.
struct Core {
  explicit Core(Clock& clock) : clock(clock) {}

  Clock& clock;
  Mutex mutex;
  CondVar changed;
  bool stopped ABSL_GUARDED_BY(mutex) = false;
  std::deque<Executor::Task> queue ABSL_GUARDED_BY(mutex);
  std::map<std::pair<absl::Duration, Executor::TimerId>, Executor::Task> timers
      ABSL_GUARDED_BY(mutex);
  std::map<Executor::TimerId, absl::Duration> due ABSL_GUARDED_BY(mutex);
  Executor::TimerId next_id ABSL_GUARDED_BY(mutex) = 1;
  std::atomic<std::thread::id> thread{};

  void MoveDueTimers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    const absl::Duration now = clock.MonotonicNow();
    while (!timers.empty() && timers.begin()->first.first <= now) {
      auto first = timers.begin();
      due.erase(first->first.second);
      queue.push_back(std::move(first->second));
      timers.erase(first);
    }
  }

  // False when stopped.
  bool Next(Executor::Task& task) {
    MutexLock lock(mutex);
    for (;;) {
      if (stopped) return false;
      MoveDueTimers();
      if (!queue.empty()) {
        task = std::move(queue.front());
        queue.pop_front();
        return true;
      }
      if (timers.empty()) {
        changed.Wait(mutex);
      } else {
        changed.WaitFor(mutex, timers.begin()->first.first - clock.MonotonicNow());
      }
    }
  }

  void Run() {
    thread.store(std::this_thread::get_id());
    Executor::Task task;
    while (Next(task)) {
      std::move(task)();
      task = Executor::Task();  // Its captures go before the next one runs.
    }
    // Captures may own anything: they go without the lock, on this thread.
    std::deque<Executor::Task> queued;
    std::map<std::pair<absl::Duration, Executor::TimerId>, Executor::Task> timed;
    MutexLock lock(mutex);
    queued.swap(queue);
    timed.swap(timers);
    due.clear();
    mutex.Unlock();
    queued.clear();
    timed.clear();
    mutex.Lock();
  }
};

class SerialExecutor final : public Executor {
 public:
  SerialExecutor(const char* name, Clock& clock) : core_(std::make_shared<Core>(clock)) {
    thread_ = std::thread([core = core_, name = std::string(name).substr(0, 15)] {
      pthread_setname_np(pthread_self(), name.c_str());
      core->Run();
    });
  }

  ~SerialExecutor() override {
    {
      MutexLock lock(core_->mutex);
      core_->stopped = true;
      core_->changed.SignalAll();
    }
    if (IsCurrent()) {
      thread_.detach();
    } else {
      thread_.join();
    }
  }

  void Post(Task task) override {
    MutexLock lock(core_->mutex);
    if (core_->stopped) return;  // `task` is destroyed after the lock is given back.
    core_->queue.push_back(std::move(task));
    core_->changed.Signal();
  }

  TimerId PostAfter(absl::Duration delay, Task task) override {
    MutexLock lock(core_->mutex);
    const TimerId id = core_->next_id++;
    if (core_->stopped) return id;
    if (delay <= absl::ZeroDuration()) {
      core_->queue.push_back(std::move(task));
    } else {
      const absl::Duration when = core_->clock.MonotonicNow() + delay;
      core_->timers.emplace(std::make_pair(when, id), std::move(task));
      core_->due.emplace(id, when);
    }
    core_->changed.Signal();
    return id;
  }

  bool Cancel(TimerId id) override {
    Task task;
    MutexLock lock(core_->mutex);
    auto found = core_->due.find(id);
    if (found == core_->due.end()) return false;
    auto timer = core_->timers.find({found->second, id});
    task = std::move(timer->second);
    core_->timers.erase(timer);
    core_->due.erase(found);
    return true;
  }

  bool IsCurrent() const override { return core_->thread.load() == std::this_thread::get_id(); }
  Clock& clock() const override { return core_->clock; }

 private:
  std::shared_ptr<Core> core_;
  std::thread thread_;
};

}  // namespace

std::shared_ptr<Executor> NewSerialExecutor(const char* name, Clock& clock) {
  return std::make_shared<SerialExecutor>(name, clock);
}

}  // namespace signpost

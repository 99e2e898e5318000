// A watch that lives as long as this handle.
//
// After Cancel() (also by destruction) has returned, the callback does not run and will not run
// again. Called from inside that very callback it returns at once, and the callback is not
// called again. Never hold a lock that the callback takes.
//
// Threads: move and Cancel by one thread at a time; which thread does not matter.
#ifndef SIGNPOST_COMMON_SUBSCRIPTION_H_
#define SIGNPOST_COMMON_SUBSCRIPTION_H_

#include <functional>
#include <utility>

namespace signpost {

class Subscription {
 public:
  Subscription() = default;
  // `cancel` runs once.
  explicit Subscription(std::function<void()> cancel) : cancel_(std::move(cancel)) {}
  Subscription(Subscription&& other) noexcept : cancel_(std::exchange(other.cancel_, nullptr)) {}
  Subscription& operator=(Subscription&& other) noexcept {
    if (this != &other) {
      Cancel();
      cancel_ = std::exchange(other.cancel_, nullptr);
    }
    return *this;
  }
  ~Subscription() { Cancel(); }

  void Cancel() {
    if (auto cancel = std::exchange(cancel_, nullptr)) cancel();
  }
  bool active() const { return cancel_ != nullptr; }

 private:
  std::function<void()> cancel_;
};

}  // namespace signpost

#endif  // SIGNPOST_COMMON_SUBSCRIPTION_H_

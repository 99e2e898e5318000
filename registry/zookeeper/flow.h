// Coroutines of this folder: begun by a call, resumed by a callback. C++20, private to this folder.
#ifndef SIGNPOST_REGISTRY_ZOOKEEPER_FLOW_H_
#define SIGNPOST_REGISTRY_ZOOKEEPER_FLOW_H_

#include <coroutine>
#include <exception>
#include <utility>

namespace signpost {
namespace zookeeper_internal {

// A coroutine that nobody waits for.
struct Flow {
  struct promise_type {
    Flow get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

// Resumes a coroutine once, or destroys it when dropped.
class Resume {
 public:
  explicit Resume(std::coroutine_handle<> handle) : handle_(handle) {}
  Resume(Resume&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Resume& operator=(Resume&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Resume() {
    if (handle_) handle_.destroy();
  }
  void Run() { std::exchange(handle_, nullptr).resume(); }

 private:
  std::coroutine_handle<> handle_;
};

}  // namespace zookeeper_internal
}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_ZOOKEEPER_FLOW_H_

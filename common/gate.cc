#include "signpost/common/gate.h"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "signpost/common/mutex.h"

namespace signpost {

struct Gate::State {
  Mutex mutex;
  CondVar changed;
  bool closed ABSL_GUARDED_BY(mutex) = false;
  // One entry per Pass; few at any time.
  std::vector<std::thread::id> inside ABSL_GUARDED_BY(mutex);
  // Threads in Close() that hold a pass themselves: two of them must not wait for each other.
  std::vector<std::thread::id> closing ABSL_GUARDED_BY(mutex);

  static bool Has(const std::vector<std::thread::id>& threads, std::thread::id id) {
    return std::find(threads.begin(), threads.end(), id) != threads.end();
  }
};

Gate::Pass::Pass(std::shared_ptr<State> state) : state_(std::move(state)) {}

Gate::Pass::Pass(Pass&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}

Gate::Pass& Gate::Pass::operator=(Pass&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

Gate::Pass::~Pass() {
  if (state_ == nullptr) return;
  MutexLock lock(state_->mutex);
  auto mine = std::find(state_->inside.begin(), state_->inside.end(), std::this_thread::get_id());
  if (mine != state_->inside.end()) state_->inside.erase(mine);
  state_->changed.SignalAll();
}

Gate::Gate() : state_(std::make_shared<State>()) {}

Gate::~Gate() { Close(); }

Gate::Pass Gate::Enter() {
  MutexLock lock(state_->mutex);
  if (state_->closed) return Pass();
  state_->inside.push_back(std::this_thread::get_id());
  return Pass(state_);
}

void Gate::Close() {
  const std::shared_ptr<State> state = state_;
  MutexLock lock(state->mutex);
  state->closed = true;
  const auto me = std::this_thread::get_id();
  const bool inside = State::Has(state->inside, me);
  if (inside) {
    state->closing.push_back(me);
    state->changed.SignalAll();
  }
  for (;;) {
    bool busy = false;
    for (const std::thread::id id : state->inside) {
      busy = busy || (id != me && !(inside && State::Has(state->closing, id)));
    }
    if (!busy) break;
    state->changed.Wait(state->mutex);
  }
  if (inside) state->closing.erase(std::find(state->closing.begin(), state->closing.end(), me));
}

bool Gate::closed() const {
  MutexLock lock(state_->mutex);
  return state_->closed;
}

}  // namespace signpost

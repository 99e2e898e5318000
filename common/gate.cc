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
  while (std::any_of(state->inside.begin(), state->inside.end(),
                     [me](std::thread::id id) { return id != me; })) {
    state->changed.Wait(state->mutex);
  }
}

bool Gate::closed() const {
  MutexLock lock(state_->mutex);
  return state_->closed;
}

}  // namespace signpost

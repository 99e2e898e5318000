#include "signpost/common/call_options.h"

#include <map>
#include <utility>

#include "signpost/common/mutex.h"

namespace signpost {

struct CancelToken::State {
  Mutex mutex;
  bool cancelled ABSL_GUARDED_BY(mutex) = false;
  int next_id ABSL_GUARDED_BY(mutex) = 1;
  std::map<int, std::function<void()>> callbacks ABSL_GUARDED_BY(mutex);
};

CancelToken::CancelToken() : state_(std::make_shared<State>()) {}

void CancelToken::Cancel() {
  std::map<int, std::function<void()>> callbacks;
  {
    MutexLock lock(state_->mutex);
    state_->cancelled = true;
    callbacks.swap(state_->callbacks);
  }
  for (auto& [id, fn] : callbacks) fn();
}

bool CancelToken::cancelled() const {
  MutexLock lock(state_->mutex);
  return state_->cancelled;
}

int CancelToken::OnCancel(std::function<void()> fn) const {
  int id = 0;
  {
    MutexLock lock(state_->mutex);
    id = state_->next_id++;
    if (!state_->cancelled) {
      state_->callbacks.emplace(id, std::move(fn));
      return id;
    }
  }
  fn();
  return id;
}

void CancelToken::RemoveCallback(int id) const {
  std::function<void()> removed;
  MutexLock lock(state_->mutex);
  auto found = state_->callbacks.find(id);
  if (found == state_->callbacks.end()) return;
  removed = std::move(found->second);
  state_->callbacks.erase(found);
}

}  // namespace signpost

// One subscriber of a Store, as its implementations keep them.
//
// Threads: the gate from any thread; the rest on the store's executor.
#ifndef SIGNPOST_REGISTRY_STORE_STORE_LISTENER_H_
#define SIGNPOST_REGISTRY_STORE_STORE_LISTENER_H_

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "signpost/common/gate.h"
#include "signpost/registry/store/store.h"

namespace signpost {

// Its callback runs inside its own gate and the store's.
template <typename Callback>
struct StoreListener {
  explicit StoreListener(Callback fn) : callback(std::move(fn)) {}
  Gate gate;
  Callback callback;
  bool told = false;  // the present state once, and each change since
};
using ValueListener = StoreListener<Store::WatchCallback>;
using TreeListener = StoreListener<Store::TreeCallback>;
using SessionListener = StoreListener<Store::SessionCallback>;

template <typename L>
void EraseListener(std::vector<std::shared_ptr<L>>& listeners, const L* listener) {
  listeners.erase(std::remove_if(listeners.begin(), listeners.end(),
                                 [listener](const auto& l) { return l.get() == listener; }),
                  listeners.end());
}

}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_STORE_STORE_LISTENER_H_

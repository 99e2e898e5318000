// Callbacks that run only while their owner is open. Private to the rooms that implement Registry.
//
// Threads: Wrap from any thread. Close() as Gate: once it has returned, no wrapped callback runs on
//   another thread and none begins; so wrapped callbacks may use what the owner owns.
#ifndef SIGNPOST_REGISTRY_CALLBACK_GUARD_H_
#define SIGNPOST_REGISTRY_CALLBACK_GUARD_H_

#include <memory>
#include <utility>

#include "signpost/common/gate.h"

namespace signpost::registry_internal {

class CallbackGuard {
 public:
  CallbackGuard() : gate_(std::make_shared<Gate>()) {}

  template <typename F>
  auto Wrap(F fn) const {
    return [gate = gate_, fn = std::move(fn)](auto&&... args) mutable {
      const Gate::Pass pass = gate->Enter();
      if (pass) fn(std::forward<decltype(args)>(args)...);
    };
  }

  void Close() { gate_->Close(); }
  bool closed() const { return gate_->closed(); }

 private:
  std::shared_ptr<Gate> gate_;
};

}  // namespace signpost::registry_internal

#endif  // SIGNPOST_REGISTRY_CALLBACK_GUARD_H_

// A Registrar that is several: what is registered, is registered at each of them. Private to this
// folder.
//
// Threads: all methods from any thread.
// Errors: `done` gets the first one, when all have answered.
#ifndef SIGNPOST_CLIENT_FAN_OUT_REGISTRAR_H_
#define SIGNPOST_CLIENT_FAN_OUT_REGISTRAR_H_

#include <memory>
#include <utility>
#include <vector>

#include "signpost/registry/registrar.h"

namespace signpost::client_internal {

class FanOutRegistrar final : public Registrar {
 public:
  // Asked in this order; none waits for another.
  explicit FanOutRegistrar(std::vector<std::shared_ptr<Registrar>> registrars)
      : registrars_(std::move(registrars)) {}

  void Register(const Url& provider, const CallOptions& options, DoneCallback done) override;
  void Unregister(const Url& provider, const CallOptions& options, DoneCallback done) override;
  void UnregisterAll(const CallOptions& options, DoneCallback done) override;

 private:
  const std::vector<std::shared_ptr<Registrar>> registrars_;
};

}  // namespace signpost::client_internal

#endif  // SIGNPOST_CLIENT_FAN_OUT_REGISTRAR_H_

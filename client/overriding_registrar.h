// Registers what override rules make of exported URLs: the provider's side of configurators.
// Private to this folder.
//
// Rules act on the URL as it was exported, so one that is taken back restores it. A change that
// leads to another URL registers that one first and then takes the old one off, so that there is
// always one; if that one can never be registered, the old one stays, with a warning. A change that
// leads to the same URL writes nothing. Before the rules of a service are
// known, or known to be out of reach, it is not registered; what is exported together is registered
// together, but nothing waits longer than 1 s for the rules of others.
//
// Threads: all methods from any thread; callbacks on the control executor.
// Errors: of the Registrar behind it; kDeadlineExceeded also while the rules are not known.
#ifndef SIGNPOST_CLIENT_OVERRIDING_REGISTRAR_H_
#define SIGNPOST_CLIENT_OVERRIDING_REGISTRAR_H_

#include <functional>
#include <memory>
#include <string>

#include "signpost/client/centre_registries.h"
#include "signpost/common/executor.h"
#include "signpost/registry/registrar.h"

namespace signpost::client_internal {

class OverridingRegistrar final : public Registrar {
 public:
  // `trouble` says for an error why the rules may not be known: which registry, and how it is.
  OverridingRegistrar(std::shared_ptr<Executor> executor, std::shared_ptr<Registrar> registrar,
                      WatchConfigurators configurators, std::function<std::string()> trouble);
  ~OverridingRegistrar() override;

  void Register(const Url& provider, const CallOptions& options, DoneCallback done) override;
  void Unregister(const Url& provider, const CallOptions& options, DoneCallback done) override;
  void UnregisterAll(const CallOptions& options, DoneCallback done) override;

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace signpost::client_internal

#endif  // SIGNPOST_CLIENT_OVERRIDING_REGISTRAR_H_

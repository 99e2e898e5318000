// Publishes what this process offers: the provider's half of a Registry.
//
// Threads: all methods from any thread; callbacks on the control executor.
// Errors: as Registry. kCancelled: also when the opposite is asked for while a call still waits:
//   Register ends by Unregister of the URL or by UnregisterAll, those by a Register that keeps what
//   they take off.
#ifndef SIGNPOST_REGISTRY_REGISTRAR_H_
#define SIGNPOST_REGISTRY_REGISTRAR_H_

#include "signpost/common/call_options.h"
#include "signpost/common/url.h"

namespace signpost {

class Registrar {
 public:
  virtual ~Registrar() = default;

  // Desires `provider` (`protocol://host:port/interface?...`) to be found; `done` tells when the
  // centre has it. Registering the same URL twice is one registration.
  virtual void Register(const Url& provider, const CallOptions& options, DoneCallback done) = 0;
  virtual void Unregister(const Url& provider, const CallOptions& options, DoneCallback done) = 0;
  // Takes off what providers registered, consumers' nodes stay; what this process wrote for them
  // under its session is gone when `done` runs.
  virtual void UnregisterAll(const CallOptions& options, DoneCallback done) = 0;
};

}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_REGISTRAR_H_

// What this process offers.
//
// Threads: all methods from any thread.
// Errors: kInvalidArgument names the fault of a URL; kFailedPrecondition: no app name, closed.
#ifndef SIGNPOST_CLIENT_PROVIDER_H_
#define SIGNPOST_CLIENT_PROVIDER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "signpost/client/address.h"
#include "signpost/common/call_options.h"
#include "signpost/common/executor.h"
#include "signpost/common/url.h"
#include "signpost/registry/application/application_registry.h"
#include "signpost/registry/registrar.h"

namespace signpost {

class Provider {
 public:
  // What Client builds it from.
  struct Parts {
    std::shared_ptr<Executor> executor;
    std::shared_ptr<Registrar> registrar;
    std::function<RegisteredState()> registered;  // may be empty
    std::string app;
    // nullptr: URLs stay as they are, and wildcard hosts are refused.
    std::shared_ptr<AddressSelector> address;
    bool read_only = false;  // exports are refused
  };
  explicit Provider(Parts parts);

  // `protocol://host:port/interface[?group=..&version=..&weight=..]`. Call it when the port
  // listens, with the port that was bound (not 0). A wildcard host (`0.0.0.0`, `[::]`,
  // `tri://:80/`) is replaced by an address of this machine; docs/options.md says which, and what
  // else replaces host and port. Fills in interface, application, side=provider, dubbo, methods
  // (`*`) if absent. Returns at once, but that a wildcard host may ask the resolver for the
  // registry's name; Client::Start waits. The same URL again changes nothing. Parameter `methods`
  // should be set: dubbo-go wants it. All URLs have one host: a process is one
  // instance.
  absl::Status Export(absl::string_view url);
  absl::Status Export(const Url& url);
  absl::Status Unexport(const Url& url);

  // Takes everything off (consumers drop it at once) and puts it on again, with the same revision.
  // What is exported while offline waits for Online. Both wait; not from the control executor.
  absl::Status Offline(const CallOptions& options);
  absl::Status Online(const CallOptions& options);

  // What is exported, with the addresses that are registered, in the order of Export.
  std::vector<Url> exported() const;
  RegisteredState registered() const;
  // First error of a background publication since the last success; OK when all is written.
  absl::Status state() const;

  // Waits until everything exported can be found; else the first error.
  absl::Status WaitPublished(absl::Duration timeout);
  bool has_exports() const;
  // Takes everything off, waiting at most `timeout`; Export then answers kFailedPrecondition.
  absl::Status Close(absl::Duration timeout);

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace signpost

#endif  // SIGNPOST_CLIENT_PROVIDER_H_

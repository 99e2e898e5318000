// What both programs do before anything else.
#ifndef SIGNPOST_EXAMPLES_GREETING_OPEN_CLIENT_H_
#define SIGNPOST_EXAMPLES_GREETING_OPEN_CLIENT_H_

#include <signal.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "signpost/client/client.h"

namespace example {

// SIGTERM and SIGINT, blocked in this thread and those it starts, so that only sigwait takes them.
// Call it before the first thread is started.
sigset_t BlockStopSignals();

// On the registry that --registry names, else SIGNPOST_REGISTRY, else Dubbo's names in environment
// and file, else signpost://127.0.0.1:2280. `program` goes before environment and file; `app` is
// used if none of them names the application.
absl::StatusOr<std::unique_ptr<signpost::Client>> OpenClient(signpost::ClientOptions program,
                                                             const std::string& app);

}  // namespace example

#endif  // SIGNPOST_EXAMPLES_GREETING_OPEN_CLIENT_H_

// What this process calls.
//
// Threads: all methods from any thread.
#ifndef SIGNPOST_CLIENT_CONSUMER_H_
#define SIGNPOST_CLIENT_CONSUMER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "signpost/client/directory.h"

namespace signpost {

struct ReferOptions {
  std::string protocol;               // Default: any. `a,b`: any of
  std::string provided_by;            // Applications, comma list; no mapping is read. Default: none
  std::string balancer = "random";    // Default: Dubbo's
};

class Consumer {
 public:
  // Client makes it.
  struct State;
  explicit Consumer(std::shared_ptr<State> state) : state_(std::move(state)) {}

  // `[group/]interface[:version]`. Subscribes; calls with the same arguments share one Directory, and
  // it unsubscribes when the last reference goes.
  absl::StatusOr<std::shared_ptr<Directory>> Refer(absl::string_view service,
                                                   const ReferOptions& options = ReferOptions());

 private:
  std::shared_ptr<State> state_;
};

}  // namespace signpost

#endif  // SIGNPOST_CLIENT_CONSUMER_H_

// Which applications provide an interface.
//
// Threads: all methods from any thread; callbacks on the executor given at construction.
//   Destroying waits for a running callback, unless called from it; pending calls of Map and Get
//   are dropped. Subscriptions live on their own.
// Errors: as MappingStore; Map gives up with kAborted after Options::max_attempts lost races, with
//   kDeadlineExceeded and kCancelled as its CallOptions say.
#ifndef SIGNPOST_MAPPING_SERVICE_NAME_MAPPING_H_
#define SIGNPOST_MAPPING_SERVICE_NAME_MAPPING_H_

#include <memory>
#include <set>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "signpost/common/backoff.h"
#include "signpost/common/call_options.h"
#include "signpost/common/executor.h"
#include "signpost/common/subscription.h"
#include "signpost/mapping/mapping_store.h"

namespace signpost {

using AppSet = std::set<std::string>;

// `a, b,,c` -> {a, b, c}: blanks round names, empty items and what is no application name do not
// count.
AppSet ParseMappingText(absl::string_view text);
// Comma, no blanks, no newline at the end (dubbo-go reads it so). New names go to the end.
std::string AddToMappingText(absl::string_view text, absl::string_view app);

class ServiceNameMapping {
 public:
  using AppsCallback = absl::AnyInvocable<void(absl::StatusOr<AppSet>) &&>;
  // The applications now; an empty set when there is no mapping. An error: not known for now;
  // kResourceExhausted: more than 1000.
  using WatchCallback = absl::AnyInvocable<void(absl::StatusOr<AppSet>)>;

  struct Options {
    int max_attempts = 40;  // of the read-merge-write loop. Default: 40
    BackoffOptions backoff = {absl::Milliseconds(10), absl::Milliseconds(500), 2.0, 0.9};
  };

  // Both must outlive this.
  ServiceNameMapping(Executor& executor, MappingStore& store, Options options);
  ~ServiceNameMapping();

  // Adds `app` to the interface's mapping by compare-and-set; writes nothing if it is there.
  void Map(const std::string& interface_name, const std::string& app, const CallOptions& options,
           DoneCallback done);

  void Get(const std::string& interface_name, const CallOptions& options, AppsCallback done);
  // The present set first, then each change of the set.
  Subscription Watch(const std::string& interface_name, WatchCallback on_change);

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace signpost

#endif  // SIGNPOST_MAPPING_SERVICE_NAME_MAPPING_H_

// revision -> MetadataInfo: once per distinct (application, revision), however many ask.
//
// Looks in memory, then (storage type remote, or no fetcher speaks to any instance) the report,
// then asks instances of the revision through the fetchers that speak to them. One is asked; after
// each fault, or `hedge_after` without an answer, the next one, with at most `max_at_once` running:
// beyond that the oldest but the first gives way once it has had `give_way_after`. The first good
// answer counts. So n silent instances delay the answer of one that is well by at most n *
// hedge_after, and a refused connection by nothing: with 49 silent ones of 50 that is 10 s. Single
// flight: calls for a revision that is being resolved join, and add their instances. Never caches
// an error, an answer without services, or one whose own revision is another (a document without
// revision field is of the asked one).
//
// Threads: Resolve from any thread; callbacks on the executor given at construction. Destroying
//   waits for a running callback, unless called from it; pending calls are dropped.
// Errors: the last error, naming application and revision; kUnavailable when nobody could be asked;
//   kInvalidArgument: an empty revision, or `0`, which nobody describes.
#ifndef SIGNPOST_METADATA_METADATA_RESOLVER_H_
#define SIGNPOST_METADATA_METADATA_RESOLVER_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "signpost/common/call_options.h"
#include "signpost/common/executor.h"
#include "signpost/common/service_instance.h"
#include "signpost/metadata/metadata_fetcher.h"
#include "signpost/metadata/metadata_info.h"
#include "signpost/metadata/metadata_report.h"

namespace signpost {

using MetadataPtr = std::shared_ptr<const MetadataInfo>;

// Where an answer came from.
enum class MetadataSource { kReport, kService, kMemory };

struct ResolvedMetadata {
  MetadataPtr info;
  MetadataSource source = MetadataSource::kReport;
};

class MetadataResolver {
 public:
  using ResolveCallback = absl::AnyInvocable<void(absl::StatusOr<ResolvedMetadata>) &&>;

  struct Options {
    size_t max_cached = 1000;                           // revisions kept in memory. Default: 1000
    absl::Duration attempt_timeout = absl::Seconds(5);  // one question. Default: 5 s
    size_t max_instances = 64;                          // asked in one round. Default: 64
    size_t max_at_once = 5;                             // of one revision. Default: 5
    absl::Duration hedge_after = absl::Milliseconds(200);     // Default: 200 ms
    absl::Duration give_way_after = absl::Milliseconds(800);  // Default: 800 ms
    // Asks instances in random order, so that not all consumers ask the same one. Default: true
    bool shuffle = true;
  };

  // `executor` and `report` (may be null) must outlive this; fetchers are owned.
  MetadataResolver(Executor& executor, MetadataReport* report,
                   std::vector<std::unique_ptr<MetadataFetcher>> fetchers, Options options);
  ~MetadataResolver();

  // `instances`: those that showed `revision` (not empty); tells storage type and whom to ask.
  // One round: retrying later is the caller's.
  void Resolve(const std::string& app, const std::string& revision,
               std::vector<std::shared_ptr<const ServiceInstance>> instances, ResolveCallback done);

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace signpost

#endif  // SIGNPOST_METADATA_METADATA_RESOLVER_H_

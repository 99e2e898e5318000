// Port: asks one running instance for its metadata (storage type `local`).
//
// Threads: Fetch from any thread; the callback on the control executor.
// Errors: kNotFound: the instance does not know the revision. Retryable ones as status.h.
#ifndef SIGNPOST_METADATA_METADATA_FETCHER_H_
#define SIGNPOST_METADATA_METADATA_FETCHER_H_

#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "signpost/common/call_options.h"
#include "signpost/common/service_instance.h"
#include "signpost/metadata/metadata_info.h"

namespace signpost {

class MetadataFetcher {
 public:
  using FetchCallback = absl::AnyInvocable<void(absl::StatusOr<MetadataInfo>) &&>;

  virtual ~MetadataFetcher() = default;

  // Whether this fetcher speaks what the instance offers (meta-v, url-params, storage type).
  virtual bool Speaks(const ServiceInstance& instance) const = 0;
  virtual void Fetch(const ServiceInstance& instance, const std::string& revision,
                     const CallOptions& options, FetchCallback done) = 0;
};

}  // namespace signpost

#endif  // SIGNPOST_METADATA_METADATA_FETCHER_H_

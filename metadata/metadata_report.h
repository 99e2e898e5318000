// Port: metadata documents by (application, revision) in a central place.
//
// Threads: all methods from any thread; callbacks on the control executor.
// Errors: kNotFound: no such document. Others as Store.
#ifndef SIGNPOST_METADATA_METADATA_REPORT_H_
#define SIGNPOST_METADATA_METADATA_REPORT_H_

#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "signpost/common/call_options.h"
#include "signpost/metadata/metadata_info.h"

namespace signpost {

class MetadataReport {
 public:
  using GetCallback = absl::AnyInvocable<void(absl::StatusOr<MetadataInfo>) &&>;

  virtual ~MetadataReport() = default;

  // OK once the document can be read at every place a peer looks (Java's and dubbo-go's paths).
  // A document that is there already is not written again.
  virtual void Publish(const MetadataInfo& info, const CallOptions& options, DoneCallback done) = 0;

  // From Java's path, else dubbo-go's.
  virtual void Get(const std::string& app, const std::string& revision, const CallOptions& options,
                   GetCallback done) = 0;

  // Where Publish writes it, as people see it in the centre's own tools.
  virtual std::vector<std::string> PathsOf(const std::string& app,
                                           const std::string& revision) const = 0;
};

}  // namespace signpost

#endif  // SIGNPOST_METADATA_METADATA_REPORT_H_

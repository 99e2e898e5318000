// Calls of MetadataService 1.0.0 in Triple's wrapper messages, with Hessian 2 inside. Private to
// this folder.
//
// Errors: those of hessian2/metadata_service_v1.h; kUnimplemented: another serialization;
//   kInvalidArgument: what is wrapped is not as Java has it.
#ifndef SIGNPOST_METADATA_TRIPLE_WRAPPED_CALL_H_
#define SIGNPOST_METADATA_TRIPLE_WRAPPED_CALL_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "signpost/metadata/metadata_info.h"
#include "signpost/metadata/metadata_service.h"

namespace org::apache::dubbo::triple {
class TripleRequestWrapper;
class TripleResponseWrapper;
}  // namespace org::apache::dubbo::triple

namespace signpost::metadata_triple_internal {

// The server's side.
absl::StatusOr<org::apache::dubbo::triple::TripleResponseWrapper> AnswerWrapped(
    const MetadataService& service, const std::string& method,
    const org::apache::dubbo::triple::TripleRequestWrapper& request);

// The caller's side: getMetadataInfo(revision). kNotFound: null, which is what Java says of an
// unknown revision.
org::apache::dubbo::triple::TripleRequestWrapper WrapRevision(const std::string& revision);
absl::StatusOr<MetadataInfo> UnwrapMetadataInfo(
    const org::apache::dubbo::triple::TripleResponseWrapper& response);

// The same of the message's bytes.
absl::StatusOr<MetadataInfo> ParseWrappedMetadataInfo(absl::string_view bytes);

}  // namespace signpost::metadata_triple_internal

#endif  // SIGNPOST_METADATA_TRIPLE_WRAPPED_CALL_H_

// Dubbo's MetadataService 1.0.0 as calls with Hessian 2 values, for the protocols that carry them
// (Dubbo's own, Triple's wrapper message).
//
// Threads: from any thread.
// Errors: kNotFound: an unknown revision (a Java consumer asks again; it would keep an empty
//   document for good). kUnimplemented: a method or parameter types that nobody needs.
//   kInvalidArgument: arguments or answers that are not as Java has them.
// Source: org.apache.dubbo.metadata.{MetadataService, MetadataInfo} of Dubbo 2.7 to 3.3.
#ifndef SIGNPOST_METADATA_HESSIAN2_METADATA_SERVICE_V1_H_
#define SIGNPOST_METADATA_HESSIAN2_METADATA_SERVICE_V1_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "signpost/metadata/hessian2/value.h"
#include "signpost/metadata/metadata_info.h"
#include "signpost/metadata/metadata_service.h"

namespace signpost::hessian2 {

inline constexpr char kMetadataServiceV1[] = "org.apache.dubbo.metadata.MetadataService";
inline constexpr char kMetadataServiceV1Version[] = "1.0.0";

struct MetadataCall {
  std::string method;
  std::vector<std::string> parameter_types;  // as java.lang.Class.getName()
  std::vector<ValuePtr> arguments;
};

// The URLs of getExportedServiceURLs are strings, as those of getExportedURLs: Java's own URL
// object is another one in every version.
absl::StatusOr<ValuePtr> AnswerMetadataCall(const MetadataService& service,
                                            const MetadataCall& call);

// The document as a Java object, and back; back also from JSON in a string (old Java). In what is
// tolerated and dropped it is as MetadataInfoFromJson; what Java could not have put into a field is
// kInvalidArgument with the name of the field. Null is kNotFound: so Java answers for a revision
// that it does not know.
ValuePtr MetadataInfoValue(const MetadataInfo& info);
absl::StatusOr<MetadataInfo> MetadataInfoOf(const Value& value);

}  // namespace signpost::hessian2

#endif  // SIGNPOST_METADATA_HESSIAN2_METADATA_SERVICE_V1_H_

// MetadataInfo and the messages of MetadataServiceV2. Private to this folder.
//
// Errors: kInvalidArgument: bytes that are no message.
#ifndef SIGNPOST_METADATA_TRIPLE_METADATA_INFO_V2_H_
#define SIGNPOST_METADATA_TRIPLE_METADATA_INFO_V2_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "signpost/metadata/metadata_info.h"

namespace org::apache::dubbo::metadata {
class MetadataInfoV2;
}  // namespace org::apache::dubbo::metadata

namespace signpost::metadata_triple_internal {

// Its revision goes into `version`. What is not UTF-8 is left out: for one such parameter a peer
// could not read the whole document.
org::apache::dubbo::metadata::MetadataInfoV2 ToWire(const MetadataInfo& info);

// As MetadataInfoFromJson: services without name or protocol are left out, the key is always the
// match key, a service without path has its name as path, a port that is none (dubbo-go sends 0)
// is left to the instance's endpoints.
MetadataInfo FromWire(const org::apache::dubbo::metadata::MetadataInfoV2& wire);

absl::StatusOr<MetadataInfo> ParseMetadataInfoV2(absl::string_view bytes);

}  // namespace signpost::metadata_triple_internal

#endif  // SIGNPOST_METADATA_TRIPLE_METADATA_INFO_V2_H_

// What peers answer over Triple: a MetadataInfoV2, or a wrapper message with Hessian 2 inside. The
// first byte tells which of the two the rest is.
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "signpost/metadata/triple/metadata_info_v2.h"
#include "signpost/metadata/triple/wrapped_call.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const absl::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 0) {
    signpost::metadata_triple_internal::ParseMetadataInfoV2(bytes).status().IgnoreError();
  } else {
    signpost::metadata_triple_internal::ParseWrappedMetadataInfo(bytes).status().IgnoreError();
  }
  return 0;
}

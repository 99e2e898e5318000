// Whatever the bytes are: decoding ends within its bounds, what it gives can be turned into a
// document and be written, and what was written means the same when it is read again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "signpost/metadata/hessian2/codec.h"
#include "signpost/metadata/hessian2/metadata_service_v1.h"
#include "signpost/tests/fuzz/require.h"

namespace signpost::hessian2 {
namespace {

struct Message {
  std::vector<ValuePtr> values;
  absl::Status status;
};

Message Decode(absl::string_view bytes, const DecodeLimits& limits) {
  Message message;
  Decoder decoder(bytes, limits);
  while (!decoder.done()) {
    absl::StatusOr<ValuePtr> value = decoder.Next();
    if (!value.ok()) {
      message.status = value.status();
      break;
    }
    message.values.push_back(*std::move(value));
  }
  return message;
}

std::string Encode(const std::vector<ValuePtr>& values) {
  Encoder encoder;
  for (const ValuePtr& value : values) encoder.Write(*value);
  return encoder.Take();
}

void Convert(const Value& value) {
  const absl::StatusOr<MetadataInfo> info = MetadataInfoOf(value);
  if (!info.ok()) return;
  const absl::StatusOr<MetadataInfo> back = MetadataInfoOf(*MetadataInfoValue(*info));
  FUZZ_REQUIRE(back.ok());
  FUZZ_REQUIRE(back->app == info->app && back->revision == info->revision);
  FUZZ_REQUIRE(back->services == info->services);
}

}  // namespace
}  // namespace signpost::hessian2

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signpost::hessian2;
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Message message = Decode(bytes, {1 << 20, 32});
  for (const ValuePtr& value : message.values) Convert(*value);
  const std::string written = Encode(message.values);
  // Values of one message may share parts, which are written for each.
  if (written.size() > 4 * size + 1000) return 0;
  const Message again = Decode(written, {64 << 20, 32});
  FUZZ_REQUIRE(again.status.ok());
  FUZZ_REQUIRE(again.values.size() == message.values.size());
  FUZZ_REQUIRE(Encode(again.values) == written);
  return 0;
}

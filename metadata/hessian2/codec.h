// Reads and writes Hessian 2 within bounds.
//
// Threads: one at a time for each object.
// Errors: kInvalidArgument with the position: bytes that are no Hessian 2, a bound passed, a
//   reference to something unknown or unfinished.
// Source: the Hessian 2.0 serialization specification, as com.alibaba.com.caucho.hessian writes it.
#ifndef SIGNPOST_METADATA_HESSIAN2_CODEC_H_
#define SIGNPOST_METADATA_HESSIAN2_CODEC_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "signpost/metadata/hessian2/value.h"

namespace signpost::hessian2 {

struct DecodeLimits {
  size_t max_memory_bytes = 16 << 20;  // of all that is decoded. Default: 16 MiB
  size_t max_depth = 32;               // of lists, maps and objects. Default: 32
};

// The values of one message: they share its class definitions and references.
class Decoder {
 public:
  // `bytes` must outlive it.
  Decoder(absl::string_view bytes, const DecodeLimits& limits);
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  bool done() const;
  absl::StatusOr<ValuePtr> Next();
};

// The same for what is written.
class Encoder {
 public:
  Encoder();
  ~Encoder();
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  void Write(const Value& value);
  std::string Take();
};

}  // namespace signpost::hessian2

#endif  // SIGNPOST_METADATA_HESSIAN2_CODEC_H_

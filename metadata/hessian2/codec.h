// Reads and writes Hessian 2 within bounds.
//
// Threads: one at a time for each object.
// Errors: kInvalidArgument with the position: bytes that are no Hessian 2, a bound passed, a
//   reference to something unknown or unfinished.
// Source: the Hessian 2.0 serialization specification, as com.alibaba.com.caucho.hessian writes it:
//   x5f is a double in thousandths; a character above U+FFFF is two UTF-16 units of three bytes.
#ifndef SIGNPOST_METADATA_HESSIAN2_CODEC_H_
#define SIGNPOST_METADATA_HESSIAN2_CODEC_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "signpost/metadata/hessian2/value.h"

namespace signpost::hessian2 {

struct DecodeLimits {
  size_t max_memory_bytes = 16 << 20;  // of all that is decoded. Default: 16 MiB
  size_t max_depth = 32;  // of lists, maps and objects, through references too. Default: 32
};

// The values of one message: they share its class definitions and references.
//
// What is referred to is shared, so what walks a value may come to one part of it very often. No
// value has itself inside: of an exception that is its own `cause`, which is how Java says that
// there is none, that field is null.
class Decoder {
 public:
  // `bytes` must outlive it.
  Decoder(absl::string_view bytes, const DecodeLimits& limits);
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  bool done() const;
  // Once it has failed it fails so again.
  absl::StatusOr<ValuePtr> Next();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

// The same for what is written. Text that is not UTF-8 gets U+FFFD where it is not. A part that one
// value has several times is written once, and referred to.
class Encoder {
 public:
  Encoder();
  ~Encoder();
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  void Write(const Value& value);
  // What was written since the last call.
  std::string Take();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace signpost::hessian2

#endif  // SIGNPOST_METADATA_HESSIAN2_CODEC_H_

// The bytes of one message as numbers, strings and binaries; counts the memory that they and what
// is made of them take. Private to this folder.
//
// Threads: one at a time. Every step returns whether it went well; failure() says why not.
#ifndef SIGNPOST_METADATA_HESSIAN2_READER_H_
#define SIGNPOST_METADATA_HESSIAN2_READER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace signpost::hessian2_internal {

bool IsString(uint8_t tag);
bool IsBinary(uint8_t tag);
bool IsInt(uint8_t tag);

class Reader {
 public:
  // `bytes` must outlive it.
  Reader(absl::string_view bytes, size_t max_memory) : bytes_(bytes), max_memory_(max_memory) {}

  size_t left() const { return bytes_.size() - position_; }
  const absl::Status& failure() const { return failure_; }

  // With the position; always false.
  bool Fail(absl::string_view what);
  bool Charge(size_t memory);

  bool Byte(uint8_t& byte);
  // Makes the last byte the next one again.
  void Back() { --position_; }
  // Whether a `Z` is next, which is read then.
  bool AtEnd(bool& end);

  // `size` bytes, big-endian, with sign.
  bool Integer(size_t size, int64_t& number);
  // The short forms: `upper` is what the tag says, and `size` bytes are behind it.
  bool Compact(int64_t upper, size_t size, int64_t& number);
  bool Int(uint8_t tag, int64_t& number);
  // A number of things that take a byte each at least.
  bool Count(absl::string_view of_what, size_t& count);
  // The number of one of so many.
  bool Index(absl::string_view of_what, size_t size, size_t& index);

  // All chunks; `text` becomes UTF-8.
  bool String(uint8_t tag, std::string& text);
  bool Binary(uint8_t tag, std::string& data);

 private:
  bool CountNumber(absl::string_view of_what, int64_t& number);
  bool Length(uint8_t tag, uint8_t direct, uint8_t compact, size_t& length);
  bool Unit(uint32_t& unit);
  bool Chunk(size_t units, std::string& text, uint32_t& high);

  const absl::string_view bytes_;
  const size_t max_memory_;
  size_t position_ = 0;
  size_t memory_ = 0;
  absl::Status failure_;
};

}  // namespace signpost::hessian2_internal

#endif  // SIGNPOST_METADATA_HESSIAN2_READER_H_

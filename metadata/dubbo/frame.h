// The frames of Dubbo's protocol, with bodies in Hessian 2. Private to this folder.
//
// A frame is 16 bytes and a body: 0xdabb; flags (0x80 request, 0x40 answer wanted, 0x20 event, five
// bits serialization); status of a response; 8 bytes id; 4 bytes length of the body. All
// big-endian.
//
// Threads: values.
// Errors: kInvalidArgument: bytes that are no frame, a body above its bound or of another shape.
//   What is behind the last value of a body is not looked at: dubbo-go puts a null there.
// Source: ExchangeCodec, DubboCodec, DecodeableRpcInvocation, DecodeableRpcResult of Dubbo 2.7 to
//   3.3; protocol/dubbo/impl of dubbo-go.
#ifndef SIGNPOST_METADATA_DUBBO_FRAME_H_
#define SIGNPOST_METADATA_DUBBO_FRAME_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "signpost/metadata/hessian2/codec.h"
#include "signpost/metadata/hessian2/value.h"

namespace signpost::metadata_dubbo_internal {

inline constexpr size_t kHeaderBytes = 16;
inline constexpr uint8_t kHessian2 = 2;                // of the serialization ids
inline constexpr char kDubboVersion[] = "2.0.2";       // of the protocol
inline constexpr size_t kDubboPayloadBytes = 8 << 20;  // a body that Dubbo takes by default

// What Dubbo's peers send. Java makes an exception of all but kOk, and may ask again.
enum ResponseStatus : uint8_t {
  kOk = 20,
  kClientTimeout = 30,
  kServerTimeout = 31,
  kBadRequest = 40,
  kBadResponse = 50,
  kServiceNotFound = 60,
  kServiceError = 70,
  kServerError = 80,
  kClientError = 90,
  kThreadPoolExhausted = 100,
};

struct Frame {
  bool request = false;
  bool two_way = false;  // a request that wants an answer
  bool event = false;    // a heartbeat, mostly
  uint8_t serialization = kHessian2;
  uint8_t status = 0;  // of a response
  uint64_t id = 0;
  absl::string_view body;

  size_t bytes() const { return kHeaderBytes + body.size(); }
};

// The first frame of `bytes`, which must outlive it. nullopt: more bytes are needed. An error as
// soon as they cannot become a frame with at most `max_body_bytes`.
absl::StatusOr<std::optional<Frame>> FirstFrame(absl::string_view bytes, size_t max_body_bytes);

// A body may have attachments whose values are no text; they are left out.
using Attachments = std::map<std::string, std::string>;

struct Invocation {
  std::string dubbo_version = kDubboVersion;
  std::string path;  // the interface
  std::string version;
  std::string method;
  std::string parameter_types;  // as the JVM writes them, one after the other: Ljava/lang/String;
  std::vector<hessian2::ValuePtr> arguments;
  Attachments attachments;
};

// What was answered to a call, by a response with kOk.
struct Answer {
  enum class Kind { kException, kValue, kNull };
  Kind kind = Kind::kNull;
  hessian2::ValuePtr value;  // the exception or the value; null if there is none
};

absl::StatusOr<Invocation> DecodeInvocation(absl::string_view body,
                                            const hessian2::DecodeLimits& limits);
absl::StatusOr<Answer> DecodeAnswer(absl::string_view body, const hessian2::DecodeLimits& limits);
// The text that a response with another status has; what is no text gives an empty one.
std::string DecodeErrorText(absl::string_view body);

// Whole frames.
std::string EncodeInvocation(uint64_t id, const Invocation& invocation);
// A value, or Hessian's null. `attachments`: whether the asking side takes them.
std::string EncodeAnswer(uint64_t id, const hessian2::Value& value, bool attachments);
std::string EncodeError(uint64_t id, ResponseStatus status, absl::string_view text);
std::string EncodeHeartbeat(uint64_t id);  // that wants an answer
// To an event; with its serialization, whose null its body is.
std::string EncodeHeartbeatAnswer(const Frame& heartbeat);

// Whether who speaks this version of the protocol takes attachments in answers (2.0.2 to 2.0.99;
// older peers say the version of their library there, which is higher).
bool TakesAttachments(absl::string_view dubbo_version);
// Of Invocation::parameter_types, as java.lang.Class.getName() has them.
absl::StatusOr<std::vector<std::string>> ClassNames(absl::string_view parameter_types);

}  // namespace signpost::metadata_dubbo_internal

#endif  // SIGNPOST_METADATA_DUBBO_FRAME_H_

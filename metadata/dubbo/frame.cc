#include "signpost/metadata/dubbo/frame.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "signpost/common/status.h"

namespace signpost::metadata_dubbo_internal {
namespace {

using hessian2::DecodeLimits;
using hessian2::Decoder;
using hessian2::Encoder;
using hessian2::Kind;
using hessian2::Value;
using hessian2::ValuePtr;

constexpr char kMagic[] = {'\xda', '\xbb'};
constexpr uint8_t kRequestFlag = 0x80;
constexpr uint8_t kTwoWayFlag = 0x40;
constexpr uint8_t kEventFlag = 0x20;
constexpr uint8_t kSerializationMask = 0x1f;
constexpr char kHessianNull[] = "N";
// Heartbeats of other serializations have a null of few bytes.
constexpr size_t kMaxEventBytes = 16;
// More than any method of the service has; Java's own limit is 255.
constexpr size_t kMaxParameters = 16;

// The first byte of an answer.
constexpr int64_t kWithException = 0;
constexpr int64_t kWithValue = 1;
constexpr int64_t kWithNull = 2;
constexpr int64_t kWithAttachments = 3;  // added to them

// `size` bytes, the highest first.
uint64_t ReadNumber(absl::string_view bytes, size_t at, size_t size) {
  uint64_t number = 0;
  for (size_t i = 0; i < size; ++i) {
    number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
  }
  return number;
}

void AppendNumber(std::string& to, uint64_t number, size_t size) {
  for (size_t i = size; i > 0; --i) to.push_back(static_cast<char>(number >> (8 * (i - 1))));
}

std::string NewFrame(uint8_t flags, uint8_t status, uint64_t id, absl::string_view body) {
  std::string frame(kMagic, sizeof(kMagic));
  frame.push_back(static_cast<char>(flags));
  frame.push_back(static_cast<char>(status));
  AppendNumber(frame, id, 8);
  AppendNumber(frame, body.size(), 4);
  frame.append(body.data(), body.size());
  return frame;
}

Value Text(absl::string_view text) {
  Value value;
  value.kind = Kind::kString;
  value.text = std::string(text);
  return value;
}

Value Int(int64_t number) {
  Value value;
  value.kind = Kind::kInt;
  value.number = number;
  return value;
}

Value MapOf(const Attachments& attachments) {
  Value value;
  value.kind = Kind::kMap;
  for (const auto& [key, text] : attachments) {
    value.entries.emplace_back(std::make_shared<const Value>(Text(key)),
                               std::make_shared<const Value>(Text(text)));
  }
  return value;
}

// A text; Java writes null for one that there is not.
absl::Status ReadText(Decoder& decoder, absl::string_view what, std::string* text) {
  auto value = decoder.Next();
  if (!value.ok()) return Annotate(value.status(), what);
  if ((*value)->kind != Kind::kString && (*value)->kind != Kind::kNull) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": no text"));
  }
  *text = (*value)->text;
  return absl::OkStatus();
}

absl::Status ReadAttachments(Decoder& decoder, Attachments* attachments) {
  auto value = decoder.Next();
  if (!value.ok()) return Annotate(value.status(), "attachments");
  if ((*value)->kind == Kind::kNull) return absl::OkStatus();
  if ((*value)->kind != Kind::kMap) return absl::InvalidArgumentError("attachments: no map");
  for (const auto& [key, text] : (*value)->entries) {
    if (key->kind != Kind::kString || text->kind != Kind::kString) continue;
    attachments->insert_or_assign(key->text, text->text);
  }
  return absl::OkStatus();
}

// The JVM's letters for types that are no classes.
absl::string_view Primitive(char letter) {
  switch (letter) {
    case 'Z':
      return "boolean";
    case 'B':
      return "byte";
    case 'C':
      return "char";
    case 'D':
      return "double";
    case 'F':
      return "float";
    case 'I':
      return "int";
    case 'J':
      return "long";
    case 'S':
      return "short";
    case 'V':
      return "void";
    default:
      return "";
  }
}

// Takes the first type off `types`.
absl::StatusOr<std::string> TakeClassName(absl::string_view& types) {
  const size_t arrays = std::min(types.find_first_not_of('['), types.size());
  if (arrays == types.size()) return absl::InvalidArgumentError("parameter types: cut off");
  size_t end = arrays + 1;
  if (types[arrays] == 'L') {
    const size_t stop = types.find(';', arrays);
    if (stop == absl::string_view::npos) {
      return absl::InvalidArgumentError("parameter types: cut off");
    }
    end = stop + 1;
  } else if (Primitive(types[arrays]).empty()) {
    return absl::InvalidArgumentError("parameter types: no type of Java");
  }
  const absl::string_view type = types.substr(0, end);
  types.remove_prefix(end);
  // Arrays keep the JVM's form, with dots.
  if (arrays > 0) return absl::StrReplaceAll(type, {{"/", "."}});
  if (type[0] != 'L') return std::string(Primitive(type[0]));
  return absl::StrReplaceAll(type.substr(1, type.size() - 2), {{"/", "."}});
}

}  // namespace

absl::StatusOr<std::optional<Frame>> FirstFrame(absl::string_view bytes, size_t max_body_bytes) {
  for (size_t i = 0; i < std::min(bytes.size(), sizeof(kMagic)); ++i) {
    if (bytes[i] != kMagic[i]) return absl::InvalidArgumentError("no frame of the Dubbo protocol");
  }
  if (bytes.size() < kHeaderBytes) return std::nullopt;
  const uint64_t body_bytes = ReadNumber(bytes, 12, 4);
  if (body_bytes > max_body_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a frame of ", body_bytes, " bytes, at most ", max_body_bytes));
  }
  if (bytes.size() - kHeaderBytes < body_bytes) return std::nullopt;
  const auto flags = static_cast<uint8_t>(bytes[2]);
  Frame frame;
  frame.request = (flags & kRequestFlag) != 0;
  frame.two_way = frame.request && (flags & kTwoWayFlag) != 0;
  frame.event = (flags & kEventFlag) != 0;
  frame.serialization = flags & kSerializationMask;
  frame.status = frame.request ? uint8_t{0} : static_cast<uint8_t>(bytes[3]);
  frame.id = ReadNumber(bytes, 4, 8);
  frame.body = bytes.substr(kHeaderBytes, body_bytes);
  return frame;
}

absl::StatusOr<Invocation> DecodeInvocation(absl::string_view body, const DecodeLimits& limits) {
  Decoder decoder(body, limits);
  Invocation invocation;
  const std::pair<const char*, std::string*> texts[] = {
      {"protocol version", &invocation.dubbo_version},
      {"path", &invocation.path},
      {"version", &invocation.version},
      {"method", &invocation.method},
      {"parameter types", &invocation.parameter_types}};
  for (const auto& [what, text] : texts) {
    if (absl::Status status = ReadText(decoder, what, text); !status.ok()) return status;
  }
  const auto types = ClassNames(invocation.parameter_types);
  if (!types.ok()) return types.status();
  for (size_t i = 0; i < types->size(); ++i) {
    auto argument = decoder.Next();
    if (!argument.ok()) return Annotate(argument.status(), absl::StrCat("argument ", i));
    invocation.arguments.push_back(*std::move(argument));
  }
  if (absl::Status status = ReadAttachments(decoder, &invocation.attachments); !status.ok()) {
    return status;
  }
  return invocation;
}

absl::StatusOr<Answer> DecodeAnswer(absl::string_view body, const DecodeLimits& limits) {
  Decoder decoder(body, limits);
  const auto kind = decoder.Next();
  if (!kind.ok()) return Annotate(kind.status(), "kind of answer");
  const int64_t number = (*kind)->kind == Kind::kInt ? (*kind)->number : -1;
  if (number < 0 || number > kWithNull + kWithAttachments) {
    return absl::InvalidArgumentError("kind of answer: none that Dubbo has");
  }
  Answer answer;
  // Attachments come last, and nothing of them is needed.
  switch (number % kWithAttachments) {
    case kWithException:
      answer.kind = Answer::Kind::kException;
      break;
    case kWithValue:
      answer.kind = Answer::Kind::kValue;
      break;
    default:
      return answer;
  }
  auto value = decoder.Next();
  if (!value.ok()) return Annotate(value.status(), "answer");
  answer.value = *std::move(value);
  if (answer.value->kind == Kind::kNull && number % kWithAttachments == kWithValue) return Answer();
  return answer;
}

std::string DecodeErrorText(absl::string_view body) {
  Decoder decoder(body, DecodeLimits());
  const auto text = decoder.Next();
  return text.ok() && (*text)->kind == Kind::kString ? (*text)->text : "";
}

std::string EncodeInvocation(uint64_t id, const Invocation& invocation) {
  Encoder encoder;
  encoder.Write(Text(invocation.dubbo_version));
  encoder.Write(Text(invocation.path));
  encoder.Write(Text(invocation.version));
  encoder.Write(Text(invocation.method));
  encoder.Write(Text(invocation.parameter_types));
  for (const ValuePtr& argument : invocation.arguments) encoder.Write(*argument);
  encoder.Write(MapOf(invocation.attachments));
  return NewFrame(kRequestFlag | kTwoWayFlag | kHessian2, 0, id, encoder.Take());
}

std::string EncodeAnswer(uint64_t id, const Value& value, bool attachments) {
  Encoder encoder;
  const bool is_null = value.kind == Kind::kNull;
  encoder.Write(Int((is_null ? kWithNull : kWithValue) + (attachments ? kWithAttachments : 0)));
  if (!is_null) encoder.Write(value);
  if (attachments) encoder.Write(MapOf({{"dubbo", kDubboVersion}}));
  return NewFrame(kHessian2, kOk, id, encoder.Take());
}

std::string EncodeError(uint64_t id, ResponseStatus status, absl::string_view text) {
  Encoder encoder;
  encoder.Write(Text(text));
  return NewFrame(kHessian2, status, id, encoder.Take());
}

std::string EncodeHeartbeat(uint64_t id) {
  return NewFrame(kRequestFlag | kTwoWayFlag | kEventFlag | kHessian2, 0, id, kHessianNull);
}

std::string EncodeHeartbeatAnswer(const Frame& heartbeat) {
  const absl::string_view null = heartbeat.serialization == kHessian2
                                     ? absl::string_view(kHessianNull)
                                     : heartbeat.body.substr(0, kMaxEventBytes);
  return NewFrame(kEventFlag | heartbeat.serialization, kOk, heartbeat.id, null);
}

bool TakesAttachments(absl::string_view dubbo_version) {
  const std::vector<absl::string_view> parts = absl::StrSplit(dubbo_version, '.');
  int32_t last = 0;
  return parts.size() == 3 && parts[0] == "2" && parts[1] == "0" &&
         absl::SimpleAtoi(parts[2], &last) && last >= 2 && last <= 99;
}

absl::StatusOr<std::vector<std::string>> ClassNames(absl::string_view parameter_types) {
  std::vector<std::string> names;
  while (!parameter_types.empty()) {
    if (names.size() == kMaxParameters) {
      return absl::InvalidArgumentError("parameter types: too many");
    }
    auto name = TakeClassName(parameter_types);
    if (!name.ok()) return name.status();
    names.push_back(*std::move(name));
  }
  return names;
}

}  // namespace signpost::metadata_dubbo_internal

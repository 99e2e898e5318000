#include "signpost/metadata/dubbo/answer_frame.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "signpost/metadata/hessian2/metadata_service_v1.h"

namespace signpost::metadata_dubbo_internal {
namespace {

// Of what a peer sent, in a text that goes back to it.
constexpr size_t kMaxQuoted = 200;

absl::string_view Quoted(absl::string_view text) { return text.substr(0, kMaxQuoted); }

// The value of an attachment, or the fallback.
absl::string_view Attached(const Invocation& invocation, const char* key,
                           absl::string_view fallback) {
  const auto found = invocation.attachments.find(key);
  return found == invocation.attachments.end() || found->second.empty() ? fallback : found->second;
}

bool IsThisService(const MetadataService& service, const Invocation& invocation) {
  for (const absl::string_view name :
       {absl::string_view(invocation.path), Attached(invocation, "path", invocation.path),
        Attached(invocation, "interface", invocation.path)}) {
    if (absl::StripPrefix(name, "/") != hessian2::kMetadataServiceV1) return false;
  }
  // Java and Go always name both.
  const absl::string_view version =
      Attached(invocation, "version",
               invocation.version.empty() ? hessian2::kMetadataServiceV1Version
                                          : absl::string_view(invocation.version));
  return version == hessian2::kMetadataServiceV1Version &&
         Attached(invocation, "group", service.app()) == service.app();
}

ResponseStatus StatusOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
      return kServiceError;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kUnimplemented:  // as Java says of a method that there is not
      return kBadRequest;
    default:
      return kServerError;
  }
}

std::string AnswerInvocation(const MetadataService& service, const Frame& frame) {
  if (frame.serialization != kHessian2) {
    return EncodeError(
        frame.id, kBadRequest,
        absl::StrCat("serialization ", int{frame.serialization}, ": only hessian2 is spoken here"));
  }
  auto invocation = DecodeInvocation(frame.body, hessian2::DecodeLimits());
  if (!invocation.ok()) return EncodeError(frame.id, kBadRequest, invocation.status().message());
  if (!IsThisService(service, *invocation)) {
    return EncodeError(
        frame.id, kServiceNotFound,
        absl::StrCat("Not found exported service: ", Quoted(Attached(*invocation, "group", "")),
                     "/", Quoted(invocation->path), ":", Quoted(invocation->version), "; only ",
                     service.app(), "/", hessian2::kMetadataServiceV1, ":",
                     hessian2::kMetadataServiceV1Version));
  }
  hessian2::MetadataCall call;
  call.method = std::move(invocation->method);
  auto types = ClassNames(invocation->parameter_types);
  if (!types.ok()) return EncodeError(frame.id, kBadRequest, types.status().message());
  call.parameter_types = *std::move(types);
  call.arguments = std::move(invocation->arguments);
  const auto value = hessian2::AnswerMetadataCall(service, call);
  if (!value.ok()) {
    return EncodeError(frame.id, StatusOf(value.status()), value.status().message());
  }
  std::string answer = EncodeAnswer(frame.id, **value, TakesAttachments(invocation->dubbo_version));
  if (answer.size() - kHeaderBytes > kDubboPayloadBytes) {
    return EncodeError(frame.id, kBadResponse,
                       absl::StrCat("an answer of ", answer.size() - kHeaderBytes,
                                    " bytes, at most ", kDubboPayloadBytes));
  }
  return answer;
}

}  // namespace

std::string AnswerFrame(const MetadataService& service, const Frame& frame) {
  if (!frame.request || !frame.two_way) return "";
  return frame.event ? EncodeHeartbeatAnswer(frame) : AnswerInvocation(service, frame);
}

std::string BusyFrame(const Frame& frame) {
  if (!frame.request || !frame.two_way) return "";
  if (frame.event) return EncodeHeartbeatAnswer(frame);
  return EncodeError(frame.id, kThreadPoolExhausted, "too many answers wait to be read; try again");
}

}  // namespace signpost::metadata_dubbo_internal

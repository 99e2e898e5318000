#include "signpost/metadata/triple/wrapped_call.h"

#include <climits>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/status.h"
#include "signpost/metadata/hessian2/codec.h"
#include "signpost/metadata/hessian2/metadata_service_v1.h"
#include "signpost/metadata/hessian2/value.h"
#include "signpost/metadata/triple/triple_wrapper.pb.h"

namespace signpost::metadata_triple_internal {
namespace {

using hessian2::Kind;
using hessian2::ValuePtr;
using org::apache::dubbo::triple::TripleRequestWrapper;
using org::apache::dubbo::triple::TripleResponseWrapper;

// No call has more arguments.
constexpr int kMaxArguments = 8;
constexpr char kString[] = "java.lang.String";

// As the methods of the Java interface are declared: a Java consumer looks the class up.
const std::map<std::string, std::string>& ResultTypes() {
  static const auto* const types = new std::map<std::string, std::string>{
      {"getExportedServiceURLs", "java.util.Set"},
      {"getExportedURLs", "java.util.SortedSet"},
      {"getMetadataInfo", "org.apache.dubbo.metadata.MetadataInfo"},
      {"getMetadataInfos", "java.util.List"},
      {"getSubscribedURLs", "java.util.SortedSet"},
      {"serviceName", kString},
      {"version", kString},
  };
  return *types;
}

absl::Status CheckSerialization(const std::string& name) {
  // Java still says by the older name what it means by the newer one.
  if (name == "hessian2" || name == "hessian4") return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("serialization `", name.substr(0, 100), "`: only hessian2"));
}

// One value and nothing behind it.
absl::StatusOr<ValuePtr> DecodeOne(absl::string_view bytes, const hessian2::DecodeLimits& limits) {
  hessian2::Decoder decoder(bytes, limits);
  auto value = decoder.Next();
  if (value.ok() && !decoder.done()) {
    return absl::InvalidArgumentError("there is more behind the value");
  }
  return value;
}

std::string EncodeOne(const hessian2::Value& value) {
  hessian2::Encoder encoder;
  encoder.Write(value);
  return encoder.Take();
}

}  // namespace

absl::StatusOr<TripleResponseWrapper> AnswerWrapped(const MetadataService& service,
                                                    const std::string& method,
                                                    const TripleRequestWrapper& request) {
  if (absl::Status status = CheckSerialization(request.serializetype()); !status.ok()) {
    return Annotate(status, method);
  }
  if (request.args_size() != request.argtypes_size() || request.args_size() > kMaxArguments) {
    return absl::InvalidArgumentError(absl::StrCat(
        method, ": ", request.args_size(), " arguments of ", request.argtypes_size(), " types"));
  }
  hessian2::MetadataCall call;
  call.method = method;
  call.parameter_types.assign(request.argtypes().begin(), request.argtypes().end());
  hessian2::DecodeLimits limits;
  limits.max_memory_bytes = 1 << 20;  // they are short strings
  for (const std::string& bytes : request.args()) {
    auto argument = DecodeOne(bytes, limits);
    if (!argument.ok()) {
      return Annotate(argument.status(),
                      absl::StrCat(method, ", argument ", call.arguments.size()));
    }
    call.arguments.push_back(*std::move(argument));
  }
  const auto answer = hessian2::AnswerMetadataCall(service, call);
  if (!answer.ok()) return Annotate(answer.status(), method);
  TripleResponseWrapper response;
  response.set_serializetype(request.serializetype());
  response.set_data(EncodeOne(**answer));
  const auto type = ResultTypes().find(method);
  if (type != ResultTypes().end()) response.set_type(type->second);
  return response;
}

TripleRequestWrapper WrapRevision(const std::string& revision) {
  hessian2::Value argument;
  argument.kind = Kind::kString;
  argument.text = revision;
  TripleRequestWrapper request;
  request.set_serializetype("hessian4");  // which all Java versions know
  request.add_args(EncodeOne(argument));
  request.add_argtypes(kString);
  return request;
}

absl::StatusOr<MetadataInfo> UnwrapMetadataInfo(const TripleResponseWrapper& response) {
  if (absl::Status status = CheckSerialization(response.serializetype()); !status.ok()) {
    return status;
  }
  const absl::Status unknown = absl::NotFoundError("null: it does not know the revision");
  if (response.data().empty()) return unknown;
  const auto value = DecodeOne(response.data(), hessian2::DecodeLimits());
  if (!value.ok()) return value.status();
  if ((*value)->kind == Kind::kNull) return unknown;
  return hessian2::MetadataInfoOf(**value);
}

absl::StatusOr<MetadataInfo> ParseWrappedMetadataInfo(absl::string_view bytes) {
  TripleResponseWrapper response;
  if (bytes.size() > INT_MAX ||
      !response.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError("TripleResponseWrapper: the bytes are no such message");
  }
  return UnwrapMetadataInfo(response);
}

}  // namespace signpost::metadata_triple_internal

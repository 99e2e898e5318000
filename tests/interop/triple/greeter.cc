#include "signpost/tests/interop/triple/greeter.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>
#include <grpcpp/support/slice.h>
#include <grpcpp/support/status.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "signpost/tests/interop/triple/hessian_string.h"
#include "signpost/tests/interop/triple/triple_wrapper.h"

namespace signpost::interop {
namespace {

std::string Header(const grpc::CallbackServerContext& call, const char* name) {
  const auto found = call.client_metadata().find(name);
  if (found == call.client_metadata().end()) return "";
  return std::string(found->second.data(), found->second.size());
}

// One call: one message is read, one is written.
class Call final : public grpc::ServerGenericBidiReactor {
 public:
  Call(const Greeter& greeter, grpc::GenericCallbackServerContext& context)
      : greeter_(greeter), context_(context) {
    StartRead(&message_);
  }

  void OnReadDone(bool ok) override {
    grpc::Slice request;
    if (!ok || !message_.DumpToSingleSlice(&request).ok()) {
      Finish({grpc::StatusCode::INVALID_ARGUMENT, "no request"});
      return;
    }
    const auto answer =
        greeter_.Answer(context_.method(), Header(context_, "tri-service-group"),
                        Header(context_, "tri-service-version"),
                        {reinterpret_cast<const char*>(request.begin()), request.size()});
    if (!answer.ok()) {
      // Both number their codes alike.
      Finish({static_cast<grpc::StatusCode>(answer.status().code()),
              std::string(answer.status().message())});
      return;
    }
    const grpc::Slice response(*answer);
    message_ = grpc::ByteBuffer(&response, 1);
    StartWriteAndFinish(&message_, grpc::WriteOptions(), grpc::Status::OK);
  }

  void OnDone() override { delete this; }

 private:
  const Greeter& greeter_;
  grpc::GenericCallbackServerContext& context_;
  grpc::ByteBuffer message_;
};

}  // namespace

Greeter::Greeter(ServiceKey service, Greet greet)
    : service_(std::move(service)), greet_(std::move(greet)) {}

absl::StatusOr<std::string> Greeter::Answer(absl::string_view method, absl::string_view group,
                                            absl::string_view version,
                                            absl::string_view message) const {
  if (method != absl::StrCat("/", service_.interface_name, "/greet") || group != service_.group ||
      version != service_.version) {
    return absl::UnimplementedError(absl::StrCat(method, ", group `", group, "`, version `",
                                                 version, "`: only greet of ",
                                                 service_.ToString()));
  }
  auto request = ParseTripleRequest(message);
  if (!request.ok()) return request.status();
  // hessian4 is Triple's older name of the same.
  if (request->serialize_type != "hessian2" && request->serialize_type != "hessian4") {
    return absl::UnimplementedError(
        absl::StrCat(method, ": serialization `", request->serialize_type, "`: only hessian2"));
  }
  if (request->args.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(method, ": ", request->args.size(), " arguments, not one"));
  }
  auto name = DecodeHessianString(request->args.front());
  if (!name.ok()) return name.status();
  auto data = EncodeHessianString(greet_(*name));
  if (!data.ok()) return data.status();
  return Serialize(
      TripleResponse{std::move(request->serialize_type), *std::move(data), "java.lang.String"});
}

grpc::ServerGenericBidiReactor* Greeter::CreateReactor(grpc::GenericCallbackServerContext* call) {
  return new Call(*this, *call);
}

}  // namespace signpost::interop

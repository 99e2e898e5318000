// A gRPC server that answers `String greet(String)` of one service as Triple asks for it: a POST to
// /<interface>/greet, content type application/grpc+proto, headers tri-service-group and
// tri-service-version, the wrapper messages of triple_wrapper.h with Hessian2 inside.
//
// Whatever else is asked gets an error that says what was asked; so does another group or version.
//
// Threads: calls are answered on gRPC's threads, `greet` is called on several at once.
// Ownership: a Greeter outlives the grpc::Server that it is registered with.
#ifndef SIGNPOST_TESTS_INTEROP_TRIPLE_GREETER_H_
#define SIGNPOST_TESTS_INTEROP_TRIPLE_GREETER_H_

#include <grpcpp/generic/async_generic_service.h>

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "signpost/common/service_key.h"

namespace signpost::interop {

class Greeter final : public grpc::CallbackGenericService {
 public:
  using Greet = std::function<std::string(const std::string& name)>;

  Greeter(ServiceKey service, Greet greet);

  // What a call of the path `method` is answered with. kUnimplemented for another service, another
  // method or another serialization, kInvalidArgument for arguments that are not one string.
  absl::StatusOr<std::string> Answer(absl::string_view method, absl::string_view group,
                                     absl::string_view version, absl::string_view message) const;

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* call) override;

 private:
  const ServiceKey service_;
  const Greet greet_;
};

}  // namespace signpost::interop

#endif  // SIGNPOST_TESTS_INTEROP_TRIPLE_GREETER_H_

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>
#include <grpcpp/support/status.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/clock.h"
#include "signpost/common/json.h"
#include "signpost/common/url.h"
#include "signpost/metadata/service_params.h"
#include "signpost/metadata/triple/add_triple_metadata.h"
#include "signpost/metadata/triple/metadata_info_v2.h"
#include "signpost/metadata/triple/metadata_service_v1.grpc.pb.h"
#include "signpost/metadata/triple/metadata_service_v2.grpc.pb.h"
#include "signpost/metadata/triple/triple_metadata.h"
#include "signpost/metadata/triple/wrapped_call.h"

namespace signpost {
namespace {

namespace wire = org::apache::dubbo::metadata;
using org::apache::dubbo::triple::TripleRequestWrapper;
using org::apache::dubbo::triple::TripleResponseWrapper;

// A part of the 10 s that the end of a client may take.
constexpr absl::Duration kLastAnswers = absl::Seconds(1);
// Who connects must have begun to speak HTTP/2.
constexpr absl::Duration kHandshake = absl::Seconds(5);
// A peer that does not read its answer holds it no longer.
constexpr absl::Duration kConnectionAge = absl::Minutes(5);
constexpr absl::Duration kConnectionGrace = absl::Seconds(10);
constexpr size_t kMaxMessage = 500;

int Milliseconds(absl::Duration time) {
  return static_cast<int>(std::clamp<int64_t>(absl::ToInt64Milliseconds(time), 1, INT_MAX));
}

grpc::Status ToGrpc(const absl::Status& status) {
  // Both number their codes alike. A trailer that is too long would hide the code.
  return {static_cast<grpc::StatusCode>(status.code()),
          std::string(status.message().substr(0, kMaxMessage))};
}

// What all calls share.
class Desk {
 public:
  Desk(std::shared_ptr<const MetadataService> service, const TripleMetadataLimits& limits)
      : service_(std::move(service)), limits_(limits) {}

  // `answer` fills in the response of one call, on the thread of the caller. `Response` is a
  // message; it lives until the call has ended.
  template <typename Request, typename Response, typename Answer>
  grpc::ServerUnaryReactor* Take(const Request& request, Response& response, Answer answer) {
    auto* const call = new Call(*this);
    absl::Status status = Admit(request.ByteSizeLong());
    if (status.ok()) status = answer(*service_);
    if (status.ok()) status = CheckAnswer(response.ByteSizeLong());
    call->Finish(ToGrpc(status));
    return call;
  }

  void Close() { closed_ = true; }

 private:
  class Call final : public grpc::ServerUnaryReactor {
   public:
    explicit Call(Desk& desk) : desk_(desk) { ++desk_.calls_; }
    void OnDone() override {
      --desk_.calls_;
      delete this;
    }

   private:
    Desk& desk_;
  };

  absl::Status Admit(size_t bytes) const {
    if (closed_) return absl::UnavailableError("metadata is no longer served here");
    if (calls_ > limits_.max_concurrent) {
      return absl::ResourceExhaustedError(
          absl::StrCat("more than ", limits_.max_concurrent, " calls at once"));
    }
    if (bytes > limits_.max_request_bytes) {
      return absl::ResourceExhaustedError(absl::StrCat("a request of ", bytes, " bytes, at most ",
                                                       limits_.max_request_bytes, " are read"));
    }
    return absl::OkStatus();
  }

  absl::Status CheckAnswer(size_t bytes) const {
    if (bytes <= limits_.max_answer_bytes) return absl::OkStatus();
    return absl::ResourceExhaustedError(absl::StrCat("an answer of ", bytes, " bytes, at most ",
                                                     limits_.max_answer_bytes, " are sent"));
  }

  const std::shared_ptr<const MetadataService> service_;
  const TripleMetadataLimits limits_;
  std::atomic<size_t> calls_{0};
  std::atomic<bool> closed_{false};
};

class V2 final : public wire::MetadataServiceV2::CallbackService {
 public:
  explicit V2(Desk& desk) : desk_(desk) {}

  grpc::ServerUnaryReactor* GetMetadataInfo(grpc::CallbackServerContext*,
                                            const wire::MetadataRequest* request,
                                            wire::MetadataInfoV2* response) override {
    return desk_.Take(*request, *response, [&](const MetadataService& service) {
      const auto info = service.GetMetadataInfo(request->revision());
      if (info.ok()) *response = metadata_triple_internal::ToWire(**info);
      return info.status();
    });
  }
  grpc::ServerUnaryReactor* getMetadataInfo(grpc::CallbackServerContext* context,
                                            const wire::MetadataRequest* request,
                                            wire::MetadataInfoV2* response) override {
    return GetMetadataInfo(context, request, response);
  }

 private:
  Desk& desk_;
};

class V1 final : public wire::MetadataService::CallbackService {
 public:
  explicit V1(Desk& desk) : desk_(desk) {}

  using Reactor = grpc::ServerUnaryReactor;
  using Context = grpc::CallbackServerContext;
  using Request = TripleRequestWrapper;
  using Response = TripleResponseWrapper;

  Reactor* serviceName(Context*, const Request* request, Response* response) override {
    return Answer("serviceName", *request, *response);
  }
  Reactor* version(Context*, const Request* request, Response* response) override {
    return Answer("version", *request, *response);
  }
  Reactor* getMetadataInfo(Context*, const Request* request, Response* response) override {
    return Answer("getMetadataInfo", *request, *response);
  }
  Reactor* getMetadataInfos(Context*, const Request* request, Response* response) override {
    return Answer("getMetadataInfos", *request, *response);
  }
  Reactor* getExportedURLs(Context*, const Request* request, Response* response) override {
    return Answer("getExportedURLs", *request, *response);
  }
  Reactor* getExportedServiceURLs(Context*, const Request* request, Response* response) override {
    return Answer("getExportedServiceURLs", *request, *response);
  }
  Reactor* getSubscribedURLs(Context*, const Request* request, Response* response) override {
    return Answer("getSubscribedURLs", *request, *response);
  }

 private:
  Reactor* Answer(const char* method, const Request& request, Response& response) {
    return desk_.Take(request, response, [&](const MetadataService& service) {
      auto answer = metadata_triple_internal::AnswerWrapped(service, method, request);
      if (answer.ok()) response = *std::move(answer);
      return answer.status();
    });
  }

  Desk& desk_;
};

// The services and what they share; outlives the grpc::Server.
struct Services {
  Services(std::shared_ptr<const MetadataService> service, const TripleMetadataLimits& limits)
      : desk(std::move(service), limits) {}

  void AddTo(grpc::ServerBuilder& builder) {
    builder.RegisterService(&v2);
    builder.RegisterService(&v1);
  }

  Desk desk;
  V2 v2{desk};
  V1 v1{desk};
};

std::map<std::string, std::string> MetadataAt(uint16_t port) {
  // No more than is read: every instance node has it. The version and the serialization are for
  // Java consumers that know only the older service.
  Json params;
  params.Set("prefer.serialization", "hessian2");
  params.Set("version", "2.0.0");
  params.Set("port", absl::StrCat(port));
  params.Set("protocol", "tri");
  return {{std::string(kMetadataServiceParamsKey), params.Print()}, {"meta-v", "2.0.0"}};
}

class Server final : public MetadataServer {
 public:
  Server(std::unique_ptr<Services> services, std::unique_ptr<grpc::Server> server, uint16_t port)
      : services_(std::move(services)), server_(std::move(server)), port_(port) {}
  ~Server() override { Close(); }

  std::map<std::string, std::string> InstanceMetadata() const override { return MetadataAt(port_); }

  void Close() override {
    // gRPC has no say about a second time.
    if (closed_.exchange(true)) return;
    server_->Shutdown(absl::ToChronoTime(Clock::Real().WallNow() + kLastAnswers));
  }

 private:
  const std::unique_ptr<Services> services_;
  const std::unique_ptr<grpc::Server> server_;
  const uint16_t port_;
  std::atomic<bool> closed_{false};
};

class Added final : public AddedTripleMetadata {
 public:
  Added(grpc::ServerBuilder& builder, std::shared_ptr<const MetadataService> service,
        const TripleMetadataLimits& limits)
      : services_(std::move(service), limits) {
    services_.AddTo(builder);
  }

  void SetPort(uint16_t port) override { port_ = port; }

  std::map<std::string, std::string> InstanceMetadata() const override {
    const uint16_t port = port_;
    if (port == 0) return {};
    return MetadataAt(port);
  }

  void Close() override { services_.desk.Close(); }

 private:
  Services services_;
  std::atomic<uint16_t> port_{0};
};

}  // namespace

absl::StatusOr<std::unique_ptr<MetadataServer>> ServeTripleMetadata(
    std::shared_ptr<const MetadataService> service, const TripleMetadataOptions& options) {
  auto services = std::make_unique<Services>(std::move(service), options.limits);
  grpc::ServerBuilder builder;
  services->AddTo(builder);
  builder.SetMaxReceiveMessageSize(
      static_cast<int>(std::min<size_t>(options.limits.max_request_bytes, INT_MAX)));
  // None: a few compressed bytes could become any number.
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  // Else a second server of the same port would take half of the calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // Of one connection: a peer that does not read must not have them all.
  builder.AddChannelArgument(
      GRPC_ARG_MAX_CONCURRENT_STREAMS,
      static_cast<int>(std::clamp<size_t>(options.limits.max_concurrent / 4, 1, INT_MAX)));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, Milliseconds(options.idle_timeout));
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             Milliseconds(std::min(kHandshake, options.idle_timeout)));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, Milliseconds(kConnectionAge));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, Milliseconds(kConnectionGrace));
  const std::string address =
      JoinHostPort(options.host.empty() ? "::" : options.host, options.port);
  int port = 0;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  auto server = builder.BuildAndStart();
  if (server == nullptr || port < 1 || port > 65535) {
    return absl::FailedPreconditionError(
        absl::StrCat("metadata service ", address, ": cannot listen"));
  }
  return std::unique_ptr<MetadataServer>(std::make_unique<Server>(
      std::move(services), std::move(server), static_cast<uint16_t>(port)));
}

std::unique_ptr<AddedTripleMetadata> AddTripleMetadata(
    grpc::ServerBuilder& builder, std::shared_ptr<const MetadataService> service,
    const TripleMetadataLimits& limits) {
  return std::make_unique<Added>(builder, std::move(service), limits);
}

}  // namespace signpost

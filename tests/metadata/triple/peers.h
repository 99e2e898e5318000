// What the tests of this folder ask and serve.
#ifndef SIGNPOST_TESTS_METADATA_TRIPLE_PEERS_H_
#define SIGNPOST_TESTS_METADATA_TRIPLE_PEERS_H_

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include "signpost/common/clock.h"
#include "signpost/common/mutex.h"
#include "signpost/metadata/published_metadata.h"
#include "signpost/metadata/triple/metadata_info_v2.h"
#include "signpost/metadata/triple/metadata_service_v1.grpc.pb.h"
#include "signpost/metadata/triple/metadata_service_v2.grpc.pb.h"
#include "signpost/metadata/triple/wrapped_call.h"

namespace signpost {

inline MetadataInfo SampleInfo(const std::string& revision = "r1") {
  MetadataInfo info;
  info.app = "shop";
  info.revision = revision;
  ServiceInfo service;
  service.name = service.path = "a.A";
  service.protocol = "tri";
  service.port = 50051;
  service.params = {{"methods", "echo"}};
  info.services[service.match_key()] = service;
  return info;
}

inline std::shared_ptr<PublishedMetadata> Publish(MetadataInfo info = SampleInfo()) {
  auto published = std::make_shared<PublishedMetadata>("shop", Clock::Real());
  published->Publish(std::move(info), {});
  return published;
}

// Any gRPC services on a port of the loopback; what it has not is UNIMPLEMENTED.
class GrpcPeer {
 public:
  explicit GrpcPeer(std::initializer_list<grpc::Service*> services) {
    grpc::ServerBuilder builder;
    builder.RegisterCallbackGenericService(&others_);
    for (grpc::Service* service : services) builder.RegisterService(service);
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    server_ = builder.BuildAndStart();
  }
  ~GrpcPeer() {
    if (server_ != nullptr) server_->Shutdown(absl::ToChronoTime(Clock::Real().WallNow()));
  }
  uint16_t port() const { return static_cast<uint16_t>(port_); }

 private:
  grpc::CallbackGenericService others_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// What a peer was told in the headers.
struct TripleHeaders {
  void Take(const grpc::CallbackServerContext& context) {
    MutexLock lock(mutex);
    ++calls;
    for (const auto& [name, value] : context.client_metadata()) {
      const std::string text(value.data(), value.size());
      if (name == "tri-service-group") group = text;
      if (name == "tri-service-version") version = text;
    }
  }
  Mutex mutex;
  int calls = 0;
  std::string group;
  std::string version;
};

// A peer that has only V2, and answers as it is told.
class OnlyV2 final : public org::apache::dubbo::metadata::MetadataServiceV2::CallbackService {
 public:
  grpc::ServerUnaryReactor* GetMetadataInfo(
      grpc::CallbackServerContext* context,
      const org::apache::dubbo::metadata::MetadataRequest* request,
      org::apache::dubbo::metadata::MetadataInfoV2* response) override {
    headers.Take(*context);
    MetadataInfo info = answer;
    if (info.revision.empty()) info.revision = request->revision();
    *response = metadata_triple_internal::ToWire(info);
    auto* const reactor = context->DefaultReactor();
    reactor->Finish(status);
    return reactor;
  }
  TripleHeaders headers;
  MetadataInfo answer = SampleInfo();
  grpc::Status status;
};

// A peer as Java 3.1: it has only V1.
class OnlyV1 final : public org::apache::dubbo::metadata::MetadataService::CallbackService {
 public:
  grpc::ServerUnaryReactor* getMetadataInfo(
      grpc::CallbackServerContext* context,
      const org::apache::dubbo::triple::TripleRequestWrapper* request,
      org::apache::dubbo::triple::TripleResponseWrapper* response) override {
    headers.Take(*context);
    auto answer = metadata_triple_internal::AnswerWrapped(*published, "getMetadataInfo", *request);
    auto* const reactor = context->DefaultReactor();
    if (answer.ok()) {
      *response = *std::move(answer);
      reactor->Finish(grpc::Status::OK);
    } else {
      reactor->Finish({static_cast<grpc::StatusCode>(answer.status().code()), "no"});
    }
    return reactor;
  }
  TripleHeaders headers;
  std::shared_ptr<PublishedMetadata> published = Publish();
};

}  // namespace signpost

#endif  // SIGNPOST_TESTS_METADATA_TRIPLE_PEERS_H_

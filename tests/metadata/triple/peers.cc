#include "tests/metadata/triple/peers.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <utility>

#include "signpost/common/clock.h"
#include "signpost/metadata/triple/metadata_info_v2.h"
#include "signpost/metadata/triple/wrapped_call.h"

namespace signpost {

MetadataInfo SampleInfo(const std::string& revision) {
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

std::shared_ptr<PublishedMetadata> Publish(MetadataInfo info) {
  auto published = std::make_shared<PublishedMetadata>("shop", Clock::Real());
  published->Publish(std::move(info), {});
  return published;
}

GrpcPeer::GrpcPeer(std::initializer_list<grpc::Service*> services) {
  grpc::ServerBuilder builder;
  builder.RegisterCallbackGenericService(&others_);
  for (grpc::Service* service : services) builder.RegisterService(service);
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
  server_ = builder.BuildAndStart();
}

GrpcPeer::~GrpcPeer() {
  if (server_ != nullptr) server_->Shutdown(absl::ToChronoTime(Clock::Real().WallNow()));
}

void TripleHeaders::Take(const grpc::CallbackServerContext& context) {
  MutexLock lock(mutex);
  ++calls;
  for (const auto& [name, value] : context.client_metadata()) {
    const std::string text(value.data(), value.size());
    if (name == "tri-service-group") group = text;
    if (name == "tri-service-version") version = text;
  }
}

grpc::ServerUnaryReactor* OnlyV2::GetMetadataInfo(
    grpc::CallbackServerContext* context,
    const org::apache::dubbo::metadata::MetadataRequest* request,
    org::apache::dubbo::metadata::MetadataInfoV2* response) {
  headers.Take(*context);
  MetadataInfo info = answer;
  if (info.revision.empty()) info.revision = request->revision();
  *response = metadata_triple_internal::ToWire(info);
  auto* const reactor = context->DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

grpc::ServerUnaryReactor* OnlyV1::getMetadataInfo(
    grpc::CallbackServerContext* context,
    const org::apache::dubbo::triple::TripleRequestWrapper* request,
    org::apache::dubbo::triple::TripleResponseWrapper* response) {
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

}  // namespace signpost

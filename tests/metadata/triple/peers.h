// What the tests of this folder ask and serve.
#ifndef SIGNPOST_TESTS_METADATA_TRIPLE_PEERS_H_
#define SIGNPOST_TESTS_METADATA_TRIPLE_PEERS_H_

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>
#include <grpcpp/support/status.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>

#include "signpost/common/mutex.h"
#include "signpost/metadata/metadata_info.h"
#include "signpost/metadata/published_metadata.h"
#include "signpost/metadata/triple/metadata_service_v1.grpc.pb.h"
#include "signpost/metadata/triple/metadata_service_v2.grpc.pb.h"

namespace signpost {

// One service of the application `shop`.
MetadataInfo SampleInfo(const std::string& revision = "r1");
std::shared_ptr<PublishedMetadata> Publish(MetadataInfo info = SampleInfo());

// Any gRPC services on a port of the loopback; what it has not is UNIMPLEMENTED.
class GrpcPeer {
 public:
  explicit GrpcPeer(std::initializer_list<grpc::Service*> services);
  ~GrpcPeer();
  uint16_t port() const { return static_cast<uint16_t>(port_); }

 private:
  grpc::CallbackGenericService others_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// What a peer was told in the headers. Read when the calls have ended.
struct TripleHeaders {
  void Take(const grpc::CallbackServerContext& context);

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
      org::apache::dubbo::metadata::MetadataInfoV2* response) override;

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
      org::apache::dubbo::triple::TripleResponseWrapper* response) override;

  TripleHeaders headers;
  const std::shared_ptr<PublishedMetadata> published = Publish();
};

}  // namespace signpost

#endif  // SIGNPOST_TESTS_METADATA_TRIPLE_PEERS_H_

// MetadataService over Triple on a gRPC server that the process has already, beside its own
// services: no second port.
//
//   grpc::ServerBuilder builder;
//   auto metadata = AddTripleMetadata(builder, service);
//   ... builder.AddListeningPort("0.0.0.0:50051", credentials, &port) ... BuildAndStart()
//   metadata->SetPort(port);
//
// In a process that has a Client the service is the Client's: make the server where the Client asks
// for it, and end the server before the Client.
//
//   MetadataProtocol metadata = TripleMetadata();  // client/plugins/triple_metadata.h
//   metadata.server = [&](auto service, uint16_t) -> StatusOr<unique_ptr<MetadataServer>> {
//     ... as above, then
//     return metadata;
//   };
//
// The server must take plaintext HTTP/2 on that port; its own bounds of messages and connections
// hold. Nothing but metadata is answered: no reflection, no health.
//
// Threads: any. Calls are answered on gRPC's threads.
// Ownership: what is returned must outlive the grpc::Server.
// Errors: a builder takes it once; a second time its BuildAndStart gives null.
#ifndef SIGNPOST_METADATA_TRIPLE_ADD_TRIPLE_METADATA_H_
#define SIGNPOST_METADATA_TRIPLE_ADD_TRIPLE_METADATA_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "signpost/metadata/metadata_service.h"
#include "signpost/metadata/triple/triple_metadata.h"

namespace grpc {
class ServerBuilder;
}  // namespace grpc

namespace signpost {

class AddedTripleMetadata : public MetadataServer {
 public:
  // Where consumers reach the server, from the host of the instance.
  virtual void SetPort(uint16_t port) = 0;
  // Empty until the port is set: a client asks for it when it is created.
  std::map<std::string, std::string> InstanceMetadata() const override = 0;
  // From now on calls are answered with UNAVAILABLE; the server goes on.
  void Close() override = 0;
};

std::unique_ptr<AddedTripleMetadata> AddTripleMetadata(
    grpc::ServerBuilder& builder, std::shared_ptr<const MetadataService> service,
    const TripleMetadataLimits& limits = TripleMetadataLimits());

}  // namespace signpost

#endif  // SIGNPOST_METADATA_TRIPLE_ADD_TRIPLE_METADATA_H_

#include <utility>

#include "absl/strings/str_cat.h"
#include "signpost/common/json.h"
#include "signpost/common/status.h"
#include "signpost/common/thrift/thrift_server.h"
#include "signpost/metadata/service_params.h"
#include "signpost/metadata/thrift/MetadataService.h"
#include "signpost/metadata/thrift/thrift_metadata.h"
#include "signpost/metadata/thrift/wire.h"

namespace signpost {
namespace {

// A part of the 10 s that the end of a client may take.
constexpr absl::Duration kLastAnswers = absl::Seconds(1);

class Handler final : public metadata_wire::MetadataServiceIf {
 public:
  explicit Handler(std::shared_ptr<const MetadataService> service) : service_(std::move(service)) {}

  void version(std::string& result) override { result = "1.0.0"; }
  void getExportedURLs(std::vector<std::string>& result, const std::string& interface_name,
                       const std::string& group, const std::string& version,
                       const std::string& protocol) override {
    result = service_->ExportedUrls({interface_name, group, version, protocol});
  }
  void getSubscribedURLs(std::vector<std::string>& result) override {
    result = service_->SubscribedUrls();
  }
  void getMetadataInfo(metadata_wire::MetadataInfo& result, const std::string& revision) override {
    auto info = service_->GetMetadataInfo(revision);
    if (!info.ok()) {
      metadata_wire::UnknownRevision unknown;
      unknown.message = std::string(info.status().message());
      throw unknown;
    }
    result = metadata_thrift_internal::ToWire(**info);
  }
  void getMetadataInfos(std::vector<metadata_wire::MetadataInfo>& result) override {
    for (const auto& info : service_->MetadataInfos()) {
      result.push_back(metadata_thrift_internal::ToWire(*info));
    }
  }

 private:
  const std::shared_ptr<const MetadataService> service_;
};

class Server final : public MetadataServer {
 public:
  explicit Server(std::unique_ptr<ThriftServer> server) : server_(std::move(server)) {}

  std::map<std::string, std::string> InstanceMetadata() const override {
    // No more than is read: every instance node has it.
    Json params;
    params.Set("port", absl::StrCat(server_->port()));
    params.Set("protocol", "thrift");
    return {{std::string(kMetadataServiceParamsKey), params.Print()}};
  }

  void Close() override { server_->Stop(kLastAnswers); }

 private:
  const std::unique_ptr<ThriftServer> server_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<MetadataServer>> ServeThriftMetadata(
    std::shared_ptr<const MetadataService> service, const ThriftMetadataOptions& options) {
  ThriftServerOptions bounds;
  bounds.host = options.host;
  bounds.port = options.port;
  bounds.idle_timeout = options.idle_timeout;
  bounds.max_connections = options.max_connections;
  bounds.max_frame_bytes = options.max_frame_bytes;
  auto server = ThriftServer::Start(std::make_shared<metadata_wire::MetadataServiceProcessor>(
                                        std::make_shared<Handler>(std::move(service))),
                                    bounds);
  if (!server.ok()) return Annotate(server.status(), "metadata service");
  return std::unique_ptr<MetadataServer>(std::make_unique<Server>(*std::move(server)));
}

}  // namespace signpost

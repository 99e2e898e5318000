#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/server/TThreadedServer.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TServerSocket.h>

#include <thread>
#include <utility>

#include "signpost/metadata/thrift/MetadataService.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/json.h"
#include "signpost/common/log.h"
#include "signpost/common/mutex.h"
#include "signpost/metadata/thrift/thrift_metadata.h"
#include "signpost/metadata/thrift/wire.h"

namespace signpost {
namespace {

using apache::thrift::TConfiguration;
using apache::thrift::TException;
using apache::thrift::protocol::TBinaryProtocolFactory;
using apache::thrift::server::TServerEventHandler;
using apache::thrift::server::TThreadedServer;
using apache::thrift::transport::TFramedTransport;
using apache::thrift::transport::TServerSocket;
using apache::thrift::transport::TTransport;
using apache::thrift::transport::TTransportFactory;

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

// Frames above a limit end their connection.
class BoundedFrames final : public TTransportFactory {
 public:
  explicit BoundedFrames(size_t limit)
      : config_(
            std::make_shared<TConfiguration>(static_cast<int>(limit), static_cast<int>(limit))) {}
  std::shared_ptr<TTransport> getTransport(std::shared_ptr<TTransport> inner) override {
    return std::make_shared<TFramedTransport>(std::move(inner), config_);
  }

 private:
  const std::shared_ptr<TConfiguration> config_;
};

// Tells when the server listens.
class Listening final : public TServerEventHandler {
 public:
  void preServe() override { Set(); }
  void Set() {
    MutexLock lock(mutex_);
    done_ = true;
    changed_.SignalAll();
  }
  void Wait() {
    MutexLock lock(mutex_);
    while (!done_) changed_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
};

class Server final : public MetadataServer {
 public:
  Server(std::shared_ptr<const MetadataService> service, const ThriftMetadataOptions& options)
      : socket_(options.host.empty() ? std::make_shared<TServerSocket>(options.port)
                                     : std::make_shared<TServerSocket>(options.host, options.port)),
        listening_(std::make_shared<Listening>()),
        server_(std::make_shared<metadata_wire::MetadataServiceProcessor>(
                    std::make_shared<Handler>(std::move(service))),
                socket_, std::make_shared<BoundedFrames>(options.max_frame_bytes),
                std::make_shared<TBinaryProtocolFactory>()) {
    socket_->setRecvTimeout(static_cast<int>(absl::ToInt64Milliseconds(options.idle)));
    socket_->setSendTimeout(static_cast<int>(absl::ToInt64Milliseconds(options.idle)));
    server_.setConcurrentClientLimit(static_cast<int64_t>(options.max_connections));
    server_.setServerEventHandler(listening_);
  }
  ~Server() override { Close(); }

  absl::Status Start() {
    thread_ = std::thread([this] {
      try {
        server_.serve();
      } catch (const TException& error) {
        failure_ = error.what();
      }
      listening_->Set();
    });
    listening_->Wait();
    port_ = socket_->getPort();
    if (port_ > 0) return absl::OkStatus();
    thread_.join();
    return absl::UnavailableError(absl::StrCat("metadata service: cannot listen: ", failure_));
  }

  std::map<std::string, std::string> InstanceMetadata() const override {
    Json params;
    params.Set("version", "1.0.0");
    params.Set("dubbo", "2.0.2");
    params.Set("port", absl::StrCat(port_));
    params.Set("protocol", "thrift");
    return {{"dubbo.metadata-service.url-params", params.Print()}, {"meta-v", "1.0.0"}};
  }

  void Close() override {
    if (!thread_.joinable()) return;
    server_.stop();
    thread_.join();
  }

 private:
  const std::shared_ptr<TServerSocket> socket_;
  const std::shared_ptr<Listening> listening_;
  TThreadedServer server_;
  std::thread thread_;
  std::string failure_;  // of the thread until listening_
  int port_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<MetadataServer>> ServeThriftMetadata(
    std::shared_ptr<const MetadataService> service, const ThriftMetadataOptions& options) {
  auto server = std::make_unique<Server>(std::move(service), options);
  if (absl::Status status = server->Start(); !status.ok()) return status;
  return std::unique_ptr<MetadataServer>(std::move(server));
}

}  // namespace signpost

#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TSocket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "signpost/metadata/thrift/MetadataService.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/clock.h"
#include "signpost/common/json.h"
#include "signpost/common/url.h"
#include "signpost/metadata/thrift/thrift_metadata.h"
#include "signpost/metadata/thrift/wire.h"

namespace signpost {
namespace {

using apache::thrift::TConfiguration;
using apache::thrift::TException;
using apache::thrift::protocol::TBinaryProtocol;
using apache::thrift::transport::TFramedTransport;
using apache::thrift::transport::TSocket;
using apache::thrift::transport::TTransportException;

constexpr int kMaxAnswer = 4 << 20;
constexpr size_t kWorkers = 4;

// The port of its Thrift MetadataService; 0: it has none.
uint16_t PortOf(const ServiceInstance& instance) {
  const auto found = instance.metadata.find("dubbo.metadata-service.url-params");
  if (found == instance.metadata.end()) return 0;
  const auto params = Json::Parse(found->second);
  if (!params.ok() || (*params)["protocol"].AsString() != "thrift") return 0;
  int32_t port = 0;
  if (!absl::SimpleAtoi((*params)["port"].AsText(), &port) || port < 1 || port > 65535) return 0;
  return static_cast<uint16_t>(port);
}

absl::StatusOr<MetadataInfo> Ask(const std::string& host, uint16_t port,
                                 const std::string& revision, absl::Duration timeout) {
  const std::string where = absl::StrCat("metadata service ", JoinHostPort(host, port));
  const int milliseconds =
      static_cast<int>(std::max<int64_t>(1, absl::ToInt64Milliseconds(timeout)));
  try {
    auto config = std::make_shared<TConfiguration>(kMaxAnswer, kMaxAnswer);
    auto socket = std::make_shared<TSocket>(host, port, config);
    socket->setConnTimeout(milliseconds);
    socket->setRecvTimeout(milliseconds);
    socket->setSendTimeout(milliseconds);
    auto transport = std::make_shared<TFramedTransport>(socket, config);
    metadata_wire::MetadataServiceClient client(std::make_shared<TBinaryProtocol>(transport));
    transport->open();
    metadata_wire::MetadataInfo wire;
    client.getMetadataInfo(wire, revision);
    transport->close();
    return metadata_thrift_internal::FromWire(wire);
  } catch (const metadata_wire::UnknownRevision& unknown) {
    return absl::NotFoundError(absl::StrCat(where, ": ", unknown.message));
  } catch (const TTransportException& error) {
    const bool late = error.getType() == TTransportException::TIMED_OUT;
    return late ? absl::DeadlineExceededError(absl::StrCat(where, ": no answer in time"))
                : absl::UnavailableError(absl::StrCat(where, ": ", error.what()));
  } catch (const TException& error) {
    return absl::UnavailableError(absl::StrCat(where, ": ", error.what()));
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat(where, ": ", error.what()));
  }
}

class Fetcher final : public MetadataFetcher {
 public:
  explicit Fetcher(Executor& executor) : executor_(executor) {
    for (auto& worker : workers_) worker = NewSerialExecutor("metadata-ask", executor.clock());
  }

  bool Speaks(const ServiceInstance& instance) const override {
    return instance.storage_type() == "local" && PortOf(instance) != 0;
  }

  void Fetch(const ServiceInstance& instance, const std::string& revision,
             const CallOptions& options, FetchCallback done) override {
    // What waits for a worker loses its time while it waits.
    workers_[next_++ % kWorkers]->Post(
        [&executor = executor_, host = instance.host, port = PortOf(instance), revision,
         deadline = Deadline(executor_.clock(), options), done = std::move(done)]() mutable {
          const CallOptions left = deadline.Left();
          absl::StatusOr<MetadataInfo> answer = absl::CancelledError("given up");
          if (!left.cancel.cancelled()) answer = Ask(host, port, revision, left.timeout);
          executor.Post([done = std::move(done), answer = std::move(answer)]() mutable {
            std::move(done)(std::move(answer));
          });
        });
  }

 private:
  Executor& executor_;
  std::array<std::shared_ptr<Executor>, kWorkers> workers_;
  std::atomic<size_t> next_{0};
};

}  // namespace

std::unique_ptr<MetadataFetcher> NewThriftMetadataFetcher(Executor& executor) {
  return std::make_unique<Fetcher>(executor);
}

}  // namespace signpost

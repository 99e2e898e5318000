#include <thrift/transport/TTransportException.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/clock.h"
#include "signpost/common/json.h"
#include "signpost/common/mutex.h"
#include "signpost/common/status.h"
#include "signpost/common/thrift/channel.h"
#include "signpost/common/url.h"
#include "signpost/metadata/thrift/MetadataService.h"
#include "signpost/metadata/thrift/thrift_metadata.h"
#include "signpost/metadata/thrift/wire.h"

namespace signpost {
namespace {

using apache::thrift::transport::TTransportException;

constexpr size_t kMaxAnswer = 4 << 20;
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

// What the channels of a fetcher share, so that they end with it.
class Channels {
 public:
  void Add(ThriftChannel* channel) {
    MutexLock lock(mutex_);
    open_.push_back(channel);
    if (stop_) channel->Interrupt();
  }
  void Remove(ThriftChannel* channel) {
    MutexLock lock(mutex_);
    open_.erase(std::find(open_.begin(), open_.end(), channel));
  }
  void Stop() {
    MutexLock lock(mutex_);
    stop_ = true;
    for (ThriftChannel* channel : open_) channel->Interrupt();
  }
  const std::atomic<bool>& stop() const { return stop_; }

 private:
  Mutex mutex_;
  std::vector<ThriftChannel*> open_ ABSL_GUARDED_BY(mutex_);
  std::atomic<bool> stop_{false};
};

absl::StatusOr<MetadataInfo> Ask(ThriftChannel& channel, const std::string& where,
                                 const std::string& revision) {
  try {
    metadata_wire::MetadataServiceClient client(channel.protocol());
    metadata_wire::MetadataInfo wire;
    client.getMetadataInfo(wire, revision);
    return metadata_thrift_internal::FromWire(wire);
  } catch (const metadata_wire::UnknownRevision& unknown) {
    return absl::NotFoundError(absl::StrCat(where, ": ", unknown.message));
  } catch (const TTransportException& error) {
    const bool late = error.getType() == TTransportException::TIMED_OUT;
    return late ? absl::DeadlineExceededError(absl::StrCat(where, ": no answer in time"))
                : absl::UnavailableError(absl::StrCat(where, ": ", error.what()));
  } catch (const std::exception& error) {
    return absl::UnavailableError(absl::StrCat(where, ": ", error.what()));
  }
}

absl::StatusOr<MetadataInfo> Ask(Channels& channels, const std::string& host, uint16_t port,
                                 const std::string& revision, const Deadline& deadline) {
  auto left = [&] { return std::max(deadline.Left().timeout, absl::Milliseconds(1)); };
  auto channel = ThriftChannel::Connect(host, port, left(), kMaxAnswer, channels.stop());
  if (!channel.ok()) return Annotate(channel.status(), "metadata service");
  (*channel)->set_timeout(left());
  channels.Add(channel->get());
  auto info = Ask(**channel, absl::StrCat("metadata service ", JoinHostPort(host, port)), revision);
  channels.Remove(channel->get());
  return info;
}

class Fetcher final : public MetadataFetcher {
 public:
  explicit Fetcher(Executor& executor) : executor_(executor) {
    for (auto& worker : workers_) worker = NewSerialExecutor("metadata-ask", executor.clock());
  }
  // Does not wait for those that are asked.
  ~Fetcher() override { channels_->Stop(); }

  bool Speaks(const ServiceInstance& instance) const override {
    return instance.storage_type() == "local" && PortOf(instance) != 0;
  }

  void Fetch(const ServiceInstance& instance, const std::string& revision,
             const CallOptions& options, FetchCallback done) override {
    // What waits for a worker loses its time while it waits.
    workers_[next_++ % kWorkers]->Post([&executor = executor_, channels = channels_,
                                        host = instance.host, port = PortOf(instance), revision,
                                        deadline = Deadline(executor_.clock(), options),
                                        done = std::move(done)]() mutable {
      const CallOptions left = deadline.Left();
      absl::StatusOr<MetadataInfo> answer = absl::CancelledError("given up");
      if (!left.cancel.cancelled()) answer = Ask(*channels, host, port, revision, deadline);
      executor.Post([done = std::move(done), answer = std::move(answer)]() mutable {
        std::move(done)(std::move(answer));
      });
    });
  }

 private:
  Executor& executor_;
  const std::shared_ptr<Channels> channels_ = std::make_shared<Channels>();
  std::array<std::shared_ptr<Executor>, kWorkers> workers_;
  std::atomic<size_t> next_{0};
};

}  // namespace

std::unique_ptr<MetadataFetcher> NewThriftMetadataFetcher(Executor& executor) {
  return std::make_unique<Fetcher>(executor);
}

}  // namespace signpost

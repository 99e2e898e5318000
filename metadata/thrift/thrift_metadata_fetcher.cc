#include <thrift/transport/TTransportException.h>

#include <atomic>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "signpost/common/mutex.h"
#include "signpost/common/status.h"
#include "signpost/common/tcp.h"
#include "signpost/common/thrift/channel.h"
#include "signpost/common/url.h"
#include "signpost/metadata/ask_pool.h"
#include "signpost/metadata/service_params.h"
#include "signpost/metadata/thrift/MetadataService.h"
#include "signpost/metadata/thrift/thrift_metadata.h"
#include "signpost/metadata/thrift/wire.h"

namespace signpost {
namespace {

using apache::thrift::transport::TTransportException;
using metadata_internal::AskPool;

constexpr size_t kMaxAnswer = 4 << 20;

uint16_t PortOf(const ServiceInstance& instance) { return MetadataServicePort(instance, "thrift"); }

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

class ThriftQuestion final : public metadata_internal::Question {
 public:
  ThriftQuestion(std::string host, uint16_t port, std::string revision)
      : host_(std::move(host)),
        port_(port),
        revision_(std::move(revision)),
        looks_up_(!IsNumericHost(host_)) {}

  absl::StatusOr<MetadataInfo> Run(absl::Duration timeout) override {
    auto channel = ThriftChannel::Connect(host_, port_, timeout, kMaxAnswer, stop_);
    looks_up_ = false;
    if (!channel.ok()) return Annotate(channel.status(), "metadata service");
    Use(channel->get());
    auto info =
        Ask(**channel, absl::StrCat("metadata service ", JoinHostPort(host_, port_)), revision_);
    Use(nullptr);
    return info;
  }

  void Interrupt() override {
    MutexLock lock(mutex_);
    stop_ = true;
    if (channel_ != nullptr) channel_->Interrupt();
  }

  bool interruptible() const override { return !looks_up_; }

 private:
  void Use(ThriftChannel* channel) {
    MutexLock lock(mutex_);
    channel_ = channel;
    if (stop_ && channel_ != nullptr) channel_->Interrupt();
  }

  const std::string host_;
  const uint16_t port_;
  const std::string revision_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> looks_up_;  // until it is over: nothing ends a look-up of a name early
  Mutex mutex_;
  ThriftChannel* channel_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

class Fetcher final : public MetadataFetcher {
 public:
  explicit Fetcher(Executor& executor) : pool_(executor, AskPool::Options()) {}

  bool Speaks(const ServiceInstance& instance) const override {
    return instance.storage_type() == "local" && PortOf(instance) != 0;
  }

  void Fetch(const ServiceInstance& instance, const std::string& revision,
             const CallOptions& options, FetchCallback done) override {
    const uint16_t port = PortOf(instance);
    pool_.Ask(absl::StrCat("metadata service ", JoinHostPort(instance.host, port)),
              std::make_shared<ThriftQuestion>(instance.host, port, revision), options,
              std::move(done));
  }

 private:
  AskPool pool_;
};

}  // namespace

std::unique_ptr<MetadataFetcher> NewThriftMetadataFetcher(Executor& executor) {
  return std::make_unique<Fetcher>(executor);
}

}  // namespace signpost

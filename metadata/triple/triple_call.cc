#include "signpost/metadata/triple/triple_call.h"

#include <arpa/inet.h>
#include <grpc/grpc.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/status.h>

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/url.h"
#include "signpost/metadata/triple/metadata_info_v2.h"
#include "signpost/metadata/triple/metadata_service_v1.grpc.pb.h"
#include "signpost/metadata/triple/metadata_service_v2.grpc.pb.h"
#include "signpost/metadata/triple/wrapped_call.h"

namespace signpost::metadata_triple_internal {
namespace {

namespace wire = org::apache::dubbo::metadata;
using org::apache::dubbo::triple::TripleRequestWrapper;
using org::apache::dubbo::triple::TripleResponseWrapper;

// Of what a peer says.
constexpr size_t kMaxMessage = 500;

absl::Status FromGrpc(const grpc::Status& status) {
  const int code = status.error_code();
  std::string message = status.error_message().substr(0, kMaxMessage);
  if (code == grpc::StatusCode::CANCELLED) {
    return absl::UnavailableError(absl::StrCat("the call was cancelled: ", message));
  }
  if (code == grpc::StatusCode::DEADLINE_EXCEEDED) {
    return absl::DeadlineExceededError(absl::StrCat("no answer in time: ", message));
  }
  // Both number their codes alike; a peer may send any.
  if (code < 1 || code > 16) {
    return absl::UnknownError(absl::StrCat("gRPC status ", code, ": ", message));
  }
  return absl::Status(static_cast<absl::StatusCode>(code), message);
}

// gRPC ends the process for other bytes in a header.
bool IsHeader(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

bool IsNumeric(int family, const std::string& host) {
  in6_addr address;
  return inet_pton(family, host.c_str(), &address) == 1;
}

// What gRPC would read otherwise: `unix:...`, `xds:...`, and what stands behind a `%` or `/`.
bool IsHostName(const std::string& host) {
  return !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_';
  });
}

// Empty: `host` is none.
std::string AddressFor(const TripleTarget& target) {
  const std::string& host = target.host;
  if (IsNumeric(AF_INET, host)) return absl::StrCat("ipv4:", host, ":", target.port);
  if (IsNumeric(AF_INET6, host)) return absl::StrCat("ipv6:%5B", host, "%5D:", target.port);
  if (IsHostName(host)) return absl::StrCat("dns:///", host, ":", target.port);
  return "";
}

constexpr int kConnectMilliseconds = 2000;

std::shared_ptr<grpc::Channel> Connect(const TripleTarget& target) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxAnswerBytes);
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, JoinHostPort(target.host, target.port));
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  // A connection that is being made lives so long, whoever has given up waiting for it; else 20 s.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectMilliseconds);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kConnectMilliseconds);
  // None: a few compressed bytes could become any number.
  arguments.SetInt(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1);
  return grpc::CreateCustomChannel(AddressFor(target), grpc::InsecureChannelCredentials(),
                                   arguments);
}

// One call to one of the services. gRPC has it until it calls back.
struct Attempt {
  grpc::ClientContext context;
  Question::Done done;
  std::unique_ptr<wire::MetadataServiceV2::Stub> v2;
  wire::MetadataRequest v2_request;
  wire::MetadataInfoV2 v2_answer;
  std::unique_ptr<wire::MetadataService::Stub> v1;
  TripleRequestWrapper v1_request;
  TripleResponseWrapper v1_answer;
};

// gRPC gives the calls below threads of its own, and joins them with the last channel that had such
// a call. That may end where a call ends, on such a thread: it would join itself, and gRPC then
// ends the process. So one channel is kept for good. It connects to nobody.
struct KeptChannel {
  KeptChannel() {
    attempt.v1 = wire::MetadataService::NewStub(
        grpc::CreateCustomChannel("", nullptr, grpc::ChannelArguments()));
    attempt.v1->async()->getMetadataInfo(&attempt.context, &attempt.v1_request, &attempt.v1_answer,
                                         [](const grpc::Status&) {});
  }

  Attempt attempt;
};

class TripleCall final : public VersionedCall, public std::enable_shared_from_this<TripleCall> {
 public:
  explicit TripleCall(TripleTarget target) : target_(std::move(target)) {}

  void Start(ServiceVersion version, absl::Duration left, Question::Done done) override {
    if (absl::Status status = Check(); !status.ok()) {
      std::move(done)(std::move(status));
      return;
    }
    const auto attempt = std::make_shared<Attempt>();
    attempt->done = std::move(done);
    attempt->context.set_deadline(absl::ToChronoTime(Clock::Real().WallNow() + left));
    attempt->context.AddMetadata("tri-service-group", target_.app);
    attempt->context.AddMetadata("tri-service-version",
                                 version == ServiceVersion::kV2 ? "2.0.0" : "1.0.0");
    Use(attempt);
    static const auto* const kept = new KeptChannel();  // never freed
    (void)kept;
    if (channel_ == nullptr) channel_ = Connect(target_);
    // gRPC may call back before this returns, so there is no lock.
    const auto ended = [self = shared_from_this(), attempt, version](const grpc::Status& status) {
      self->End(version, attempt, status);
    };
    if (version == ServiceVersion::kV2) {
      attempt->v2 = wire::MetadataServiceV2::NewStub(channel_);
      attempt->v2_request.set_revision(target_.revision);
      attempt->v2->async()->GetMetadataInfo(&attempt->context, &attempt->v2_request,
                                            &attempt->v2_answer, ended);
    } else {
      attempt->v1 = wire::MetadataService::NewStub(channel_);
      attempt->v1_request = WrapRevision(target_.revision);
      attempt->v1->async()->getMetadataInfo(&attempt->context, &attempt->v1_request,
                                            &attempt->v1_answer, ended);
    }
  }

  void Cancel() override {
    std::shared_ptr<Attempt> attempt;
    {
      MutexLock lock(mutex_);
      cancelled_ = true;
      attempt = attempt_;
    }
    // Outlives this call, whoever is called back meanwhile.
    if (attempt != nullptr) attempt->context.TryCancel();
  }

 private:
  absl::Status Check() const {
    if (AddressFor(target_).empty()) return absl::InvalidArgumentError("no host name");
    if (!IsHeader(target_.app)) {
      return absl::InvalidArgumentError("the application's name cannot stand in a header");
    }
    if (!IsValidUtf8(target_.revision)) return absl::InvalidArgumentError("revision: not UTF-8");
    return absl::OkStatus();
  }

  // A call that is cancelled before it begins ends as soon as it has begun.
  void Use(const std::shared_ptr<Attempt>& attempt) {
    bool cancelled = false;
    {
      MutexLock lock(mutex_);
      attempt_ = attempt;
      cancelled = cancelled_;
    }
    if (cancelled) attempt->context.TryCancel();
  }

  void End(ServiceVersion version, const std::shared_ptr<Attempt>& attempt,
           const grpc::Status& status) {
    {
      MutexLock lock(mutex_);
      if (attempt_ == attempt) attempt_ = nullptr;
    }
    std::move(attempt->done)(Answer(version, *attempt, status));
  }

  static absl::StatusOr<MetadataInfo> Answer(ServiceVersion version, const Attempt& attempt,
                                             const grpc::Status& status) {
    if (!status.ok()) return FromGrpc(status);
    if (version == ServiceVersion::kV2) return FromWire(attempt.v2_answer);
    return UnwrapMetadataInfo(attempt.v1_answer);
  }

  const TripleTarget target_;
  std::shared_ptr<grpc::Channel> channel_;  // of Start, which is called once at a time
  Mutex mutex_;
  std::shared_ptr<Attempt> attempt_ ABSL_GUARDED_BY(mutex_);  // under way
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

std::shared_ptr<VersionedCall> NewTripleCall(TripleTarget target) {
  return std::make_shared<TripleCall>(std::move(target));
}

}  // namespace signpost::metadata_triple_internal

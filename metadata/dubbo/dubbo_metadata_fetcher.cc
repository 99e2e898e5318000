#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/clock.h"
#include "signpost/common/log.h"
#include "signpost/common/mutex.h"
#include "signpost/common/status.h"
#include "signpost/common/tcp.h"
#include "signpost/common/url.h"
#include "signpost/metadata/ask_pool.h"
#include "signpost/metadata/dubbo/dubbo_metadata.h"
#include "signpost/metadata/dubbo/frame.h"
#include "signpost/metadata/hessian2/metadata_service_v1.h"
#include "signpost/metadata/service_params.h"

namespace signpost {
namespace {

using hessian2::Kind;
using hessian2::Value;
using metadata_dubbo_internal::Answer;
using metadata_dubbo_internal::FirstFrame;
using metadata_dubbo_internal::Frame;
using metadata_dubbo_internal::Invocation;
using metadata_internal::AskPool;

// What was decoded takes more than its bytes: an answer has many short texts.
constexpr size_t kMaxAnswerMemory = 64 << 20;
// Of what a peer says went wrong: it may be a whole stack of calls.
constexpr size_t kMaxReason = 500;
// Each connection has one question.
constexpr uint64_t kQuestionId = 1;

uint16_t PortOf(const ServiceInstance& instance) { return MetadataServicePort(instance, "dubbo"); }

std::string Reason(absl::string_view text) { return OneLine(text.substr(0, kMaxReason)); }

// `java.lang.Exception: its message`.
std::string ExceptionText(const Value& exception) {
  for (const auto& [name, value] : exception.entries) {
    if (name->text == "detailMessage" && value->kind == Kind::kString) {
      return Reason(absl::StrCat(exception.type, ": ", value->text));
    }
  }
  return Reason(exception.type.empty() ? exception.text : exception.type);
}

absl::StatusOr<MetadataInfo> InfoOf(const Frame& response, const std::string& revision) {
  if (response.status != metadata_dubbo_internal::kOk) {
    const std::string text = metadata_dubbo_internal::DecodeErrorText(response.body);
    const std::string said =
        absl::StrCat("answered with status ", int{response.status}, ": ", Reason(text));
    // As our own server says it; Java and Go say null.
    const bool unknown = response.status == metadata_dubbo_internal::kServiceError &&
                         absl::StrContains(text, "does not know revision");
    return unknown ? absl::NotFoundError(said) : absl::UnavailableError(said);
  }
  if (response.serialization != metadata_dubbo_internal::kHessian2) {
    return absl::UnavailableError(
        absl::StrCat("answered in serialization ", int{response.serialization}, ", not hessian2"));
  }
  hessian2::DecodeLimits limits;
  limits.max_memory_bytes = kMaxAnswerMemory;
  const auto answer = metadata_dubbo_internal::DecodeAnswer(response.body, limits);
  if (!answer.ok()) {
    return absl::UnavailableError(absl::StrCat("no answer of Dubbo: ", answer.status().message()));
  }
  switch (answer->kind) {
    case Answer::Kind::kException:
      return absl::UnavailableError(
          absl::StrCat("answered with an exception: ", ExceptionText(*answer->value)));
    case Answer::Kind::kNull:
      return absl::NotFoundError(absl::StrCat("does not know revision ", revision));
    case Answer::Kind::kValue:
      break;
  }
  auto info = hessian2::MetadataInfoOf(*answer->value);
  if (info.ok()) return info;
  return absl::UnavailableError(absl::StrCat("no MetadataInfo: ", info.status().message()));
}

Invocation QuestionOf(const std::string& app, const std::string& revision, absl::Duration timeout) {
  Value argument;
  argument.kind = Kind::kString;
  argument.text = revision;
  Invocation invocation;
  invocation.path = hessian2::kMetadataServiceV1;
  invocation.version = hessian2::kMetadataServiceV1Version;
  invocation.method = "getMetadataInfo";
  invocation.parameter_types = "Ljava/lang/String;";
  invocation.arguments = {std::make_shared<const Value>(std::move(argument))};
  invocation.attachments = {{"path", hessian2::kMetadataServiceV1},
                            {"interface", hessian2::kMetadataServiceV1},
                            {"version", hessian2::kMetadataServiceV1Version},
                            {"group", app},
                            {"timeout", absl::StrCat(absl::ToInt64Milliseconds(timeout))}};
  return invocation;
}

// Puts the question, and reads until its answer comes: heartbeats, other events and answers to
// others are passed over.
absl::StatusOr<MetadataInfo> Ask(TcpConnection& connection, const std::string& app,
                                 const std::string& revision, absl::Duration deadline) {
  const absl::Duration left = deadline - Clock::Real().MonotonicNow();
  absl::Status sent = connection.Send(
      metadata_dubbo_internal::EncodeInvocation(kQuestionId, QuestionOf(app, revision, left)),
      deadline);
  if (!sent.ok()) return sent;
  std::string bytes;
  for (;;) {
    const auto frame = FirstFrame(bytes, metadata_dubbo_internal::kDubboPayloadBytes);
    if (!frame.ok()) return absl::UnavailableError(frame.status().message());
    if (!frame->has_value()) {
      const auto more = connection.Receive(bytes, deadline);
      if (!more.ok()) return more.status();
      if (!*more) return absl::UnavailableError("closed before an answer");
      continue;
    }
    const Frame& first = **frame;
    if (!first.request && !first.event && first.id == kQuestionId) return InfoOf(first, revision);
    // A flood of them does not outlast the deadline.
    if (Clock::Real().MonotonicNow() >= deadline) {
      return absl::DeadlineExceededError("no answer in time");
    }
    bytes.erase(0, first.bytes());
  }
}

class DubboQuestion final : public metadata_internal::Question {
 public:
  DubboQuestion(const ServiceInstance& instance, uint16_t port, std::string revision)
      : app_(instance.app),
        host_(instance.host),
        port_(port),
        revision_(std::move(revision)),
        looks_up_(!IsNumericHost(host_)) {}

  absl::StatusOr<MetadataInfo> Run(absl::Duration timeout) override {
    const absl::Duration deadline = Clock::Real().MonotonicNow() + timeout;
    auto connection = TcpConnection::Connect(host_, port_, timeout, stop_);
    looks_up_ = false;
    if (!connection.ok()) return Annotate(connection.status(), "metadata service");
    Use(connection->get());
    absl::StatusOr<MetadataInfo> info = absl::ResourceExhaustedError("no memory for the answer");
    try {
      info = Ask(**connection, app_, revision_, deadline);
    } catch (const std::exception&) {  // bad_alloc
    }
    Use(nullptr);
    if (info.ok()) return info;
    return Annotate(info.status(), absl::StrCat("metadata service ", JoinHostPort(host_, port_)));
  }

  void Interrupt() override {
    MutexLock lock(mutex_);
    stop_ = true;
    if (connection_ != nullptr) connection_->Interrupt();
  }

  bool interruptible() const override { return !looks_up_; }

 private:
  void Use(TcpConnection* connection) {
    MutexLock lock(mutex_);
    connection_ = connection;
    if (stop_ && connection_ != nullptr) connection_->Interrupt();
  }

  const std::string app_;
  const std::string host_;
  const uint16_t port_;
  const std::string revision_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> looks_up_;  // until it is over: nothing ends a look-up of a name early
  Mutex mutex_;
  TcpConnection* connection_ ABSL_GUARDED_BY(mutex_) = nullptr;
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
              std::make_shared<DubboQuestion>(instance, port, revision), options, std::move(done));
  }

 private:
  AskPool pool_;
};

}  // namespace

std::unique_ptr<MetadataFetcher> NewDubboMetadataFetcher(Executor& executor) {
  return std::make_unique<Fetcher>(executor);
}

}  // namespace signpost

#include "signpost/metadata/triple/negotiation.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/status.h"

namespace signpost::metadata_triple_internal {
namespace {

ServiceVersion Other(ServiceVersion version) {
  return version == ServiceVersion::kV2 ? ServiceVersion::kV1 : ServiceVersion::kV2;
}

const char* NameOf(ServiceVersion version) {
  return version == ServiceVersion::kV2 ? "MetadataServiceV2" : "MetadataService";
}

}  // namespace

std::optional<ServiceVersion> AnsweredVersions::Find(const std::string& address) const {
  MutexLock lock(mutex_);
  const auto found = versions_.find(address);
  if (found == versions_.end()) return std::nullopt;
  return found->second;
}

void AnsweredVersions::Remember(const std::string& address, ServiceVersion version) {
  MutexLock lock(mutex_);
  if (!versions_.insert_or_assign(address, version).second) return;
  order_.push_back(address);
  if (order_.size() <= max_) return;
  versions_.erase(order_.front());
  order_.pop_front();
}

size_t AnsweredVersions::size() const {
  MutexLock lock(mutex_);
  return versions_.size();
}

NegotiatedQuestion::NegotiatedQuestion(std::string address, ServiceVersion expected,
                                       std::shared_ptr<AnsweredVersions> answered,
                                       std::shared_ptr<VersionedCall> call, const Clock& clock)
    : address_(std::move(address)),
      expected_(expected),
      answered_(std::move(answered)),
      call_(std::move(call)),
      clock_(clock) {}

void NegotiatedQuestion::Start(absl::Duration left, Done done) {
  end_ = clock_.MonotonicNow() + left;
  AskFor(answered_->Find(address_).value_or(expected_), left, absl::OkStatus(), std::move(done));
}

void NegotiatedQuestion::Cancel() { call_->Cancel(); }

void NegotiatedQuestion::AskFor(ServiceVersion version, absl::Duration left, absl::Status before,
                                Done done) {
  call_->Start(version, left,
               [self = shared_from_this(), version, before = std::move(before),
                done = std::move(done)](absl::StatusOr<MetadataInfo> answer) mutable {
                 self->Take(version, before, std::move(answer), std::move(done));
               });
}

void NegotiatedQuestion::Take(ServiceVersion version, const absl::Status& before,
                              absl::StatusOr<MetadataInfo> answer, Done done) {
  if (answer.ok() || absl::IsNotFound(answer.status())) answered_->Remember(address_, version);
  if (answer.ok()) {
    std::move(done)(std::move(answer));
    return;
  }
  absl::Status status = Annotate(answer.status(), absl::StrCat(address_, ", ", NameOf(version)));
  if (!absl::IsUnimplemented(status)) {
    std::move(done)(std::move(status));
  } else if (!before.ok()) {
    std::move(done)(
        absl::UnimplementedError(absl::StrCat(before.message(), "; ", status.message())));
  } else if (const absl::Duration left = end_ - clock_.MonotonicNow();
             left > absl::ZeroDuration()) {
    AskFor(Other(version), left, std::move(status), std::move(done));
  } else {
    std::move(done)(absl::DeadlineExceededError(
        absl::StrCat(status.message(), "; no time is left for ", NameOf(Other(version)))));
  }
}

}  // namespace signpost::metadata_triple_internal

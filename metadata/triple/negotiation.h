// Which of the two metadata services an instance is asked, when its node does not tell or is wrong:
// the other one after UNIMPLEMENTED, within the same time. What an instance answered is remembered.
// Private to this folder, without gRPC.
//
// Threads: any.
#ifndef SIGNPOST_METADATA_TRIPLE_NEGOTIATION_H_
#define SIGNPOST_METADATA_TRIPLE_NEGOTIATION_H_

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "signpost/common/clock.h"
#include "signpost/common/mutex.h"
#include "signpost/metadata/triple/question_queue.h"

namespace signpost::metadata_triple_internal {

enum class ServiceVersion { kV1, kV2 };

// By address. The oldest are forgotten.
class AnsweredVersions {
 public:
  explicit AnsweredVersions(size_t max = 4096) : max_(max) {}

  std::optional<ServiceVersion> Find(const std::string& address) const;
  void Remember(const std::string& address, ServiceVersion version);
  size_t size() const;

 private:
  const size_t max_;
  mutable Mutex mutex_;
  std::map<std::string, ServiceVersion> versions_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::string> order_ ABSL_GUARDED_BY(mutex_);  // the oldest first
};

// Asks one instance for one revision, by one of the services at a time.
class VersionedCall {
 public:
  virtual ~VersionedCall() = default;
  // As Question's, for each Start. No call begins before the one before it has ended.
  virtual void Start(ServiceVersion version, absl::Duration left, Question::Done done) = 0;
  // Ends the call that is under way, and each that is begun later, soon.
  virtual void Cancel() = 0;
};

class NegotiatedQuestion final : public Question,
                                 public std::enable_shared_from_this<NegotiatedQuestion> {
 public:
  // `address` stands in errors. `expected`: asked first where nothing is remembered. `clock` is
  // never destroyed.
  NegotiatedQuestion(std::string address, ServiceVersion expected,
                     std::shared_ptr<AnsweredVersions> answered,
                     std::shared_ptr<VersionedCall> call, const Clock& clock = Clock::Real());

  void Start(absl::Duration left, Done done) override;
  void Cancel() override;

 private:
  // `before`: what the other service said; OK: it was not asked.
  void AskFor(ServiceVersion version, absl::Duration left, absl::Status before, Done done);
  void Take(ServiceVersion version, const absl::Status& before, absl::StatusOr<MetadataInfo> answer,
            Done done);

  const std::string address_;
  const ServiceVersion expected_;
  const std::shared_ptr<AnsweredVersions> answered_;
  const std::shared_ptr<VersionedCall> call_;
  const Clock& clock_;
  absl::Duration end_ = absl::ZeroDuration();  // set by Start
};

}  // namespace signpost::metadata_triple_internal

#endif  // SIGNPOST_METADATA_TRIPLE_NEGOTIATION_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "signpost/common/url.h"
#include "signpost/metadata/service_params.h"
#include "signpost/metadata/triple/negotiation.h"
#include "signpost/metadata/triple/question_queue.h"
#include "signpost/metadata/triple/triple_call.h"
#include "signpost/metadata/triple/triple_metadata.h"

namespace signpost {
namespace {

using metadata_triple_internal::AnsweredVersions;
using metadata_triple_internal::NegotiatedQuestion;
using metadata_triple_internal::NewTripleCall;
using metadata_triple_internal::QuestionQueue;
using metadata_triple_internal::ServiceVersion;

uint16_t PortOf(const ServiceInstance& instance) { return MetadataServicePort(instance, "tri"); }

// dubbo-go says version 1.0.0 in the parameters of its V2, so only this key counts.
ServiceVersion VersionOf(const ServiceInstance& instance) {
  const auto found = instance.metadata.find("meta-v");
  const bool v2 = found != instance.metadata.end() && found->second == "2.0.0";
  return v2 ? ServiceVersion::kV2 : ServiceVersion::kV1;
}

class Fetcher final : public MetadataFetcher {
 public:
  explicit Fetcher(Executor& executor) : queue_(executor, QuestionQueue::Options()) {}

  bool Speaks(const ServiceInstance& instance) const override {
    return instance.storage_type() == "local" && PortOf(instance) != 0;
  }

  void Fetch(const ServiceInstance& instance, const std::string& revision,
             const CallOptions& options, FetchCallback done) override {
    const uint16_t port = PortOf(instance);
    std::string address = absl::StrCat("metadata service ", JoinHostPort(instance.host, port));
    auto question = std::make_shared<NegotiatedQuestion>(
        address, VersionOf(instance), answered_,
        NewTripleCall({instance.host, port, instance.app, revision}));
    queue_.Ask(std::move(address), std::move(question), options, std::move(done));
  }

 private:
  const std::shared_ptr<AnsweredVersions> answered_ = std::make_shared<AnsweredVersions>();
  QuestionQueue queue_;
};

}  // namespace

std::unique_ptr<MetadataFetcher> NewTripleMetadataFetcher(Executor& executor) {
  return std::make_unique<Fetcher>(executor);
}

}  // namespace signpost

// A MetadataFetcher that answers per host what a test says.
#ifndef SIGNPOST_TESTS_SUPPORT_FAKE_FETCHER_H_
#define SIGNPOST_TESTS_SUPPORT_FAKE_FETCHER_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "signpost/common/executor.h"
#include "signpost/metadata/metadata_fetcher.h"

namespace signpost {

// What each host answers, and who was asked. Shared with the fetcher, which the resolver owns.
struct FakeHosts {
  std::map<std::string, absl::StatusOr<MetadataInfo>> answers;  // none: silence
  std::vector<std::string> asked;
  std::vector<CallOptions> options;
  std::vector<MetadataFetcher::FetchCallback> silent;
  bool inside_the_call = false;
};

// Speaks to instances with `meta-v`.
class FakeFetcher final : public MetadataFetcher {
 public:
  FakeFetcher(Executor& executor, FakeHosts& hosts) : executor_(executor), hosts_(hosts) {}

  bool Speaks(const ServiceInstance& instance) const override {
    return instance.metadata.count("meta-v") != 0;
  }
  void Fetch(const ServiceInstance& instance, const std::string&, const CallOptions& options,
             FetchCallback done) override {
    hosts_.asked.push_back(instance.host);
    hosts_.options.push_back(options);
    const auto it = hosts_.answers.find(instance.host);
    if (it == hosts_.answers.end()) {
      hosts_.silent.push_back(std::move(done));
      return;
    }
    if (hosts_.inside_the_call) {
      std::move(done)(it->second);
      return;
    }
    executor_.Post([done = std::move(done), answer = it->second]() mutable {
      std::move(done)(std::move(answer));
    });
  }

 private:
  Executor& executor_;
  FakeHosts& hosts_;
};

}  // namespace signpost

#endif  // SIGNPOST_TESTS_SUPPORT_FAKE_FETCHER_H_

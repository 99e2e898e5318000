// The MetadataService of this process: keeps what was published, and old revisions for consumers
// that are behind.
//
// As Dubbo Java does, at least the last 16 revisions are kept, and each for at least 10 minutes
// after another one took its place.
//
// Threads: any. Ownership: `clock` must outlive this.
#ifndef SIGNPOST_METADATA_PUBLISHED_METADATA_H_
#define SIGNPOST_METADATA_PUBLISHED_METADATA_H_

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "signpost/common/clock.h"
#include "signpost/common/mutex.h"
#include "signpost/common/url.h"
#include "signpost/metadata/metadata_service.h"

namespace signpost {

class PublishedMetadata final : public MetadataService {
 public:
  PublishedMetadata(std::string app, const Clock& clock);

  // `info` with its revision; from now on the newest. The same revision again only brings the URLs.
  void Publish(MetadataInfo info, std::vector<Url> exported);
  // What this process subscribes to; what is added twice must be removed twice.
  void AddSubscribed(const Url& consumer);
  void RemoveSubscribed(const Url& consumer);

  const std::string& app() const override { return app_; }
  std::vector<std::string> ExportedUrls(const ExportedFilter& filter) const override;
  std::vector<std::string> SubscribedUrls() const override;
  absl::StatusOr<std::shared_ptr<const MetadataInfo>> GetMetadataInfo(
      const std::string& revision) const override;
  std::vector<std::shared_ptr<const MetadataInfo>> MetadataInfos() const override;

 private:
  struct Entry {
    std::shared_ptr<const MetadataInfo> info;
    absl::Duration replaced = absl::InfiniteDuration();  // when another one took its place
  };

  const std::string app_;
  const Clock& clock_;
  mutable Mutex mutex_;
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // the newest last
  std::vector<Url> exported_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int> subscribed_ ABSL_GUARDED_BY(mutex_);  // full URL -> how often
};

}  // namespace signpost

#endif  // SIGNPOST_METADATA_PUBLISHED_METADATA_H_

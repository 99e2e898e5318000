#include "signpost/metadata/published_metadata.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "signpost/common/service_key.h"

namespace signpost {
namespace {

constexpr size_t kKept = 16;
constexpr absl::Duration kKeptFor = absl::Minutes(10);

bool Matches(const Url& url, const ExportedFilter& filter) {
  const ServiceKey key = ServiceKey::Of(url);
  const auto good = [](const std::string& wanted, absl::string_view is) {
    return wanted.empty() || wanted == is;
  };
  return (filter.interface_name == "*" || good(filter.interface_name, key.interface_name)) &&
         good(filter.group, key.group) && good(filter.version, key.version) &&
         good(filter.protocol, url.protocol());
}

std::vector<std::string> Sorted(std::vector<std::string> texts) {
  std::sort(texts.begin(), texts.end());
  return texts;
}

}  // namespace

PublishedMetadata::PublishedMetadata(std::string app, const Clock& clock)
    : app_(std::move(app)), clock_(clock) {}

void PublishedMetadata::Publish(MetadataInfo info, std::vector<Url> exported) {
  const absl::Duration now = clock_.MonotonicNow();
  MutexLock lock(mutex_);
  exported_ = std::move(exported);
  const auto same = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.info->revision == info.revision;
  });
  if (!entries_.empty()) entries_.back().replaced = now;
  Entry entry;
  if (same != entries_.end()) {
    entry.info = same->info;
    entries_.erase(same);
  } else {
    entry.info = std::make_shared<const MetadataInfo>(std::move(info));
  }
  entries_.push_back(std::move(entry));
  while (entries_.size() > kKept && now - entries_.front().replaced >= kKeptFor) {
    entries_.pop_front();
  }
}

void PublishedMetadata::AddSubscribed(const Url& consumer) {
  MutexLock lock(mutex_);
  ++subscribed_[consumer.ToFullString()];
}

void PublishedMetadata::RemoveSubscribed(const Url& consumer) {
  MutexLock lock(mutex_);
  auto it = subscribed_.find(consumer.ToFullString());
  if (it != subscribed_.end() && --it->second == 0) subscribed_.erase(it);
}

std::vector<std::string> PublishedMetadata::ExportedUrls(const ExportedFilter& filter) const {
  std::vector<std::string> texts;
  MutexLock lock(mutex_);
  for (const Url& url : exported_) {
    if (Matches(url, filter)) texts.push_back(url.ToFullString());
  }
  return Sorted(std::move(texts));
}

std::vector<std::string> PublishedMetadata::SubscribedUrls() const {
  std::vector<std::string> texts;
  MutexLock lock(mutex_);
  for (const auto& [url, times] : subscribed_) texts.push_back(url);
  return texts;
}

absl::StatusOr<std::shared_ptr<const MetadataInfo>> PublishedMetadata::GetMetadataInfo(
    const std::string& revision) const {
  MutexLock lock(mutex_);
  for (const Entry& entry : entries_) {
    if (entry.info->revision == revision) return entry.info;
  }
  return absl::NotFoundError(
      absl::StrCat("application ", app_, " does not know revision '", revision, "'"));
}

std::vector<std::shared_ptr<const MetadataInfo>> PublishedMetadata::MetadataInfos() const {
  std::vector<std::shared_ptr<const MetadataInfo>> infos;
  MutexLock lock(mutex_);
  for (const Entry& entry : entries_) infos.push_back(entry.info);
  return infos;
}

}  // namespace signpost

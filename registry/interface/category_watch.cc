#include "signpost/registry/interface/category_watch.h"

#include "absl/strings/str_cat.h"
#include "signpost/common/log.h"
#include "signpost/registry/interface/registered_url.h"

namespace signpost::interface_internal {

absl::StatusOr<Url> DecodeNodeName(const std::string& name) {
  absl::StatusOr<Url> url = Url::ParseEncoded(name);
  if (url.ok() && url->protocol().empty()) return absl::InvalidArgumentError("URL: no protocol");
  return url;
}

void CategoryWatch::Start() {
  subscription_ = store_.WatchTree(
      path_, guard_.Wrap([weak = weak_from_this()](absl::StatusOr<TreeDelta> delta) {
        if (auto self = weak.lock()) self->OnDelta(std::move(delta));
      }),
      TreeContent::kNames);
}

void CategoryWatch::OnDelta(absl::StatusOr<TreeDelta> delta) {
  Changes changes;
  if (delta.ok()) {
    known_ = true;
    error_ = absl::OkStatus();
    for (const std::string& name : delta->removed) {
      skipped_.erase(name);
      auto it = urls_.find(name);
      if (it == urls_.end()) continue;
      changes.removed.emplace_back(name, std::move(it->second));
      urls_.erase(it);
    }
    for (const StoreChild& child : delta->added) {
      if (urls_.count(child.name) != 0 || skipped_.count(child.name) != 0) continue;
      ++parsed_;
      absl::StatusOr<Url> url = DecodeNodeName(child.name);
      if (!url.ok()) {
        skipped_.insert(child.name);
        Log(LogLevel::kWarning, absl::StrCat(path_, "/", ShowNodeName(child.name),
                                             ": skipped: ", url.status().message()));
        continue;
      }
      urls_.emplace(child.name, *url);
      changes.added.emplace_back(child.name, *std::move(url));
    }
  } else {
    error_ = delta.status();
  }
  for (Listener* listener : listeners_) {
    if (guard_.closed()) return;
    listener->OnUrls(*this, changes);
  }
}

}  // namespace signpost::interface_internal

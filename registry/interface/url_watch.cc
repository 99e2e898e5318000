#include "signpost/registry/interface/url_watch.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "signpost/common/log.h"
#include "signpost/registry/interface/registered_url.h"
#include "signpost/registry/interface/url_match.h"

namespace signpost::interface_internal {
namespace {

// What else lies at the root.
bool IsReserved(absl::string_view name) {
  return name == "metadata" || name == "mapping" || name == "config";
}

Url WithInterface(const Url& consumer, const std::string& name) {
  Url::Parts parts = consumer.parts();
  parts.path = name;
  parts.parameters["interface"] = name;
  return Url(std::move(parts));
}

Url EmptyUrl(const Url& consumer, const std::string& category) {
  Url::Parts parts = consumer.parts();
  parts.protocol = "empty";
  parts.parameters["category"] = category;
  return Url(std::move(parts));
}

}  // namespace

UrlWatch::UrlWatch(InterfaceSubscriber& owner, const Url& consumer,
                   InterfaceRegistry::UrlsCallback on_urls)
    : owner_(owner),
      consumer_(consumer),
      categories_(CategoriesOf(consumer)),
      on_urls_(std::move(on_urls)) {}

void UrlWatch::Start() {
  const std::string name(consumer_.service_interface());
  if (name.empty() || categories_.empty()) {
    on_urls_(absl::InvalidArgumentError(
        absl::StrCat("consumer URL without interface or category: ", consumer_.ToString())));
    return;
  }
  if (name == "*") {
    root_ = owner_.store().WatchTree(
        owner_.root(),
        owner_.guard().Wrap([weak = weak_from_this()](absl::StatusOr<TreeDelta> delta) {
          if (auto self = weak.lock()) self->OnRoot(std::move(delta));
        }),
        TreeContent::kNames);
    return;
  }
  root_known_ = true;
  AddInterface(FormEncode(name), name);
  TellNew();
}

void UrlWatch::Stop() {
  stopped_ = true;
  root_.Cancel();
  by_watch_.clear();
  for (auto& [child, each] : std::exchange(interfaces_, {})) Release(each);
}

void UrlWatch::Release(Interface& each) {
  for (Category& category : each.categories) {
    category.watch->RemoveListener(this);
    const std::string path = category.watch->path();
    category.watch.reset();
    owner_.Release(path);
  }
}

void UrlWatch::OnRoot(absl::StatusOr<TreeDelta> delta) {
  if (stopped_) return;
  if (!delta.ok()) return on_urls_(delta.status());
  root_known_ = true;
  std::vector<Url> gone;
  for (const std::string& child : delta->removed) {
    skipped_.erase(child);
    RemoveInterface(child, gone);
  }
  for (const StoreChild& child : delta->added) {
    const std::optional<std::string> name = FormDecode(child.name);
    if (name.has_value()) {
      if (!IsReserved(*name)) AddInterface(child.name, *name);
    } else if (skipped_.insert(child.name).second) {
      Log(LogLevel::kWarning, absl::StrCat(owner_.root(), "/", ShowNodeName(child.name),
                                           ": skipped: not the name of an interface"));
    }
  }
  if (!gone.empty()) on_urls_(std::move(gone));
  TellNew();
}

void UrlWatch::AddInterface(const std::string& child, const std::string& name) {
  auto [it, is_new] = interfaces_.try_emplace(child);
  if (!is_new) return;
  Interface& added = it->second;
  added.child = child;
  added.consumer = WithInterface(consumer_, name);
  for (const std::string& category : categories_) {
    auto watch = owner_.WatchAt(absl::StrCat(owner_.root(), "/", child, "/", category));
    watch->AddListener(this);
    by_watch_[watch.get()] = &added;
    const bool heard = watch->known() || !watch->error().ok();
    if (!heard) ++added.unheard;
    added.categories.push_back({category, std::move(watch), heard, false});
  }
  unheard_ += added.unheard;
  CheckReady(added);
  // What others know already.
  for (Category& category : added.categories) {
    if (category.watch->error().ok()) continue;
    category.failed = true;
    on_urls_(category.watch->error());
  }
}

void UrlWatch::RemoveInterface(const std::string& child, std::vector<Url>& urls) {
  auto it = interfaces_.find(child);
  if (it == interfaces_.end()) return;
  Interface& removed = it->second;
  for (const Category& category : removed.categories) {
    by_watch_.erase(category.watch.get());
    // The folder may be gone before its own watch tells what was in it.
    const bool had = category.failed || HasMatch(removed.consumer, category);
    if (removed.told && had && !IsProtected(category)) {
      urls.push_back(EmptyUrl(removed.consumer, category.name));
    }
  }
  unheard_ -= removed.unheard;
  ready_.erase(child);
  Release(removed);
  interfaces_.erase(it);
}

void UrlWatch::CheckReady(const Interface& each) {
  if (each.told || each.unheard > 0) return;
  if (std::any_of(each.categories.begin(), each.categories.end(),
                  [](const Category& category) { return category.readable(); })) {
    ready_.insert(each.child);
  } else {
    ready_.erase(each.child);
  }
}

bool UrlWatch::HasMatch(const Url& consumer, const Category& category) {
  const auto& urls = category.watch->urls();
  return std::any_of(urls.begin(), urls.end(),
                     [&](const auto& each) { return MatchesUrl(consumer, each.second); });
}

bool UrlWatch::IsProtected(const Category& category) const {
  return owner_.empty_protection() && category.name == kProviders;
}

void UrlWatch::Append(const Url& consumer, const Category& category, std::vector<Url>& urls) const {
  const size_t before = urls.size();
  for (const auto& [name, url] : category.watch->urls()) {
    if (MatchesUrl(consumer, url)) urls.push_back(url);
  }
  if (urls.size() == before && !IsProtected(category)) {
    urls.push_back(EmptyUrl(consumer, category.name));
  }
}

void UrlWatch::TellNew() {
  if (!root_known_) return;
  if (ready_.empty() && (begun_ || !interfaces_.empty())) return;
  if (!begun_ && unheard_ > 0) return;
  begun_ = true;
  std::vector<Url> urls;
  for (const std::string& child : std::exchange(ready_, {})) {
    Interface& each = interfaces_.at(child);
    each.told = true;
    for (const Category& category : each.categories) {
      if (category.readable()) Append(each.consumer, category, urls);
    }
  }
  on_urls_(std::move(urls));
}

void UrlWatch::OnUrls(CategoryWatch& watch, const CategoryWatch::Changes& changes) {
  if (stopped_) return;
  Interface& changed = *by_watch_.at(&watch);
  auto it = std::find_if(changed.categories.begin(), changed.categories.end(),
                         [&](const Category& each) { return each.watch.get() == &watch; });
  if (!std::exchange(it->heard, true)) {
    --changed.unheard;
    --unheard_;
  }
  if (!changed.told) CheckReady(changed);
  if (!watch.error().ok()) {
    it->failed = true;
    on_urls_(watch.error());
    return TellNew();
  }
  const bool recovers = std::exchange(it->failed, false);
  if (!changed.told) return TellNew();
  const auto matches = [&](const auto& each) { return MatchesUrl(changed.consumer, each.second); };
  if (!recovers && std::none_of(changes.added.begin(), changes.added.end(), matches) &&
      std::none_of(changes.removed.begin(), changes.removed.end(), matches)) {
    return;
  }
  std::vector<Url> urls;
  Append(changed.consumer, *it, urls);
  if (!urls.empty()) on_urls_(std::move(urls));
}

}  // namespace signpost::interface_internal

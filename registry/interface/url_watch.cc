#include "signpost/registry/interface/url_watch.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
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
  AddInterface(name);
  TellNew();
}

void UrlWatch::Stop() {
  stopped_ = true;
  root_.Cancel();
  by_watch_.clear();
  for (auto& [name, each] : std::exchange(interfaces_, {})) {
    for (Category& category : each.categories) {
      category.watch->RemoveListener(this);
      const std::string path = category.watch->path();
      category.watch.reset();
      owner_.Release(path);
    }
  }
}

void UrlWatch::OnRoot(absl::StatusOr<TreeDelta> delta) {
  if (stopped_) return;
  if (!delta.ok()) return on_urls_(delta.status());
  root_known_ = true;
  for (const StoreChild& child : delta->added) {
    const std::optional<std::string> name = FormDecode(child.name);
    if (name.has_value() && !IsReserved(*name)) AddInterface(*name);
  }
  TellNew();
}

void UrlWatch::AddInterface(const std::string& name) {
  auto [it, is_new] = interfaces_.try_emplace(name);
  if (!is_new) return;
  Interface& added = it->second;
  added.consumer = WithInterface(consumer_, name);
  for (const std::string& category : categories_) {
    auto watch = owner_.WatchOf(name, category);
    watch->AddListener(this);
    by_watch_[watch.get()] = &added;
    added.categories.push_back({category, std::move(watch), false});
  }
  // What others know already.
  for (Category& category : added.categories) {
    if (category.watch->error().ok()) continue;
    category.failed = true;
    on_urls_(category.watch->error());
  }
}

bool UrlWatch::Known(const Interface& each) {
  return std::all_of(each.categories.begin(), each.categories.end(), [](const Category& category) {
    return category.watch->known() && category.watch->error().ok();
  });
}

void UrlWatch::Append(const Url& consumer, const Category& category, std::vector<Url>& urls) const {
  const size_t before = urls.size();
  for (const auto& [name, url] : category.watch->urls()) {
    if (MatchesUrl(consumer, url)) urls.push_back(url);
  }
  const bool is_protected = owner_.empty_protection() && category.name == kProviders;
  if (urls.size() == before && !is_protected) urls.push_back(EmptyUrl(consumer, category.name));
}

void UrlWatch::TellNew() {
  if (!root_known_) return;
  std::vector<Interface*> ready;
  for (auto& [name, each] : interfaces_) {
    if (each.told) continue;
    if (Known(each)) {
      ready.push_back(&each);
    } else if (!begun_) {
      return;
    }
  }
  if (begun_ && ready.empty()) return;
  begun_ = true;
  std::vector<Url> urls;
  for (Interface* each : ready) {
    each->told = true;
    for (const Category& category : each->categories) Append(each->consumer, category, urls);
  }
  on_urls_(std::move(urls));
}

void UrlWatch::OnUrls(CategoryWatch& watch, const CategoryWatch::Changes& changes) {
  if (stopped_) return;
  Interface& changed = *by_watch_.at(&watch);
  auto it = std::find_if(changed.categories.begin(), changed.categories.end(),
                         [&](const Category& each) { return each.watch.get() == &watch; });
  if (!watch.error().ok()) {
    it->failed = true;
    return on_urls_(watch.error());
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

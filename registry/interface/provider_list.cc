#include "signpost/registry/interface/provider_list.h"

#include "absl/strings/str_cat.h"
#include "signpost/common/log.h"
#include "signpost/registry/interface/registered_url.h"
#include "signpost/registry/interface/url_match.h"

namespace signpost::interface_internal {
namespace {

// What makes two nodes the same address of the same service.
std::string IdentityOf(const EndpointSpec& spec) {
  const EndpointService& service = *spec.service;
  return absl::StrCat(spec.host, "\n", spec.port, "\n", service.name, "\n", service.protocol, "\n",
                      service.path);
}

}  // namespace

ProviderList::ProviderList(InterfaceSubscriber& owner, const Url& consumer,
                           InterfaceSubscriber::NotifyFunction notify)
    : owner_(owner),
      consumer_(consumer.With("category", kProviders)),
      key_(ServiceKey::Of(consumer)),
      protocol_(consumer.Get("protocol")),
      notify_(std::move(notify)) {}

void ProviderList::Start() {
  if (key_.interface_name.empty() || key_.interface_name == "*") return Publish();
  watch_ = owner_.WatchOf(key_.interface_name, kProviders);
  watch_->AddListener(this);
  for (const auto& [name, url] : watch_->urls()) Add(name, url);
  Publish();
}

void ProviderList::Stop() {
  stopped_ = true;
  if (watch_ == nullptr) return;
  watch_->RemoveListener(this);
  const std::string path = watch_->path();
  watch_.reset();
  owner_.Release(path);
}

void ProviderList::OnUrls(CategoryWatch&, const CategoryWatch::Changes& changes) {
  if (stopped_) return;
  for (const auto& [name, url] : changes.removed) Remove(name);
  for (const auto& [name, url] : changes.added) Add(name, url);
  Publish();
}

void ProviderList::Add(const std::string& name, const Url& url) {
  if (url.protocol() == "empty" || IsTrue(url, "disabled", false) || !MatchesUrl(consumer_, url)) {
    return;
  }
  const std::string protocol = ChooseProtocol(protocol_, url);
  if (protocol.empty()) return;
  absl::StatusOr<EndpointSpec> spec = AddressOf(url, protocol, owner_.services());
  if (!spec.ok()) {
    Log(LogLevel::kWarning,
        absl::StrCat(watch_->path(), "/", url.ToString(), ": left out: ", spec.status().message()));
    return;
  }
  Claim claim;
  claim.identity = IdentityOf(*spec);
  claim.key = {-spec->timestamp_ms, name};
  claim.app = spec->service->app;
  Endpoint endpoint = owner_.table().Intern(*std::move(spec));
  if (!endpoint) {
    Log(LogLevel::kError, absl::StrCat(watch_->path(), "/", url.ToString(), ": left out: the ",
                                       "process holds as many addresses as it can"));
    return;
  }
  addresses_[claim.identity].claims[claim.key] = std::move(endpoint);
  dirty_.insert(claim.identity);
  if (!claim.app.empty()) ++apps_[claim.app];
  claims_[name] = std::move(claim);
}

void ProviderList::Remove(const std::string& name) {
  auto it = claims_.find(name);
  if (it == claims_.end()) return;
  const Claim& claim = it->second;
  addresses_[claim.identity].claims.erase(claim.key);
  dirty_.insert(claim.identity);
  if (auto app = apps_.find(claim.app); app != apps_.end() && --app->second == 0) apps_.erase(app);
  claims_.erase(it);
}

absl::Status ProviderList::FindBrokenLink() const {
  if (watch_ == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("consumer URL without an interface: ", consumer_.ToString()));
  }
  if (!watch_->error().ok()) return watch_->error();
  if (!claims_.empty()) return absl::OkStatus();
  const size_t there = watch_->urls().size();
  const std::string why = absl::StrCat(
      "no provider of ", key_.ToString(), ": ",
      there == 0 ? absl::StrCat(watch_->path(), " is empty")
                 : absl::StrCat("none of ", there, " in ", watch_->path(), " matches",
                                protocol_.empty()
                                    ? ""
                                    : absl::StrCat(", or none of them by protocol ", protocol_)));
  if (!KeepsOld()) return absl::NotFoundError(why);
  return absl::UnavailableError(
      absl::StrCat(why, "; enable-empty-protection keeps the ", list_->size(), " from before"));
}

// `dirty_` goes on collecting meanwhile.
bool ProviderList::KeepsOld() const {
  return owner_.empty_protection() && claims_.empty() && !list_->empty();
}

AddressDelta ProviderList::TakeDelta() {
  AddressDelta delta;
  for (const std::string& identity : dirty_) {
    auto it = addresses_.find(identity);
    if (it == addresses_.end()) continue;
    Address& address = it->second;
    Endpoint now = address.claims.empty() ? Endpoint() : address.claims.begin()->second;
    if (now != address.published) {
      // An update is of one application.
      const bool same_app =
          now && address.published && now->service->app == address.published->service->app;
      if (same_app) {
        delta.updated.push_back({address.published, now});
      } else {
        if (address.published) delta.removed.push_back(address.published);
        if (now) delta.added.push_back(now);
      }
      address.published = std::move(now);
    }
    if (address.claims.empty()) addresses_.erase(it);
  }
  dirty_.clear();
  return delta;
}

void ProviderList::Publish() {
  if (watch_ != nullptr && !watch_->known() && watch_->error().ok()) return;
  ServiceAddresses news;
  news.state = FindBrokenLink();
  news.kept = KeepsOld();
  if (news.kept) {
    // Whose addresses they are has not changed either.
    news.apps = told_.apps;
  } else {
    news.apps.reserve(apps_.size());
    for (const auto& [app, count] : apps_) news.apps.push_back(app);
    news.delta = TakeDelta();
  }
  news.delta.from_version = list_->version();
  if (!news.delta.empty()) list_ = list_->Apply(news.delta);
  news.delta.to_version = list_->version();
  news.list = list_;
  if (news.Repeats(told_)) return;
  told_ = news;
  told_.delta = AddressDelta();
  notify_(news);
}

}  // namespace signpost::interface_internal

#include "signpost/registry/application/service_subscription.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "signpost/common/log.h"
#include "signpost/common/status.h"

namespace signpost::application_internal {
namespace {

// What makes two endpoints the same address of the same service.
std::string IdentityOf(const EndpointSpec& spec) {
  const EndpointService& service = *spec.service;
  return absl::StrCat(service.app, "\n", spec.host, "\n", spec.port, "\n", service.name, "\n",
                      service.protocol, "\n", service.path);
}

}  // namespace

ServiceSubscription::ServiceSubscription(ApplicationSubscriber& owner, const Url& consumer,
                                         ApplicationSubscriber::NotifyFunction notify)
    : owner_(owner),
      key_(ServiceKey::Of(consumer)),
      protocol_(consumer.Get("protocol")),
      consumer_(consumer),
      notify_(std::move(notify)) {}

void ServiceSubscription::Start() {
  if (key_.interface_name.empty()) {
    mapping_heard_ = true;
    mapping_state_ = absl::InvalidArgumentError(
        absl::StrCat("consumer URL without interface: ", consumer_.ToString()));
    Publish();
    return;
  }
  AppSet provided_by = ParseMappingText(consumer_.Get("provided-by"));
  if (!provided_by.empty()) {
    mapping_heard_ = true;
    SetApps(std::move(provided_by));
    Publish();
    return;
  }
  mapping_ = owner_.mapping_.Watch(
      key_.interface_name,
      owner_.guard_.Wrap([weak = weak_from_this()](absl::StatusOr<AppSet> apps) {
        if (auto self = weak.lock()) self->OnMapping(std::move(apps));
      }));
}

void ServiceSubscription::Stop() {
  stopped_ = true;
  mapping_.Cancel();
  SetApps({});
}

void ServiceSubscription::OnMapping(absl::StatusOr<AppSet> apps) {
  if (stopped_) return;
  mapping_heard_ = true;
  if (!apps.ok()) {
    mapping_state_ = apps.status();  // names the interface
    Publish();
    return;
  }
  if (apps->empty()) *apps = ParseMappingText(owner_.centre_.url().Get("subscribed-services"));
  if (apps->empty()) {
    // A mapping that was deleted says nothing about instances: what was known is kept, as Java
    // does.
    mapping_state_ = absl::NotFoundError(absl::StrCat("no mapping for ", key_.interface_name));
  } else {
    mapping_state_ = absl::OkStatus();
    SetApps(*std::move(apps));
  }
  Publish();
}

void ServiceSubscription::SetApps(AppSet apps) {
  for (const std::string& app : apps_) {
    if (apps.count(app) != 0) continue;
    auto it = watches_.find(app);
    it->second->RemoveListener(this);
    watches_.erase(it);
    owner_.Release(app);
    for (auto claim = claims_.lower_bound({app, ""});
         claim != claims_.end() && claim->first.first == app;) {
      const InstanceKey key = (claim++)->first;  // SetClaims erases it
      SetClaims(key, {});
    }
  }
  for (const std::string& app : apps) {
    if (apps_.count(app) != 0) continue;
    auto watch = owner_.WatchOf(app);
    watch->AddListener(this);
    watches_[app] = watch;
    for (const auto& [id, instance] : watch->instances()) Recompute(*watch, id);
  }
  apps_ = std::move(apps);
}

void ServiceSubscription::OnInstances(InstanceWatch& watch, const std::vector<std::string>& ids) {
  if (stopped_) return;
  for (const std::string& id : ids) Recompute(watch, id);
  Publish();
}

void ServiceSubscription::Recompute(const InstanceWatch& watch, const std::string& id) {
  const InstanceWatch::Revision* revision = nullptr;
  const InstancePtr instance = watch.Find(id, &revision);
  std::map<std::string, Endpoint> wanted;
  if (instance != nullptr && revision != nullptr) {
    if (revision->offers == nullptr) return;  // keeps what it had
    auto offers = revision->offers->by_interface.find(key_.interface_name);
    if (offers != revision->offers->by_interface.end()) {
      for (const OfferedService& offer : offers->second) {
        if (!Matches(key_, offer.info->key()) ||
            !MatchesProtocol(protocol_, offer.info->protocol) || !IsEnabled(*instance, offer)) {
          continue;
        }
        EndpointSpec spec = AddressOf(instance, offer);
        std::string identity = IdentityOf(spec);
        Endpoint endpoint = owner_.table_.Intern(std::move(spec));
        if (!endpoint) {
          Log(LogLevel::kError, absl::StrCat(instance->app, " at ", id, ": left out: the process ",
                                             "holds as many addresses as it can"));
          continue;
        }
        wanted[std::move(identity)] = std::move(endpoint);
      }
    }
  }
  SetClaims({watch.app(), id}, std::move(wanted));
}

void ServiceSubscription::SetClaims(const InstanceKey& key,
                                    std::map<std::string, Endpoint> wanted) {
  auto it = claims_.find(key);
  if (it != claims_.end()) {
    for (const std::string& identity : it->second) {
      if (wanted.count(identity) != 0) continue;
      addresses_[identity].claims.erase(key);
      dirty_.insert(identity);
    }
  }
  if (wanted.empty()) {
    if (it != claims_.end()) claims_.erase(it);
    return;
  }
  std::set<std::string>& mine = claims_[key];
  mine.clear();
  for (auto& [identity, endpoint] : wanted) {
    addresses_[identity].claims[key] = std::move(endpoint);
    dirty_.insert(identity);
    mine.insert(identity);
  }
}

bool ServiceSubscription::Settled() const {
  if (!mapping_heard_) return false;
  for (const auto& [app, watch] : watches_) {
    // Addresses that are known do not wait for a provider that does not answer.
    if (!(claims_.empty() ? watch->settled() : watch->settled_but_late())) return false;
  }
  return true;
}

bool ServiceSubscription::MustKeepOld() const {
  if (list_->empty() || !claims_.empty()) return false;
  bool unknown = false;
  for (const auto& [app, watch] : watches_) {
    if (!watch->heard()) unknown = true;
    for (const auto& [name, revision] : watch->revisions()) {
      if (revision->members.empty()) continue;
      if (revision->offers != nullptr) return false;
      unknown = true;
    }
  }
  return unknown;
}

absl::Status ServiceSubscription::FindBrokenLink() const {
  if (!mapping_state_.ok()) return mapping_state_;
  size_t instances = 0;
  for (const auto& [app, watch] : watches_) {
    if (!watch->error().ok()) return watch->error();
    instances += watch->instances().size();
  }
  if (instances == 0) {
    return absl::NotFoundError(
        absl::StrCat("no instance of ", absl::StrJoin(apps_, ", "), " for ", key_.ToString()));
  }
  for (const auto& [app, watch] : watches_) {
    for (const auto& [name, revision] : watch->revisions()) {
      if (revision->members.empty() || revision->offers != nullptr) continue;
      // One that is still being asked for is worth a word only when there is nothing else.
      if (revision->error.ok() && !revision->late && !claims_.empty()) continue;
      const std::string where =
          absl::StrCat("no metadata of application ", app, ", revision ", name);
      if (revision->error.ok()) return absl::UnavailableError(where + ": being asked for");
      return Annotate(revision->error, where);
    }
  }
  if (claims_.empty()) {
    return absl::NotFoundError(
        absl::StrCat("no instance of ", absl::StrJoin(apps_, ", "), " offers ", key_.ToString(),
                     protocol_.empty() ? "" : absl::StrCat(" by protocol ", protocol_)));
  }
  return absl::OkStatus();
}

AddressDelta ServiceSubscription::TakeDelta() {
  AddressDelta delta;
  for (const std::string& identity : dirty_) {
    auto it = addresses_.find(identity);
    if (it == addresses_.end()) continue;
    Address& address = it->second;
    Endpoint now = address.claims.empty() ? Endpoint() : address.claims.begin()->second;
    if (now != address.published) {
      if (!now) {
        delta.removed.push_back(address.published);
      } else if (!address.published) {
        delta.added.push_back(now);
      } else {
        delta.updated.push_back({address.published, now});
      }
      address.published = std::move(now);
    }
    if (address.claims.empty()) addresses_.erase(it);
  }
  dirty_.clear();
  return delta;
}

void ServiceSubscription::Publish() {
  if (stopped_ || (told_.list == nullptr && !Settled())) return;
  ServiceAddresses news;
  news.state = FindBrokenLink();
  news.apps.assign(apps_.begin(), apps_.end());
  news.kept = MustKeepOld();
  if (!news.kept) news.delta = TakeDelta();
  news.delta.from_version = list_->version();
  if (!news.delta.empty()) list_ = list_->Apply(news.delta);
  news.delta.to_version = list_->version();
  news.list = list_;
  if (news.Repeats(told_)) return;
  told_ = news;
  told_.delta = AddressDelta();
  notify_(news);
}

}  // namespace signpost::application_internal

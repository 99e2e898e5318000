#include "signpost/client/address_source.h"

#include <unistd.h>

#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "signpost/common/call_options.h"
#include "signpost/common/log.h"
#include "signpost/common/status.h"

namespace signpost::client_internal {
namespace {

absl::Status NotKnown(const std::string& service) {
  return absl::UnavailableError(absl::StrCat(service, ": addresses are not known yet"));
}

absl::Status UnreadyOf(const std::string& service, const RoutedAddresses* routed) {
  return routed == nullptr ? NotKnown(service) : routed->unready;
}

}  // namespace

absl::StatusOr<PickResult> LevelChoice::Pick(const Request& request) const {
  const RoutedAddresses* chosen = application.get();
  const RoutedAddresses* other = interface.get();
  if (DrawLevel(proportion) == DiscoveryLevel::kInterface) std::swap(chosen, other);
  if (chosen == nullptr) {
    if (!fall_back || other == nullptr) return NotKnown(service);
    return other->Pick(request);
  }
  absl::StatusOr<PickResult> picked = chosen->Pick(request);
  if (picked.ok() || !fall_back || other == nullptr) return picked;
  absl::StatusOr<PickResult> second = other->Pick(request);
  if (second.ok()) return second;
  // Nothing for any call: as WaitReady says it. Else the level that is meant to serve says why.
  absl::Status unready = Unready();
  if (!unready.ok()) return unready;
  return picked;
}

std::vector<const RoutedAddresses*> LevelChoice::Serving() const {
  std::vector<const RoutedAddresses*> serving;
  if (proportion > 0 && application != nullptr) serving.push_back(application.get());
  if (proportion < 100 && interface != nullptr) serving.push_back(interface.get());
  if (!fall_back) return serving;
  for (const RoutedAddresses* routed : serving) {
    if (routed->unready.ok()) return serving;
  }
  for (const RoutedAddresses* routed : {application.get(), interface.get()}) {
    if (routed != nullptr && routed->unready.ok()) return {routed};
  }
  if (serving.empty()) {
    for (const RoutedAddresses* routed : {application.get(), interface.get()}) {
      if (routed != nullptr) return {routed};
    }
  }
  return serving;
}

absl::Status LevelChoice::Unready() const {
  const absl::Status by_application = UnreadyOf(service, application.get());
  const absl::Status by_interface = UnreadyOf(service, interface.get());
  if (by_application.ok() && (proportion > 0 || fall_back)) return absl::OkStatus();
  if (by_interface.ok() && (proportion < 100 || fall_back)) return absl::OkStatus();
  if (!fall_back) return proportion > 0 ? by_application : by_interface;
  if (application == nullptr || interface == nullptr) {
    return application != nullptr ? by_application : by_interface;
  }
  return absl::Status(
      by_application.code(),
      absl::StrCat(by_application.message(), "; at interface level: ",
                   interface->addresses.state.ok() ? by_interface.message()
                                                   : interface->addresses.state.message()));
}

std::vector<absl::Status> LevelChoice::States() const {
  const auto of = [](const RoutedAddresses* routed) {
    return routed == nullptr ? absl::UnavailableError("addresses are not known yet")
                             : routed->addresses.state;
  };
  if (!fall_back) return {of(proportion > 0 ? application.get() : interface.get())};
  const absl::Status by_interface = of(interface.get());
  return {of(application.get()),
          absl::Status(by_interface.code(),
                       absl::StrCat("at interface level: ", by_interface.message()))};
}

bool LevelChoice::Complete() const {
  return (application != nullptr || (!fall_back && proportion == 0)) &&
         (interface != nullptr || (!fall_back && proportion > 0));
}

// Kept by the registry, which may outlive the source.
class AddressSource::Listener final : public NotifyListener {
 public:
  Listener(std::weak_ptr<AddressSource> source, DiscoveryLevel level)
      : source_(std::move(source)), level_(level) {}
  void Notify(const ServiceAddresses& addresses) override {
    if (auto source = source_.lock()) source->OnAddresses(level_, addresses);
  }

 private:
  const std::weak_ptr<AddressSource> source_;
  const DiscoveryLevel level_;
};

LevelFacts AddressSource::Level::Facts() const {
  LevelFacts facts;
  if (routed == nullptr) return facts;
  facts.known = known;
  facts.kept = routed->addresses.kept;
  facts.addresses = routed->unready.ok() ? routed->addresses.list->size() : 0;
  facts.state = routed->unready.ok() ? routed->addresses.state : routed->unready;
  return facts;
}

AddressSource::AddressSource(CentreRegistries centre, std::shared_ptr<Executor> executor,
                             Url consumer, const AddressRouting::Parts& routing,
                             std::function<void()> on_change)
    : centre_(std::move(centre)),
      executor_(std::move(executor)),
      consumer_(std::move(consumer)),
      service_(ServiceKey::Of(consumer_)),
      routing_(routing),
      on_change_(std::move(on_change)),
      begun_(absl::ToUnixMillis(executor_->clock().WallNow())),
      configurators_known_(centre_.configurators == nullptr) {
  choice_.service = routing_.service;
  // Here, since others may look as soon as one of them has started.
  if (centre_.application == nullptr) choice_.proportion = 0;
}

void AddressSource::Start() {
  Prepare(DiscoveryLevel::kApplication, centre_.application);
  Prepare(DiscoveryLevel::kInterface, centre_.interface);
  std::vector<Subscription> watches;
  if (centre_.configurators != nullptr) {
    watches.push_back(centre_.configurators(
        consumer_, [weak = weak_from_this()](std::shared_ptr<const ConfiguratorSet> configurators) {
          if (auto self = weak.lock()) self->OnConfigurators(std::move(configurators));
        }));
  }
  if (centre_.application != nullptr && centre_.interface != nullptr) {
    absl::StatusOr<MigrationFields> fields = MigrationFields::OfUrl(consumer_);
    if (fields.ok()) {
      url_fields_ = *std::move(fields);
    } else {
      Log(LogLevel::kWarning, absl::StrCat(routing_.service, ": ", fields.status().message()));
    }
    watches.push_back(centre_.migration->Subscribe(
        [weak = weak_from_this()](const MigrationRuleWatch::RulePtr& rule) {
          if (auto self = weak.lock()) self->OnRule(rule);
        }));
  } else if (centre_.application != nullptr) {
    Subscribe(DiscoveryLevel::kApplication, true);
  } else if (centre_.interface != nullptr) {
    Subscribe(DiscoveryLevel::kInterface, true);
  }
  MutexLock lock(mutex_);
  if (!stopped_) watches_ = std::move(watches);
}

void AddressSource::Stop() {
  std::vector<Subscription> watches;
  bool application = false;
  bool interface = false;
  {
    MutexLock lock(mutex_);
    if (stopped_) return;
    stopped_ = true;
    watches = std::move(watches_);
    application = std::exchange(application_.subscribed, false);
    interface = std::exchange(interface_.subscribed, false);
  }
  watches.clear();
  // Not under the lock: it waits for a running Notify.
  if (application) application_.registry->Unsubscribe(consumer_, application_.listener);
  if (interface) {
    interface_.registry->Unsubscribe(consumer_, interface_.listener);
    if (centre_.register_consumers) {
      interface_.registry->Unregister(ConsumerNode(), CallOptions(), [](const absl::Status&) {});
    }
  }
  // Whoever keeps a closed Directory keeps no registry by it.
  executor_->Post([self = shared_from_this()] {
    self->executor_->Cancel(self->timer_);
    self->timer_ = 0;
    for (Level* level : {&self->application_, &self->interface_}) {
      level->configured = nullptr;
      level->registry = nullptr;
    }
    self->centre_ = CentreRegistries();
  });
}

AddressSource::Level& AddressSource::At(DiscoveryLevel level) {
  return level == DiscoveryLevel::kApplication ? application_ : interface_;
}

void AddressSource::Prepare(DiscoveryLevel level, std::shared_ptr<Registry> registry) {
  if (registry == nullptr) return;
  Level& at = At(level);
  at.registry = std::move(registry);
  at.listener = std::make_shared<Listener>(weak_from_this(), level);
  at.routing = std::make_unique<AddressRouting>(routing_);
  if (centre_.configurators == nullptr) return;
  ConfiguratorTarget target = ConfiguratorTarget::OfConsumer(consumer_);
  // There the provider registers what its own rules make of its URL.
  target.provider_rules = level == DiscoveryLevel::kApplication;
  at.configured = std::make_unique<ConfiguredAddresses>(*centre_.table, std::move(target));
}

void AddressSource::Subscribe(DiscoveryLevel level, bool wanted) {
  Level& at = At(level);
  const bool node = level == DiscoveryLevel::kInterface && centre_.register_consumers;
  const auto ignored = [](const absl::Status&) {};  // the registry goes on trying
  {
    MutexLock lock(mutex_);
    if (stopped_ || at.subscribed == wanted) return;
    at.subscribed = wanted;
    if (wanted) {
      // Under the lock, so that Stop cannot overtake them; they only post.
      at.registry->Subscribe(consumer_, at.listener);
      if (node) at.registry->Register(ConsumerNode(), CallOptions(), ignored);
      return;
    }
  }
  at.registry->Unsubscribe(consumer_, at.listener);
  if (node) at.registry->Unregister(ConsumerNode(), CallOptions(), ignored);
  // A later subscription starts from nothing.
  at.heard = false;
  at.known = false;
  at.routed = nullptr;
  if (at.configured != nullptr) {
    ServiceAddresses none;
    none.list = AddressList::Empty();
    at.configured->SetAddresses(none);
  }
}

void AddressSource::OnAddresses(DiscoveryLevel level, const ServiceAddresses& addresses) {
  Level& at = At(level);
  {
    MutexLock lock(mutex_);
    if (!at.subscribed) return;
  }
  at.heard = true;
  // An error that leaves nothing says that the list could not be had, unless it says that there is
  // none.
  at.known = !addresses.list->empty() || addresses.state.ok() || absl::IsNotFound(addresses.state);
  const ServiceAddresses told =
      at.configured != nullptr ? at.configured->SetAddresses(addresses) : addresses;
  if (!configurators_known_) return;
  at.routed = at.routing->Build(told);
  Decide();
}

void AddressSource::OnConfigurators(std::shared_ptr<const ConfiguratorSet> configurators) {
  configurators_known_ = true;
  for (Level* level : {&application_, &interface_}) {
    if (level->configured == nullptr) continue;
    const ServiceAddresses told = level->configured->SetConfigurators(configurators);
    if (level->heard) level->routed = level->routing->Build(told);
  }
  Decide();
}

void AddressSource::OnRule(const MigrationRuleWatch::RulePtr& rule) {
  rule_ = rule;
  Decide();
}

void AddressSource::DecideLevels() {
  if (application_.routed != nullptr && !application_.routed->addresses.apps.empty()) {
    apps_ = application_.routed->addresses.apps;
  }
  const bool by_interface = apps_.empty() && interface_.routed != nullptr;
  const MigrationSettings settings =
      rule_->SettingsFor(service_, by_interface ? interface_.routed->addresses.apps : apps_,
                         url_fields_, centre_.migration_options);
  MigrationFacts facts;
  facts.application_level = application_.Facts();
  facts.interface_level = interface_.Facts();
  const absl::Duration now = executor_->clock().MonotonicNow();
  const MigrationDecision decision = migration_.Decide(settings, facts, now);
  Subscribe(DiscoveryLevel::kApplication, decision.subscribe_application);
  Subscribe(DiscoveryLevel::kInterface, decision.subscribe_interface);
  choice_.proportion = decision.proportion;
  choice_.fall_back = decision.fall_back;
  choice_.why = decision.why;
  // Where calls go and what a switch waits for, and not each address that comes or leaves.
  const bool serves = facts.application_level.addresses + facts.interface_level.addresses > 0;
  const auto goes =
      std::make_tuple(decision.step, decision.waits_for, decision.primary, decision.proportion);
  if (serves && told_ != goes) {
    told_ = goes;
    Log(LogLevel::kInfo, absl::StrCat(routing_.service, ": ", decision.why));
  }
  executor_->Cancel(timer_);
  timer_ = 0;
  if (decision.next_look.has_value()) {
    timer_ = executor_->PostAfter(*decision.next_look - now, [weak = weak_from_this()] {
      if (auto self = weak.lock()) self->Decide();
    });
  }
}

void AddressSource::Decide() {
  {
    MutexLock lock(mutex_);
    if (stopped_) return;
  }
  if (application_.registry != nullptr && interface_.registry != nullptr) {
    if (rule_ == nullptr) return;
    DecideLevels();
  }
  choice_.application = application_.routed;
  choice_.interface = interface_.routed;
  on_change_();
}

Url AddressSource::ConsumerNode() const {
  return consumer_.With("category", "consumers")
      .With("check", "false")
      .With("pid", absl::StrCat(getpid()))
      .With("timestamp", absl::StrCat(begun_));
}

}  // namespace signpost::client_internal

// One registry centre at both levels, driven by hand: a registry for each, the migration rule of
// the application `web` in a config centre, and override rules.
//
// Addresses of the application level are 192.0.2.1 and on, those of the interface level
// 192.0.2.101 and on, so that a pick tells by which level it was found.
//
// Threads: the test's, which plays the control executor.
#ifndef SIGNPOST_TESTS_CLIENT_TWO_LEVELS_H_
#define SIGNPOST_TESTS_CLIENT_TWO_LEVELS_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "signpost/balancer/random.h"
#include "signpost/client/centre_registries.h"
#include "signpost/client/directory.h"
#include "signpost/common/manual_executor.h"
#include "signpost/registry/migration/migration_rule_watch.h"
#include "signpost/router/configurator/configurator_set.h"
#include "signpost/router/router.h"
#include "tests/client/fake_registry.h"
#include "tests/support/fake_config_source.h"

namespace signpost {

// A WatchConfigurators that says what a test says.
class HandConfigurators {
 public:
  WatchConfigurators Watch() {
    return [state = state_](const Url&, ConfiguratorsCallback on_change) {
      auto callback = std::make_shared<ConfiguratorsCallback>(std::move(on_change));
      state->push_back(callback);
      return Subscription([state, callback] { state->remove(callback); });
    };
  }
  // `override://` URLs; none: no rules.
  void Tell(const std::vector<std::string>& rules = {}) {
    std::vector<Url> urls;
    for (const std::string& rule : rules) urls.push_back(*Url::Parse(rule));
    auto set = std::make_shared<const ConfiguratorSet>(
        ConfiguratorsOf(urls), std::vector<Configurator>(), std::vector<Configurator>());
    for (const auto& callback : std::list<Callback>(*state_)) (*callback)(set);
  }
  size_t watches() const { return state_->size(); }

 private:
  using Callback = std::shared_ptr<ConfiguratorsCallback>;
  const std::shared_ptr<std::list<Callback>> state_ = std::make_shared<std::list<Callback>>();
};

struct TwoLevels {
  static constexpr char kRule[] = "web.migration";
  static constexpr int kInterfaceFrom = 100;

  // `shared`: the table of another centre of the same client.
  explicit TwoLevels(std::shared_ptr<ManualExecutor> executor_in,
                     std::shared_ptr<EndpointTable> shared = std::make_shared<EndpointTable>())
      : executor(std::move(executor_in)), table(std::move(shared)) {
    for (const auto& registry : {application, interface}) {
      registry->executor = executor;
      registry->interned_in = table.get();
    }
  }

  CentreRegistries Centre() {
    CentreRegistries centre;
    centre.application = application;
    centre.interface = interface;
    centre.table = table;
    centre.migration = migration;
    return centre;
  }

  // An operator writes the rule of `web`.
  void Rule(const std::string& text) {
    source.Write(kRule, text);
    executor->RunUntilIdle();
  }

  void PublishApplication(int count, absl::Status state = absl::OkStatus()) {
    application->Publish(Specs(0, count), std::move(state));
  }
  void PublishInterface(int count, absl::Status state = absl::OkStatus()) {
    interface->Publish(Specs(kInterfaceFrom, count), std::move(state));
  }
  static std::vector<EndpointSpec> Specs(int from, int count) {
    std::vector<EndpointSpec> specs;
    for (int i = 1; i <= count; ++i) specs.push_back(GreeterAt(from + i));
    return specs;
  }
  static bool ByInterface(const Endpoint& endpoint) {
    const std::string& host = endpoint->host;
    return std::stoi(host.substr(host.rfind('.') + 1)) > kInterfaceFrom;
  }

  const std::shared_ptr<ManualExecutor> executor;
  const std::shared_ptr<EndpointTable> table;
  FakeConfigSource source{*executor};
  const std::shared_ptr<MigrationRuleWatch> migration =
      std::make_shared<MigrationRuleWatch>(*executor, &source, "web");
  const std::shared_ptr<FakeRegistry> application = std::make_shared<FakeRegistry>();
  const std::shared_ptr<FakeRegistry> interface = std::make_shared<FakeRegistry>();
  HandConfigurators configurators;
};

inline Directory::Parts PartsOf(std::shared_ptr<Executor> executor,
                                std::vector<CentreRegistries> centres) {
  Directory::Parts parts;
  parts.service = "org.example.Greeter";
  parts.consumer =
      *Url::Parse("consumer://192.0.2.200/org.example.Greeter?application=web&side=consumer");
  parts.executor = std::move(executor);
  parts.centres = std::move(centres);
  parts.balancer = [](const BalancerOptions& options) {
    return std::make_unique<RandomBalancer>(options);
  };
  return parts;
}

// Of `calls` picks.
struct PickCounts {
  int application = 0;
  int interface = 0;
  int failed = 0;
};
inline PickCounts CountPicks(const Directory& directory, int calls = 1000,
                             const Request& request = Request()) {
  PickCounts counts;
  for (int i = 0; i < calls; ++i) {
    auto pick = directory.Pick(request);
    if (!pick.ok()) {
      ++counts.failed;
      continue;
    }
    ++(TwoLevels::ByInterface(pick->endpoint) ? counts.interface : counts.application);
    directory.Done(*pick, CallOutcome());
  }
  return counts;
}

// "save" may go to addresses of one level alone, "drop" to none, all else anywhere.
class LevelRouter final : public Router {
 public:
  explicit LevelRouter(bool interface) : interface_(interface) {}
  absl::string_view name() const override { return "level"; }
  int priority() const override { return 0; }
  absl::StatusOr<std::vector<RouteRule>> Route(const AddressList& list,
                                               const Subset& input) const override {
    Subset kept;
    for (uint32_t at : input) {
      if (TwoLevels::ByInterface(list.at(at)) == interface_) kept.push_back(at);
    }
    return std::vector<RouteRule>{
        {"save", [](const Request& r) { return r.method == "save"; }, {kept}, true},
        {"drop", [](const Request& r) { return r.method == "drop"; }, {}, true}};
  }

 private:
  const bool interface_;
};

// Applies the deltas that it is told to what it had.
class Follower {
 public:
  explicit Follower(Directory& directory)
      : directory_(directory),
        subscription_(directory.OnChange([this](const ServiceAddresses& a) { Take(a); })) {}

  int told() const { return told_; }
  // Whether it never missed anything, and holds what the directory has.
  testing::AssertionResult Follows() const {
    if (!fault_.empty()) return testing::AssertionFailure() << fault_;
    return ids_ == IdsOf(*directory_.addresses()) ? testing::AssertionSuccess()
                                                  : testing::AssertionFailure()
                                                        << "holds " << ids_.size() << " of "
                                                        << directory_.addresses()->size();
  }

 private:
  static std::set<uint32_t> IdsOf(const AddressList& list) {
    std::set<uint32_t> ids;
    list.ForEach([&ids](const Endpoint& endpoint) { ids.insert(endpoint.id()); });
    return ids;
  }
  void Remove(const Endpoint& endpoint) {
    if (ids_.erase(endpoint.id()) == 0) fault_ += absl::StrCat("not there: ", endpoint.address());
  }
  void Insert(const Endpoint& endpoint) {
    kept_.push_back(endpoint);  // so that its id is not used again
    if (!ids_.insert(endpoint.id()).second) {
      fault_ += absl::StrCat("there already: ", endpoint.address());
    }
  }
  void Take(const ServiceAddresses& addresses) {
    if (told_++ > 0 && addresses.delta.from_version != version_) {
      fault_ += absl::StrCat("from ", addresses.delta.from_version, " not ", version_, "; ");
    }
    version_ = addresses.list->version();
    if (addresses.delta.to_version != version_) {
      fault_ += absl::StrCat("to ", addresses.delta.to_version, " not ", version_, "; ");
    }
    for (const Endpoint& endpoint : addresses.delta.removed) Remove(endpoint);
    for (const auto& update : addresses.delta.updated) {
      Remove(update.before);
      Insert(update.after);
    }
    for (const Endpoint& endpoint : addresses.delta.added) Insert(endpoint);
    if (ids_ != IdsOf(*addresses.list)) fault_ += "the delta does not lead to the list; ";
  }

  Directory& directory_;
  int told_ = 0;
  uint64_t version_ = 0;
  std::set<uint32_t> ids_;
  std::vector<Endpoint> kept_;
  std::string fault_;
  Subscription subscription_;
};

}  // namespace signpost

#endif  // SIGNPOST_TESTS_CLIENT_TWO_LEVELS_H_

// What the tests of ConfiguredAddresses share: rules, a registry's list that a test changes by
// hand, and what was told, each delta checked against it.
#ifndef SIGNPOST_TESTS_CLIENT_CONFIGURED_TEST_H_
#define SIGNPOST_TESTS_CLIENT_CONFIGURED_TEST_H_

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "signpost/client/configured_addresses.h"

namespace signpost::client_internal {

using SetPtr = std::shared_ptr<const ConfiguratorSet>;
using ServicePtr = std::shared_ptr<const EndpointService>;
using Lines = std::vector<std::string>;

inline Url Parsed(const std::string& text) {
  auto url = Url::Parse(text);
  EXPECT_TRUE(url.ok()) << text << ": " << url.status();
  return url.ok() ? *url : Url();
}

// A rule on all providers of the service.
inline std::string All(const std::string& parameters) {
  return "override://0.0.0.0/org.example.Greeter?" + parameters;
}
// On one of them.
inline std::string One(int last, const std::string& parameters) {
  return absl::StrCat("override://192.0.2.", last, ":20880/org.example.Greeter?", parameters);
}

inline SetPtr Rules(const std::vector<std::string>& texts) {
  std::vector<Url> urls;
  for (const std::string& text : texts) urls.push_back(Parsed(text));
  auto configurators = ConfiguratorsOf(urls);
  EXPECT_EQ(configurators.size(), texts.size());
  return std::make_shared<const ConfiguratorSet>(
      std::move(configurators), std::vector<Configurator>(), std::vector<Configurator>());
}

// A text of the config centre for the service.
inline SetPtr Text(const std::string& item) {
  auto rule = ParseConfiguratorRule("key: org.example.Greeter\nconfigs:\n- {" + item + "}\n");
  EXPECT_TRUE(rule.ok()) << rule.status();
  return std::make_shared<const ConfiguratorSet>(std::vector<Configurator>(),
                                                 std::vector<Configurator>(), *std::move(rule));
}

inline ServicePtr Greeter(StringMap params = {{"timeout", "1000"}},
                          const std::string& revision = "r1") {
  EndpointService service;
  service.name = service.path = "org.example.Greeter";
  service.protocol = "tri";
  service.app = "shop";
  service.revision = revision;
  service.params = std::move(params);
  return std::make_shared<const EndpointService>(std::move(service));
}

inline std::set<uint32_t> IdsOf(const AddressList& list) {
  std::set<uint32_t> ids;
  list.ForEach([&ids](const Endpoint& endpoint) { ids.insert(endpoint.id()); });
  return ids;
}

inline std::vector<Endpoint> EndpointsOf(const AddressList& list) {
  std::vector<Endpoint> endpoints;
  list.ForEach([&endpoints](const Endpoint& endpoint) { endpoints.push_back(endpoint); });
  return endpoints;
}

// `host weight timeout` of each, sorted.
inline std::vector<std::string> Shown(const AddressList& list) {
  std::vector<std::string> shown;
  list.ForEach([&shown](const Endpoint& endpoint) {
    shown.push_back(
        absl::StrCat(endpoint->host, " ", endpoint->weight, " ", endpoint->Get("timeout")));
  });
  std::sort(shown.begin(), shown.end());
  return shown;
}

class ConfiguredAddressesTest : public testing::Test {
 protected:
  ConfiguredAddressesTest() { Make(true); }

  void Make(bool provider_rules) {
    ConfiguratorTarget target = ConfiguratorTarget::OfConsumer(
        Parsed("consumer://192.0.2.99/org.example.Greeter?application=web"));
    target.provider_rules = provider_rules;
    configured_ = std::make_unique<ConfiguredAddresses>(table_, std::move(target));
    list_ = AddressList::Empty();
    told_ = ServiceAddresses();
    told_.list = AddressList::Empty();
  }

  Endpoint At(int last, int32_t weight = 100) { return At(last, weight, service_); }
  Endpoint At(int last, int32_t weight, ServicePtr service) {
    EndpointSpec spec;
    spec.host = absl::StrCat("192.0.2.", last);
    spec.port = 20880;
    spec.weight = weight;
    spec.service = std::move(service);
    return table_.Intern(std::move(spec));
  }

  // The next version of what the registry has.
  ServiceAddresses Next(const std::vector<Endpoint>& wanted) {
    ServiceAddresses published;
    published.delta = list_->DiffTo(wanted);
    list_ = list_->Apply(published.delta);
    published.delta.to_version = list_->version();
    published.list = list_;
    published.apps = {"shop"};
    return published;
  }
  void Publish(const std::vector<Endpoint>& wanted) {
    Take(configured_->SetAddresses(Next(wanted)));
  }
  void Use(const SetPtr& rules) { Take(configured_->SetConfigurators(rules)); }

  // The delta leads from what was told before to what is told now.
  void Take(const ServiceAddresses& now) {
    EXPECT_EQ(now.delta.from_version, told_.list->version());
    EXPECT_EQ(now.delta.to_version, now.list->version());
    std::set<uint32_t> ids = IdsOf(*told_.list);
    for (const Endpoint& removed : now.delta.removed) EXPECT_EQ(ids.erase(removed.id()), 1u);
    for (const AddressDelta::Update& update : now.delta.updated) {
      EXPECT_NE(update.before, update.after);
      EXPECT_EQ(ids.erase(update.before.id()), 1u);
      EXPECT_TRUE(ids.insert(update.after.id()).second);
    }
    for (const Endpoint& added : now.delta.added) EXPECT_TRUE(ids.insert(added.id()).second);
    EXPECT_EQ(ids, IdsOf(*now.list));
    EXPECT_EQ(ids.size(), now.list->size());
    told_ = now;
  }
  std::vector<std::string> Shown() const { return client_internal::Shown(*told_.list); }

  EndpointTable table_;
  ServicePtr service_ = Greeter();
  std::unique_ptr<ConfiguredAddresses> configured_;
  std::shared_ptr<const AddressList> list_;  // what the registry has
  ServiceAddresses told_;
};

}  // namespace signpost::client_internal

#endif  // SIGNPOST_TESTS_CLIENT_CONFIGURED_TEST_H_

// ConfiguredAddresses over many changes: what it keeps, and that it ends where a simple model does.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/client/configured_test.h"

namespace signpost::client_internal {
namespace {

using ConfiguredAddressesWalkTest = ConfiguredAddressesTest;

TEST_F(ConfiguredAddressesWalkTest, ServicesThatRulesChangedAreLetGo) {
  Use(Rules({All("timeout=500")}));
  std::vector<std::weak_ptr<const EndpointService>> seen;
  for (int i = 0; i < 1000; ++i) {
    const ServicePtr next = Greeter({{"timeout", "1000"}}, absl::StrCat("r", i));
    seen.emplace_back(next);
    Publish({At(1, 100, next), At(2)});
    ASSERT_EQ(told_.list->size(), 2u);
  }
  const auto alive = std::count_if(seen.begin(), seen.end(),
                                   [](const auto& service) { return !service.expired(); });
  EXPECT_LE(alive, 40);
  EXPECT_LE(table_.size(), 16u);
  // All of them with the rules.
  Use(Rules({}));
  Publish({At(2)});
  Publish({});
  Publish({});
  EXPECT_TRUE(
      std::all_of(seen.begin(), seen.end(), [](const auto& service) { return service.expired(); }));
}

// What a rule means, said anew and simply.
struct Expected {
  int last = 0;
  int32_t weight = 100;
  std::string timeout;
  bool disabled = false;
};
struct KnownRule {
  std::string url;
  std::function<void(Expected&)> act;
};

TEST_F(ConfiguredAddressesWalkTest, ARandomWalkEndsWhereTheModelDoes) {
  // In the order in which they are applied.
  const std::vector<KnownRule> known = {
      {All("weight=7"), [](Expected& e) { e.weight = 7; }},
      {All("~timeout=1000&weight=8"),
       [](Expected& e) {
         if (e.timeout == "1000") e.weight = 8;
       }},
      {"absent://0.0.0.0/org.example.Greeter?timeout=900",
       [](Expected& e) {
         if (e.timeout.empty()) e.timeout = "900";
       }},
      {All("timeout=500"), [](Expected& e) { e.timeout = "500"; }},
      {One(3, "disabled=true"), [](Expected& e) { e.disabled |= e.last == 3; }},
      {One(4, "disabled=true"), [](Expected& e) { e.disabled |= e.last == 4; }},
      {One(5, "weight=55"),
       [](Expected& e) {
         if (e.last == 5) e.weight = 55;
       }},
  };
  const std::vector<ServicePtr> services = {Greeter(), Greeter({}), Greeter({}, "r2"),
                                            Greeter({{"timeout", "1000"}}, "r3")};
  std::mt19937 random(20880);
  const auto below = [&random](size_t bound) { return random() % bound; };
  std::map<int, std::pair<int32_t, ServicePtr>> there;
  std::vector<const KnownRule*> used;
  for (int step = 0; step < 2000; ++step) {
    if (below(4) == 0) {
      used.clear();
      std::vector<std::string> urls;
      if (below(3) != 0) {
        for (const KnownRule& rule : known) {
          if (below(2) == 0) continue;
          used.push_back(&rule);
          urls.push_back(rule.url);
        }
      }
      Use(Rules(urls));
    } else {
      for (size_t i = below(4); i > 0; --i) {
        const int last = static_cast<int>(below(12));
        if (below(3) == 0) {
          there.erase(last);
        } else {
          there[last] = {static_cast<int32_t>(50 + 50 * below(3)), services[below(4)]};
        }
      }
      std::vector<Endpoint> wanted;
      for (const auto& [last, what] : there) wanted.push_back(At(last, what.first, what.second));
      const ServiceAddresses published = Next(wanted);
      // Some are missed.
      if (below(10) != 0) {
        Take(configured_->SetAddresses(published));
      } else {
        Publish(wanted);
      }
    }
    Lines expected;
    for (const auto& [last, what] : there) {
      Expected model{last, what.first, std::string(), false};
      const auto timeout = what.second->params.find("timeout");
      if (timeout != what.second->params.end()) model.timeout = timeout->second;
      for (const KnownRule* rule : used) rule->act(model);
      if (model.disabled) continue;
      expected.push_back(absl::StrCat("192.0.2.", last, " ", model.weight, " ", model.timeout));
    }
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(Shown(), expected) << "step " << step;
    ASSERT_FALSE(HasFailure()) << "step " << step;
    if (used.empty()) {
      ASSERT_EQ(told_.list, list_);
    }
  }
}

}  // namespace
}  // namespace signpost::client_internal

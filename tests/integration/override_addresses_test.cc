// Which of two providers of one host a rule of `side: provider` means, over a real ZooKeeper.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "signpost/client/client.h"
#include "signpost/common/url.h"
#include "tests/integration/dual_mode.h"

namespace signpost {
namespace {

// By port.
using Weights = std::map<uint16_t, int>;

std::string ToText(const Weights& weights) {
  std::string text;
  for (const auto& [port, weight] : weights) absl::StrAppend(&text, port, ":", weight, " ");
  return text;
}

// TC-37. Nobody listens at the addresses; nobody calls.
TEST_F(DualModeTest, AddressesOfProviderRulesOnBothSides) {
  constexpr char kRule[] = "/dubbo/config/dubbo/a.E::.configurators";
  std::vector<std::unique_ptr<Client>> providers;
  for (const char* address : {"192.0.2.1:20880", "192.0.2.1:20881"}) {
    providers.push_back(
        Provide("shop", absl::StrCat("tri://", address, "/a.E?methods=x&weight=100"), Registry()));
  }
  Folder folder(*providers[0], "/dubbo/a.E/providers");
  const auto registered = [&] {
    Weights weights;
    for (const std::string& name : folder.names()) {
      const auto url = Url::ParseEncoded(name);
      int weight = 0;
      if (!url.ok() || !absl::SimpleAtoi(url->Get("weight"), &weight)) return Weights();
      // For a moment a provider has both of its names.
      if (!weights.emplace(url->port(), weight).second) return Weights();
    }
    return weights;
  };
  std::vector<std::unique_ptr<Client>> consumers;
  std::vector<std::shared_ptr<Directory>> directories;
  for (const char* mode : {"interface", "application"}) {
    consumers.push_back(Open("web", Registry(absl::StrCat("&mode=", mode))));
    directories.push_back(*consumers.back()->consumer().Refer("a.E"));
    ASSERT_TRUE(directories.back()->WaitReady(kBound).ok()) << mode;
  }
  const auto listed = [](Directory& directory) {
    Weights weights;
    const auto list = directory.addresses();
    for (size_t i = 0; i < list->size(); ++i) {
      const Endpoint endpoint = list->at(i);
      if (!weights.emplace(endpoint->port, endpoint->weight).second) return Weights();
    }
    return weights;
  };
  const auto becomes = [&](const Weights& wanted) {
    EXPECT_TRUE(Poll(kBound, [&] { return registered() == wanted; })) << ToText(registered());
    for (const auto& directory : directories) {
      EXPECT_TRUE(Poll(kBound, [&] { return listed(*directory) == wanted; }))
          << ToText(listed(*directory));
    }
  };
  const Weights original = {{20880, 100}, {20881, 100}};
  becomes(original);
  const std::set<std::string> names = folder.names();
  const struct {
    const char* address;
    Weights weights;
  } kTable[] = {
      {"0.0.0.0:20881", {{20880, 100}, {20881, 80}}},
      {"192.0.2.1:20881", {{20880, 100}, {20881, 80}}},
      {"0.0.0.0", {{20880, 80}, {20881, 80}}},
      {"192.0.2.1", {{20880, 80}, {20881, 80}}},
  };
  for (const auto& row : kTable) {
    SCOPED_TRACE(row.address);
    const auto url = Url::Parse(
        absl::StrCat("override://", row.address,
                     "/a.E?category=configurators&configVersion=v3.0&dynamic=false&enabled=true"
                     "&side=provider&weight=80"));
    ASSERT_TRUE(url.ok()) << url.status();
    // As a text, and as a URL below the service.
    const std::string node = "/dubbo/a.E/configurators/" + url->ToEncodedString();
    Write(*providers[0], kRule,
          absl::StrCat("configVersion: v3.0\nscope: service\nkey: a.E\nenabled: true\nconfigs:\n"
                       "  - side: provider\n    addresses: ['",
                       row.address, "']\n    parameters:\n      weight: 80\n"));
    becomes(row.weights);
    Delete(*providers[0], kRule);
    becomes(original);
    Write(*providers[0], node, "");
    becomes(row.weights);
    Delete(*providers[0], node);
    becomes(original);
    EXPECT_EQ(folder.names(), names);
  }
  EXPECT_FALSE(folder.was_empty());
}

}  // namespace
}  // namespace signpost

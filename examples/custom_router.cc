// A router of one's own: calls stay in the caller's zone while it has an address, else they go to
// all. A provider says its zone with the instance label `zone`.
//   custom_router     shows it for callers in three zones, with a registry in this process
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "signpost/client/client.h"
#include "signpost/client/plugins/memory.h"

namespace {

constexpr char kRegistry[] = "memory://zones";
constexpr char kService[] = "org.example.Greeter";

class ZoneRouter final : public signpost::Router {
 public:
  explicit ZoneRouter(std::string zone) : zone_(std::move(zone)) {}

  absl::string_view name() const override { return "zone"; }
  int priority() const override { return 100; }

  // Once for each list that comes, not for each call.
  absl::StatusOr<std::vector<signpost::RouteRule>> Route(
      const signpost::AddressList& list, const signpost::Subset& input) const override {
    signpost::Subset near;
    for (uint32_t index : input) {
      if (list.spec(index).Get("zone") == zone_) near.push_back(index);
    }
    signpost::RouteRule rule;
    rule.name = zone_;  // no `matches`: of every call
    rule.subsets.push_back(std::move(near));
    rule.force = false;  // nobody near: all of `input`
    return std::vector<signpost::RouteRule>{std::move(rule)};
  }

 private:
  const std::string zone_;
};

absl::StatusOr<std::unique_ptr<signpost::Client>> Provide(
    const std::string& host, const std::string& zone,
    const signpost::RegistryFactories& registries) {
  signpost::ClientOptions options;
  options.app = "greeting";
  options.registry = kRegistry;
  options.labels["zone"] = zone;
  auto client = signpost::Client::Create(options, registries);
  if (!client.ok()) return client;
  absl::Status status = (*client)->provider().Export("tri://" + host + ":50051/" + kService);
  if (status.ok()) status = (*client)->Start(absl::Seconds(10));
  if (!status.ok()) return status;
  return client;
}

// Prints where calls of a caller in `zone` go.
absl::Status Call(const std::string& zone, const signpost::RegistryFactories& registries) {
  signpost::ClientOptions options;
  options.registry = kRegistry;
  options.balancer = "roundrobin";
  options.routers.push_back(
      [zone](const signpost::RouterOptions&) { return std::make_unique<ZoneRouter>(zone); });
  auto client = signpost::Client::Create(options, registries);
  if (!client.ok()) return client.status();
  auto directory = (*client)->consumer().Refer(kService);
  if (!directory.ok()) return directory.status();
  absl::Status status = (*directory)->WaitReady(absl::Seconds(10));
  if (!status.ok()) return status;
  std::set<std::string> hosts;
  for (int i = 0; i < 10; ++i) {
    auto picked = (*directory)->Pick(signpost::Request());
    if (!picked.ok()) return picked.status();
    hosts.insert(picked->endpoint->host);
    (*directory)->Done(*picked, signpost::CallOutcome());
  }
  std::cout << zone << ": " << absl::StrJoin(hosts, " ") << "\n";
  return absl::OkStatus();
}

}  // namespace

int main() {
  signpost::RegistryFactories registries("registry");
  absl::Status status = signpost::AddMemory(registries);
  auto east = Provide("192.0.2.1", "east", registries);
  auto west = Provide("192.0.2.2", "west", registries);
  status.Update(east.status());
  status.Update(west.status());
  for (const char* zone : {"east", "west", "north"}) {
    if (status.ok()) status = Call(zone, registries);
  }
  if (!status.ok()) {
    std::cerr << "custom_router: " << status.ToString() << "\n";
    return 1;
  }
  return 0;
}

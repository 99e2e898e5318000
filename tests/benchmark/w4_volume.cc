// W4: what K providers of one application with 100 interfaces leave in ZooKeeper, by part; the same
// inputs, modes and lines as peers/README.md. README.md says how to read them.
//   PEERS_W4_K="10 100" bazel run --config=opt //tests/benchmark:w4_volume
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "signpost/client/client.h"
#include "signpost/client/plugins/thrift_metadata.h"
#include "signpost/client/plugins/zookeeper.h"
#include "signpost/common/status.h"
#include "tests/support/raw_zookeeper.h"
#include "tests/support/zookeeper_server.h"

namespace signpost {
namespace {

constexpr char kApp[] = "order-provider";
constexpr int kInterfaces = 100;
constexpr absl::Duration kPatience = absl::Seconds(120);

struct Mode {
  const char* name;        // as the peers call it
  const char* parameters;  // of the registry's URL
  const char* metadata;
  const char* paths;  // of documents; "" where there are none
};

constexpr Mode kModes[] = {
    {"interface", "register-mode=interface", "remote", ""},
    {"application-local", "register-mode=instance", "local", ""},
    {"application-remote", "register-mode=instance&metadata-paths=java", "remote", "java"},
    {"application-remote", "register-mode=instance&metadata-paths=go", "remote", "go"},
    {"application-remote", "register-mode=instance", "remote", "java,go"},
};

std::string Interface(int j) { return absl::StrFormat("com.example.shop.api.Service%03d", j); }

std::string Methods(int j) {
  static constexpr const char* kVerbs[] = {"get",    "find",  "list",  "create", "update",
                                           "remove", "count", "check", "lock",   "release"};
  std::vector<std::string> methods;
  for (int m = 0; m < 5 + j % 6; ++m) methods.push_back(absl::StrCat(kVerbs[m], "Record"));
  return absl::StrJoin(methods, ",");
}

struct Count {
  int64_t nodes = 0;
  int64_t bytes = 0;
};

// The part of the whole that a node belongs to, by the peers' names.
std::string PartOf(const std::string& path) {
  const std::vector<std::string> names = absl::StrSplit(path.substr(1), '/');
  if (names[0] == "services") return "instances";
  if (names[0] != "dubbo" || names.size() == 1) return "other";
  for (const char* part : {"mapping", "metadata", "config"}) {
    if (names[1] == part) return part;
  }
  if (names[1] == kApp) return "metadata";  // dubbo-go's place of documents
  return names.size() == 2 ? "interfaces" : names[2];
}

absl::Status CountBelow(RawZookeeper& zookeeper, const std::string& path,
                        std::map<std::string, Count>& parts) {
  auto children = zookeeper.Children(path);
  if (!children.ok()) return Annotate(children.status(), path);
  for (const std::string& name : *children) {
    const std::string child = absl::StrCat(path == "/" ? "" : path, "/", name);
    if (child == "/zookeeper") continue;
    auto value = zookeeper.Get(child);
    if (!value.ok()) return Annotate(value.status(), child);
    for (const std::string& part : {PartOf(child), std::string("total")}) {
      Count& count = parts[part];
      ++count.nodes;
      count.bytes += static_cast<int64_t>(child.size() + value->size());
    }
    if (absl::Status status = CountBelow(zookeeper, child, parts); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, Count>> Measure(const Mode& mode, int providers) {
  ZookeeperServer server;
  if (absl::Status started = server.Start(); !started.ok()) return started;
  RegistryFactories registries("registry");
  if (absl::Status added = AddZookeeper(registries); !added.ok()) return added;
  std::vector<std::unique_ptr<Client>> clients;
  for (int k = 0; k < providers; ++k) {
    ClientOptions options;
    options.app = kApp;
    options.registry = absl::StrCat("zookeeper://", server.address(), "?", mode.parameters);
    options.metadata = mode.metadata;
    // All exports become one revision, however slow the machine is.
    options.debounce = absl::Seconds(3);
    if (options.metadata == "local") options.metadata_protocols = {ThriftMetadata()};
    auto client = Client::Create(std::move(options), registries);
    if (!client.ok()) return client.status();
    for (int j = 0; j < kInterfaces; ++j) {
      absl::Status exported = (*client)->provider().Export(
          absl::StrFormat("dubbo://10.20.%d.%d:20880/%s?version=1.0.0&timeout=3000&methods=%s",
                          k / 250, 1 + k % 250, Interface(j), Methods(j)));
      if (!exported.ok()) return exported;
    }
    clients.push_back(*std::move(client));
  }
  for (const auto& client : clients) {
    if (absl::Status ready = client->Start(kPatience); !ready.ok()) return ready;
  }
  std::map<std::string, Count> parts;
  RawZookeeper zookeeper(server.address());
  if (absl::Status counted = CountBelow(zookeeper, "/", parts); !counted.ok()) return counted;
  return parts;
}

void Line(const Mode& mode, const std::string& parameters, absl::string_view metric,
          int64_t value) {
  std::cout << R"({"peer":"signpost","workload":"W4","params":{"mode":")" << mode.name << '"';
  if (*mode.paths != '\0') std::cout << R"(,"metadata_paths":")" << mode.paths << '"';
  std::cout << parameters << R"(},"metric":")" << metric << R"(","value":)" << value << "}"
            << std::endl;
}

absl::Status Run() {
  const char* narrowed = std::getenv("PEERS_W4_K");
  std::vector<int> counts;
  for (absl::string_view text :
       absl::StrSplit(narrowed == nullptr ? "10 100" : narrowed, ' ', absl::SkipEmpty())) {
    int count = 0;
    if (!absl::SimpleAtoi(text, &count) || count < 1 || count > 60000) {
      return absl::InvalidArgumentError(absl::StrCat("PEERS_W4_K: '", text, "' is no count"));
    }
    counts.push_back(count);
  }
  for (const Mode& mode : kModes) {
    std::map<int, int64_t> totals;
    for (int count : counts) {
      auto parts = Measure(mode, count);
      if (!parts.ok()) return Annotate(parts.status(), absl::StrCat(mode.name, ", ", count));
      const std::string shape =
          absl::StrCat(R"(,"instances":)", count, R"(,"interfaces":)", kInterfaces);
      for (const auto& [part, measured] : *parts) {
        const std::string parameters = absl::StrCat(shape, R"(,"part":")", part, "\"");
        Line(mode, parameters, "bytes", measured.bytes);
        Line(mode, parameters, "znodes", measured.nodes);
      }
      totals[count] = (*parts)["total"].bytes;
    }
    if (totals.size() < 2) continue;
    const auto [least, least_bytes] = *totals.begin();
    const auto [most, most_bytes] = *totals.rbegin();
    Line(mode, absl::StrCat(R"(,"interfaces":)", kInterfaces, R"(,"part":"each_further_instance")"),
         "bytes", (most_bytes - least_bytes) / (most - least));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace signpost

int main() {
  const absl::Status status = signpost::Run();
  if (!status.ok()) std::cerr << "w4_volume: " << status << std::endl;
  return status.ok() ? 0 : 1;
}

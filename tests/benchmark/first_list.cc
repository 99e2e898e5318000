// The first full list of one application with many instances, from a ZooKeeper of its own, and what
// one instance more or less costs: time, requests and memory. README.md says what the lines mean.
//   bazel run --config=opt //tests/benchmark:first_list -- [INSTANCES [RUNS [CHANGES]]]
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "signpost/client/client.h"
#include "signpost/client/plugins/zookeeper.h"
#include "signpost/common/await.h"
#include "signpost/common/clock.h"
#include "signpost/common/mutex.h"
#include "signpost/common/service_instance.h"
#include "signpost/common/status.h"
#include "signpost/metadata/metadata_info.h"
#include "signpost/metadata/revision.h"
#include "tests/support/zookeeper_server.h"

namespace signpost {
namespace {

constexpr char kApp[] = "order-provider";
constexpr char kService[] = "com.example.shop.api.OrderService";
constexpr int kWritesInFlight = 500;
constexpr absl::Duration kPatience = absl::Seconds(120);

absl::Duration Now() { return Clock::Real().MonotonicNow(); }

// Instance i of peers/README.md.
ServiceInstance Instance(int i, const std::string& revision) {
  static constexpr const char* kRegions[] = {"hangzhou", "beijing", "shanghai", "shenzhen"};
  ServiceInstance instance;
  instance.app = kApp;
  instance.host = absl::StrFormat("10.%d.%d.%d", i / 4 % 2, i / 256, i % 256);
  instance.port = 20880;
  instance.metadata[kRevisionKey] = revision;
  instance.metadata[kStorageTypeKey] = "remote";
  instance.metadata["region"] = kRegions[i % 4];
  instance.metadata[kTimestampKey] = "1700000000000";
  instance.SetEndpoints({{"dubbo", instance.port}});
  return instance;
}

// Who provides: instance nodes of a session of its own, and what a consumer needs besides.
class Writer {
 public:
  absl::Status Open(const std::string& registry, const RegistryFactories& registries) {
    auto client = Client::Create({.registry = registry}, registries);
    if (!client.ok()) return client.status();
    client_ = *std::move(client);
    MetadataInfo info;
    info.app = kApp;
    ServiceInfo service;
    service.protocol = "dubbo";
    service.name = service.path = kService;
    service.params = {{"methods", "getOrder,findOrders,placeOrder"}};
    info.services[service.match_key()] = service;
    info.revision = revision_ = ComputeRevision(info);
    RegistryCentre& centre = client_->centre();
    absl::Status status = Await(kPatience, [&](auto done) {
      centre.metadata_report().Publish(info, {kPatience}, std::move(done));
    });
    if (!status.ok()) return status;
    return Await(kPatience, [&](auto done) {
      centre.mapping_store().CompareAndSet(kService, kApp, MappingStore::kAbsent, {kPatience},
                                           std::move(done));
    });
  }

  // Instances [from, to).
  absl::Status Add(int from, int to) {
    while (from < to) {
      const int end = std::min(to, from + kWritesInFlight);
      std::vector<Waiter<absl::StatusOr<int64_t>>> waiters(static_cast<size_t>(end - from));
      for (auto& waiter : waiters) {
        const ServiceInstance instance = Instance(from++, revision_);
        client_->centre().store().CreateSessionBound(Path(instance), ToCuratorJson(instance),
                                                     kPatience, {kPatience}, waiter.Callback());
      }
      for (auto& waiter : waiters) {
        absl::Status status = waiter.Wait(kPatience).status();
        if (!status.ok()) return status;
      }
    }
    return absl::OkStatus();
  }

  absl::Status Remove(int i) {
    return Await(kPatience, [&](auto done) {
      client_->centre().store().Delete(Path(Instance(i, revision_)), Store::kAnyVersion,
                                       {kPatience}, std::move(done));
    });
  }

 private:
  std::string Path(const ServiceInstance& instance) const {
    return client_->centre().discovery().PathOf(instance);
  }

  std::unique_ptr<Client> client_;
  std::string revision_;
};

// How many there are for the consumer, and since when.
class Seen {
 public:
  void Tell(size_t count) {
    MutexLock lock(mutex_);
    if (count != count_) since_ = Now();
    count_ = count;
    changed_.SignalAll();
  }
  absl::StatusOr<absl::Duration> WaitFor(size_t count) {
    const absl::Duration end = Now() + kPatience;
    MutexLock lock(mutex_);
    while (count_ != count) {
      if (Now() >= end) {
        return absl::DeadlineExceededError(absl::StrCat(count_, " instances, not ", count));
      }
      changed_.WaitFor(mutex_, absl::Seconds(1));
    }
    return since_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  size_t count_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Duration since_ ABSL_GUARDED_BY(mutex_);
};

// Requests that the server received from all sessions but `others`, as W5 counts them.
class Requests {
 public:
  explicit Requests(const ZookeeperServer& server) : server_(server) {
    for (const auto& [session, count] : Read()) others_.insert(session);
  }

  // Once no more come for a second.
  int64_t Settled() const {
    const absl::Duration end = Now() + kPatience;
    int64_t last = Count();
    absl::Duration since = Now();
    while (Now() < since + absl::Seconds(1) && Now() < end) {
      (void)Waiter<>().Wait(absl::Milliseconds(50));
      const int64_t now = Count();
      if (now != last) since = Now();
      last = now;
    }
    return last;
  }

 private:
  // " /127.0.0.1:41234[1](queued=0,recved=9,sent=9,sid=0x1000a,lop=PING,..."
  std::vector<std::pair<std::string, int64_t>> Read() const {
    std::vector<std::pair<std::string, int64_t>> result;
    for (absl::string_view line : absl::StrSplit(server_.Word("cons"), '\n')) {
      int64_t received = 0;
      std::string session;
      for (absl::string_view field : absl::StrSplit(line, absl::ByAnyChar("(,)"))) {
        if (absl::ConsumePrefix(&field, "recved=")) (void)absl::SimpleAtoi(field, &received);
        if (absl::ConsumePrefix(&field, "sid=")) session = std::string(field);
      }
      if (!session.empty()) result.emplace_back(std::move(session), received);
    }
    return result;
  }
  int64_t Count() const {
    int64_t sum = 0;
    for (const auto& [session, count] : Read()) {
      if (others_.count(session) == 0) sum += count;
    }
    return sum;
  }

  const ZookeeperServer& server_;
  std::set<std::string> others_;
};

// A consumer up to the list of instances (W5), or up to a Directory that can be picked from.
struct Probe {
  std::unique_ptr<Client> client;
  std::shared_ptr<Directory> directory;
  Subscription changes;

  absl::Status Open(bool to_directory, const std::string& registry,
                    const RegistryFactories& registries, const std::shared_ptr<Seen>& seen) {
    auto made = Client::Create({.app = "order-consumer", .registry = registry}, registries);
    if (!made.ok()) return made.status();
    client = *std::move(made);
    if (!to_directory) {
      changes = client->centre().discovery().Watch(
          kApp, [seen](const absl::StatusOr<InstanceUpdate>& update) {
            if (update.ok()) seen->Tell(update->list->instances.size());
          });
      return absl::OkStatus();
    }
    auto referred = client->consumer().Refer(kService);
    if (!referred.ok()) return referred.status();
    directory = *std::move(referred);
    changes =
        directory->OnChange([seen](const ServiceAddresses& now) { seen->Tell(now.list->size()); });
    return absl::OkStatus();
  }
};

struct Figures {
  std::vector<double> first_ms, first_requests, held_bytes;
  std::vector<double> add_ms, add_requests, remove_ms, remove_requests;
};

double Best(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double HeldBytes() {
  const struct mallinfo2 now = mallinfo2();
  return static_cast<double>(now.uordblks) + static_cast<double>(now.hblkhd);
}

struct Plan {
  int instances = 10000;
  int runs = 3;
  int changes = 4;  // additions and removals in each run
};

class Workload {
 public:
  Workload(Plan plan, const ZookeeperServer& server, Writer& writer,
           const RegistryFactories& registries)
      : plan_(plan), server_(server), writer_(writer), registries_(registries), requests_(server) {}

  absl::Status Measure(bool to_directory) {
    Figures figures;
    for (int run = 0; run < plan_.runs; ++run) {
      absl::Status status = Run(to_directory, figures);
      if (!status.ok()) return status;
      if (!server_.WaitForSessions(1, kPatience)) {
        return absl::DeadlineExceededError("the consumer's session does not end");
      }
    }
    const std::string workload = to_directory ? "W5-directory" : "W5";
    const auto line = [&](const char* op, const char* stat, const char* metric, double value) {
      const bool whole = value == std::floor(value);
      std::cout << absl::StrFormat(
                       R"({"peer":"signpost","workload":"%s","params":{"n":%d,"op":"%s",)"
                       R"("stat":"%s"},"metric":"%s","value":%.*f})",
                       workload, plan_.instances, op, stat, metric, whole ? 0 : 3, value)
                << std::endl;
    };
    line("first_list", "first_in_process", "ms", figures.first_ms[0]);
    line("first_list", "best", "ms", Best(figures.first_ms));
    line("first_list", "median", "ms", Median(figures.first_ms));
    line("subscribed", "median", "zk_ops", Median(figures.first_requests));
    line("first_list", "held_median", "bytes", Median(figures.held_bytes));
    line("add_one", "median", "ms", Median(figures.add_ms));
    line("add_one", "median", "zk_ops", Median(figures.add_requests));
    line("remove_one", "median", "ms", Median(figures.remove_ms));
    line("remove_one", "median", "zk_ops", Median(figures.remove_requests));
    return absl::OkStatus();
  }

 private:
  absl::Status Run(bool to_directory, Figures& figures) {
    const auto seen = std::make_shared<Seen>();
    const size_t count = static_cast<size_t>(plan_.instances);
    const double before = HeldBytes();
    const absl::Duration start = Now();
    Probe probe;
    absl::Status status =
        probe.Open(to_directory, "zookeeper://" + server_.address(), registries_, seen);
    if (!status.ok()) return status;
    absl::StatusOr<absl::Duration> at = seen->WaitFor(count);
    if (!at.ok()) return at.status();
    figures.first_ms.push_back(absl::ToDoubleMilliseconds(*at - start));
    int64_t requests = requests_.Settled();
    figures.first_requests.push_back(static_cast<double>(requests));
    figures.held_bytes.push_back(HeldBytes() - before);
    for (int change = 0; change < plan_.changes; ++change) {
      const int i = plan_.instances + change;
      status = Change([&] { return writer_.Add(i, i + 1); }, *seen, count + 1, requests,
                      figures.add_ms, figures.add_requests);
      if (!status.ok()) return status;
      status = Change([&] { return writer_.Remove(i); }, *seen, count, requests, figures.remove_ms,
                      figures.remove_requests);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // Times what makes the list `count` long. `requests`: up to now.
  template <typename Step>
  absl::Status Change(Step step, Seen& seen, size_t count, int64_t& requests,
                      std::vector<double>& ms, std::vector<double>& made) {
    const absl::Duration start = Now();
    absl::Status status = step();
    if (!status.ok()) return status;
    absl::StatusOr<absl::Duration> at = seen.WaitFor(count);
    if (!at.ok()) return at.status();
    ms.push_back(absl::ToDoubleMilliseconds(*at - start));
    const int64_t now = requests_.Settled();
    made.push_back(static_cast<double>(now - requests));
    requests = now;
    return absl::OkStatus();
  }

  const Plan plan_;
  const ZookeeperServer& server_;
  Writer& writer_;
  const RegistryFactories& registries_;
  const Requests requests_;
};

absl::Status RunAll(const Plan& plan) {
  RegistryFactories registries("registry");
  absl::Status status = AddZookeeper(registries);
  if (!status.ok()) return status;
  ZookeeperServer server;
  if (status = server.Start(); !status.ok()) return status;
  Writer writer;
  status = writer.Open("zookeeper://" + server.address(), registries);
  // The first one makes the folder.
  if (status.ok()) status = writer.Add(0, 1);
  if (status.ok()) status = writer.Add(1, plan.instances);
  if (!status.ok()) return Annotate(status, "set-up");
  Workload workload(plan, server, writer, registries);
  status = workload.Measure(false);
  return status.ok() ? workload.Measure(true) : status;
}

}  // namespace
}  // namespace signpost

int main(int argc, char** argv) {
  signpost::Plan plan;
  int* const numbers[] = {&plan.instances, &plan.runs, &plan.changes};
  for (int i = 1; i < argc; ++i) {
    if (i > 3 || !absl::SimpleAtoi(argv[i], numbers[i - 1]) || *numbers[i - 1] < 1) {
      std::cerr << "usage: first_list [INSTANCES [RUNS [CHANGES]]]\n";
      return 2;
    }
  }
  const absl::Status status = signpost::RunAll(plan);
  if (status.ok()) return 0;
  std::cerr << "first_list: " << status.ToString() << "\n";
  return 1;
}

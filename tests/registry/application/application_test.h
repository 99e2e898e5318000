// What the tests of the application level share: processes on one memory centre and a listener that
// keeps what it heard.
#ifndef SIGNPOST_TESTS_REGISTRY_APPLICATION_APPLICATION_TEST_H_
#define SIGNPOST_TESTS_REGISTRY_APPLICATION_APPLICATION_TEST_H_

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "signpost/common/manual_executor.h"
#include "signpost/registry/application/application_registry.h"
#include "signpost/registry/memory/memory_store.h"
#include "signpost/registry/store/local_centre.h"
#include "signpost/registry/store/store_centre.h"

namespace signpost {

class Recorder final : public NotifyListener {
 public:
  void Notify(const ServiceAddresses& addresses) override {
    ++count;
    EXPECT_TRUE(addresses.delta.to_version == addresses.list->version());
    last = addresses;
    if (last.list->empty()) ++empty;
  }
  std::vector<std::string> Hosts() const {
    std::vector<std::string> hosts;
    if (last.list == nullptr) return hosts;
    last.list->ForEach([&](const Endpoint& endpoint) { hosts.push_back(endpoint.address()); });
    std::sort(hosts.begin(), hosts.end());
    return hosts;
  }
  int count = 0;
  int empty = 0;
  ServiceAddresses last;
};

using Hosts = std::vector<std::string>;

class ApplicationRegistryTest : public testing::Test {
 protected:
  // What stores post when they go holds the executor.
  ~ApplicationRegistryTest() override {
    admin_.reset();
    executor_->RunUntilIdle();
  }

  // One process.
  struct Process {
    std::unique_ptr<RegistryCentre> centre;
    std::unique_ptr<EndpointTable> table = std::make_unique<EndpointTable>();
    std::unique_ptr<MetadataResolver> resolver;
    std::unique_ptr<ApplicationRegistry> registry;
  };

  std::unique_ptr<Process> Start(const std::string& app) {
    return Start(app, NewLocalStore(local_, executor_));
  }
  // On a store of the test's own, with what asks instances.
  std::unique_ptr<Process> Start(const std::string& app, std::unique_ptr<Store> store,
                                 std::vector<std::unique_ptr<MetadataFetcher>> fetchers = {}) {
    auto process = std::make_unique<Process>();
    process->centre =
        NewStoreCentre(*Url::Parse("memory://application-test"), executor_, std::move(store));
    MetadataResolver::Options resolver_options;
    resolver_options.shuffle = false;
    process->resolver = std::make_unique<MetadataResolver>(
        *executor_, &process->centre->metadata_report(), std::move(fetchers), resolver_options);
    ApplicationRegistryOptions options;
    options.app = app;
    process->registry = std::make_unique<ApplicationRegistry>(
        *executor_, *process->centre, *process->table, *process->resolver, options);
    return process;
  }

  void Export(Process& process, const std::string& url) {
    std::optional<absl::Status> done;
    process.registry->Register(*Url::Parse(url), {}, [&](absl::Status s) { done = s; });
    Run();
    ASSERT_TRUE(done.has_value()) << url;
    EXPECT_TRUE(done->ok()) << *done;
  }

  void Run() { executor_->AdvanceAndRun(absl::Milliseconds(100)); }

  void Put(const std::string& key, const std::string& value) {
    admin_->Put(key, value, {}, [](absl::StatusOr<int64_t> v) { EXPECT_TRUE(v.ok()); });
    executor_->RunUntilIdle();
  }
  void Delete(const std::string& key) {
    admin_->Delete(key, Store::kAnyVersion, {}, [](absl::Status s) { EXPECT_TRUE(s.ok()) << s; });
    executor_->RunUntilIdle();
  }
  // What a foreign provider writes.
  void PutInstance(const std::string& app, const std::string& host, const std::string& revision,
                   std::map<std::string, std::string> metadata = {}) {
    ServiceInstance instance;
    instance.app = app;
    instance.host = host;
    instance.port = 20880;
    instance.metadata = std::move(metadata);
    instance.metadata[kRevisionKey] = revision;
    instance.metadata[kStorageTypeKey] = "remote";
    Put("/services/" + app + "/" + instance.id(), ToCuratorJson(instance));
  }
  void PutDocument(const std::string& app, const std::string& revision,
                   const std::string& params = "{}", int port = 0) {
    Put("/dubbo/metadata/" + app + "/" + revision,
        R"({"app":")" + app + R"(","revision":")" + revision +
            R"(","services":{"x":{"name":"org.example.Echo","path":"org.example.Echo",)" +
            R"("protocol":"tri","port":)" + std::to_string(port) + R"(,"params":)" + params +
            "}}}");
  }
  static Url Consumer(const std::string& parameters = "") {
    return *Url::Parse("consumer://192.0.2.99/org.example.Echo?interface=org.example.Echo" +
                       parameters);
  }

  SimulatedClock clock_;
  std::shared_ptr<ManualExecutor> executor_ = std::make_shared<ManualExecutor>(clock_);
  std::shared_ptr<LocalCentre> local_ = MemoryCentre("application-test");
  std::unique_ptr<Store> admin_ = NewLocalStore(local_, executor_);
};

}  // namespace signpost

#endif  // SIGNPOST_TESTS_REGISTRY_APPLICATION_APPLICATION_TEST_H_

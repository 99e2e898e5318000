// What the tests of the interface level share: processes on one memory centre and listeners that
// keep what they heard.
#ifndef SIGNPOST_TESTS_REGISTRY_INTERFACE_INTERFACE_TEST_H_
#define SIGNPOST_TESTS_REGISTRY_INTERFACE_INTERFACE_TEST_H_

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "signpost/common/manual_executor.h"
#include "signpost/registry/interface/interface_registry.h"
#include "signpost/registry/memory/memory_store.h"
#include "signpost/registry/store/local_centre.h"
#include "signpost/registry/store/store_centre.h"

namespace signpost {

using Texts = std::vector<std::string>;

class AddressRecorder final : public NotifyListener {
 public:
  void Notify(const ServiceAddresses& addresses) override {
    ++count;
    EXPECT_EQ(addresses.delta.to_version, addresses.list->version());
    last = addresses;
  }
  Texts Hosts() const {
    Texts hosts;
    if (last.list == nullptr) return hosts;
    last.list->ForEach([&](const Endpoint& endpoint) { hosts.push_back(endpoint.address()); });
    std::sort(hosts.begin(), hosts.end());
    return hosts;
  }
  int count = 0;
  ServiceAddresses last;
};

class InterfaceTest : public testing::Test {
 protected:
  static constexpr char kProviders[] = "/dubbo/org.example.Echo/providers";

  // What stores post when they go holds the executor.
  ~InterfaceTest() override {
    admin_.reset();
    executor_->RunUntilIdle();
  }

  // One process.
  struct Process {
    std::unique_ptr<RegistryCentre> centre;
    std::unique_ptr<EndpointTable> table = std::make_unique<EndpointTable>();
    std::unique_ptr<InterfaceRegistry> registry;
  };

  // `parameters` of the registry URL.
  std::unique_ptr<Process> Start(const std::string& parameters = "") {
    return Start(parameters, NewLocalStore(local_, executor_));
  }
  std::unique_ptr<Process> Start(const std::string& parameters, std::unique_ptr<Store> store) {
    // Processes do not start at the same time.
    clock_.Advance(absl::Milliseconds(10));
    auto process = std::make_unique<Process>();
    const Url url = *Url::Parse("memory://interface-test?" + parameters);
    process->centre = NewStoreCentre(url, executor_, std::move(store));
    auto options = InterfaceRegistryOptions::FromUrl(url);
    EXPECT_TRUE(options.ok()) << options.status();
    process->registry = std::make_unique<InterfaceRegistry>(*executor_, *process->centre,
                                                            *process->table, *options);
    return process;
  }

  using Answer = std::shared_ptr<std::optional<absl::Status>>;
  Answer Register(Process& process, const std::string& url, absl::Duration timeout) {
    auto answer = std::make_shared<std::optional<absl::Status>>();
    CallOptions options;
    options.timeout = timeout;
    process.registry->Register(*Url::Parse(url), options,
                               [answer](absl::Status s) { *answer = s; });
    executor_->RunUntilIdle();
    return answer;
  }
  Answer Unregister(Process& process, const std::string& url, absl::Duration timeout) {
    auto answer = std::make_shared<std::optional<absl::Status>>();
    CallOptions options;
    options.timeout = timeout;
    process.registry->Unregister(*Url::Parse(url), options,
                                 [answer](absl::Status s) { *answer = s; });
    executor_->RunUntilIdle();
    return answer;
  }
  void Export(Process& process, const std::string& url) {
    const Answer answer = Register(process, url, absl::Seconds(5));
    ASSERT_TRUE(answer->has_value()) << url;
    EXPECT_TRUE((*answer)->ok()) << **answer;
  }
  void Withdraw(Process& process, const std::string& url) {
    const Answer answer = Unregister(process, url, absl::Seconds(5));
    ASSERT_TRUE(answer->has_value()) << url;
    EXPECT_TRUE((*answer)->ok()) << **answer;
  }

  // Children of a folder as URLs, sorted.
  Texts Nodes(const std::string& folder = kProviders) {
    Texts urls;
    admin_->List(folder, {}, [&](absl::StatusOr<std::vector<StoreChild>> children) {
      ASSERT_TRUE(children.ok()) << children.status();
      for (const StoreChild& child : *children) {
        urls.push_back(FormDecode(child.name).value_or(child.name));
      }
    });
    executor_->RunUntilIdle();
    return urls;
  }
  std::optional<StoreValue> Read(const std::string& key) {
    std::optional<StoreValue> value;
    admin_->Get(key, {}, [&](absl::StatusOr<StoreValue> v) {
      if (v.ok()) value = *v;
    });
    executor_->RunUntilIdle();
    return value;
  }
  static std::string PathOf(const std::string& url) {
    return absl::StrCat(kProviders, "/", FormEncode(url));
  }

  // What a foreign peer writes.
  void Put(const std::string& key) {
    admin_->Put(key, "", {}, [](absl::StatusOr<int64_t> v) { EXPECT_TRUE(v.ok()) << v.status(); });
    executor_->RunUntilIdle();
  }
  void PutProvider(const std::string& url) { Put(PathOf(url)); }
  void Delete(const std::string& key) {
    admin_->Delete(key, Store::kAnyVersion, {}, [](absl::Status s) { EXPECT_TRUE(s.ok()) << s; });
    executor_->RunUntilIdle();
  }

  static Url Consumer(const std::string& parameters = "") {
    return *Url::Parse("consumer://192.0.2.99/org.example.Echo?interface=org.example.Echo" +
                       parameters);
  }
  std::shared_ptr<AddressRecorder> Subscribe(Process& process, const Url& consumer) {
    auto listener = std::make_shared<AddressRecorder>();
    process.registry->Subscribe(consumer, listener);
    executor_->RunUntilIdle();
    return listener;
  }

  SimulatedClock clock_;
  std::shared_ptr<ManualExecutor> executor_ = std::make_shared<ManualExecutor>(clock_);
  std::shared_ptr<LocalCentre> local_ = MemoryCentre("interface-test");
  std::unique_ptr<Store> admin_ = NewLocalStore(local_, executor_);
};

}  // namespace signpost

#endif  // SIGNPOST_TESTS_REGISTRY_INTERFACE_INTERFACE_TEST_H_

// A Registry that a test drives by hand: it keeps what it is asked for and tells what it is told
// to.
//
// Threads: any; Notify of a listener runs on the caller of Publish, which plays the control
// executor.
#ifndef SIGNPOST_TESTS_CLIENT_FAKE_REGISTRY_H_
#define SIGNPOST_TESTS_CLIENT_FAKE_REGISTRY_H_

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "signpost/client/centre_registries.h"
#include "signpost/common/address_list.h"
#include "signpost/common/executor.h"
#include "signpost/common/mutex.h"
#include "signpost/registry/registry.h"

namespace signpost {

inline EndpointSpec GreeterAt(int last, int32_t weight = 100) {
  EndpointSpec spec;
  spec.host = "192.0.2." + std::to_string(last);
  spec.port = 20880;
  EndpointService service;
  service.name = service.path = "org.example.Greeter";
  service.protocol = "tri";
  service.app = "shop";
  spec.service = std::make_shared<EndpointService>(std::move(service));
  spec.weight = weight;
  return spec;
}

class FakeRegistry final : public Registry {
 public:
  struct Call {
    Url url;
    CallOptions options;
    DoneCallback done;
  };

  void Register(const Url& provider, const CallOptions& options, DoneCallback done) override {
    Take(registers, {provider, options, std::move(done)});
  }
  void Unregister(const Url& provider, const CallOptions& options, DoneCallback done) override {
    Take(unregisters, {provider, options, std::move(done)});
  }
  void UnregisterAll(const CallOptions& options, DoneCallback done) override {
    Take(unregister_alls, {Url(), options, std::move(done)});
  }
  void Subscribe(const Url& consumer, std::shared_ptr<NotifyListener> listener) override {
    MutexLock lock(mutex_);
    subscribed.emplace_back(consumer, std::move(listener));
  }
  void Unsubscribe(const Url& consumer, const std::shared_ptr<NotifyListener>& listener) override {
    MutexLock lock(mutex_);
    auto at = std::find(subscribed.begin(), subscribed.end(), std::make_pair(consumer, listener));
    if (at == subscribed.end()) return;
    subscribed.erase(at);
    ++unsubscribed;
  }
  void Lookup(const Url&, const CallOptions&, LookupCallback done) override {
    std::move(done)(absl::UnimplementedError("fake"));
  }
  const Url& url() const override { return url_; }
  bool IsAvailable() const override { return true; }
  void Close() override {}

  // Tells all listeners that the service now has `specs`.
  void Publish(std::vector<EndpointSpec> specs, absl::Status state = absl::OkStatus(),
               bool kept = false) {
    std::vector<Endpoint> wanted;
    for (EndpointSpec& spec : specs) wanted.push_back(interned_in->Intern(std::move(spec)));
    ServiceAddresses addresses;
    addresses.delta = list_->DiffTo(wanted);
    list_ = list_->Apply(addresses.delta);
    addresses.list = list_;
    addresses.delta.to_version = list_->version();
    addresses.apps = apps;
    addresses.state = std::move(state);
    addresses.kept = kept;
    std::vector<std::pair<Url, std::shared_ptr<NotifyListener>>> now;
    {
      MutexLock lock(mutex_);
      now = subscribed;
    }
    for (auto& [consumer, listener] : now) listener->Notify(addresses);
  }

  // Ends the oldest open call of `calls`.
  static void Answer(std::vector<Call>& calls, absl::Status status) {
    DoneCallback done = std::move(calls.front().done);
    calls.erase(calls.begin());
    std::move(done)(std::move(status));
  }

  EndpointTable table;
  // Of one client, registries share one.
  EndpointTable* interned_in = &table;
  // With `answer_at_once`, calls end inside the call and are still kept here.
  bool answer_at_once = false;
  std::vector<std::string> apps = {"shop"};
  std::vector<Call> registers;
  std::vector<Call> unregisters;
  std::vector<Call> unregister_alls;
  std::vector<std::pair<Url, std::shared_ptr<NotifyListener>>> subscribed;
  int unsubscribed = 0;
  // Runs what is answered at once, as the control executor would: never inside the call.
  std::shared_ptr<Executor> executor;

 private:
  void Take(std::vector<Call>& calls, Call call) {
    if (answer_at_once) {
      executor->Post(
          [done = std::move(call.done)]() mutable { std::move(done)(absl::OkStatus()); });
    }
    MutexLock lock(mutex_);
    calls.push_back(std::move(call));
  }

  Url url_;
  Mutex mutex_;
  std::shared_ptr<const AddressList> list_ = AddressList::Empty();
};

// A centre that is asked at application level alone, and has no override rules.
inline CentreRegistries ApplicationLevel(std::shared_ptr<Registry> registry) {
  CentreRegistries centre;
  centre.application = std::move(registry);
  return centre;
}

}  // namespace signpost

#endif  // SIGNPOST_TESTS_CLIENT_FAKE_REGISTRY_H_

#include "signpost/registry/interface/interface_registry.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "signpost/common/mutex.h"
#include "signpost/registry/callback_guard.h"
#include "signpost/registry/interface/interface_registrar.h"
#include "signpost/registry/interface/interface_subscriber.h"
#include "signpost/registry/interface/pending_calls.h"
#include "signpost/registry/store/store_centre.h"

namespace signpost {

using interface_internal::InterfaceRegistrar;
using interface_internal::InterfaceSubscriber;
using interface_internal::PendingCalls;
using registry_internal::CallbackGuard;

namespace {

absl::Status Closed() { return absl::FailedPreconditionError("the registry is closed"); }

std::vector<std::string> Items(absl::string_view list) {
  std::vector<std::string> items;
  for (absl::string_view item : absl::StrSplit(list, ',', absl::SkipWhitespace())) {
    items.emplace_back(absl::StripAsciiWhitespace(item));
  }
  return items;
}

}  // namespace

absl::StatusOr<InterfaceRegistryOptions> InterfaceRegistryOptions::FromUrl(const Url& registry) {
  InterfaceRegistryOptions options;
  const absl::StatusOr<bool> simplified = registry.GetBool("simplified", options.simplified);
  if (!simplified.ok()) return simplified.status();
  const absl::StatusOr<bool> empty_protection =
      registry.GetBool("enable-empty-protection", options.empty_protection);
  if (!empty_protection.ok()) return empty_protection.status();
  options.simplified = *simplified;
  options.empty_protection = *empty_protection;
  options.extra_keys = Items(registry.Get("extra-keys"));
  options.accepts = AcceptedProtocols::Parse(registry.Get("accepts"));
  return options;
}

class InterfaceRegistry::State {
 public:
  State(Executor& executor_in, RegistryCentre& centre_in, EndpointTable& table, std::string root,
        InterfaceRegistryOptions options)
      : executor(executor_in),
        centre(centre_in),
        registrar(executor_in, centre_in, guard, root, options),
        subscriber(centre_in.store(), table, guard, root, options.empty_protection),
        lookups(executor_in, guard) {}

  // A pair of consumer URL and listener. The guard makes Unsubscribe wait for a running Notify.
  struct Entry {
    uint64_t id = 0;
    std::shared_ptr<NotifyListener> listener;
    CallbackGuard guard;
  };
  using EntryKey = std::pair<std::string, NotifyListener*>;

  // Posts `fn(done)`; `done` is told when it can never run.
  template <typename Done, typename F>
  void PostCall(Done done, F fn) {
    executor.Post([guard = guard, done = std::move(done), fn = std::move(fn)]() mutable {
      bool ran = false;
      guard.Wrap([&] {
        ran = true;
        fn(std::move(done));
      })();
      if (!ran) std::move(done)(Closed());
    });
  }

  void PostRemove(uint64_t id) {
    executor.Post(guard.Wrap([this, id] { subscriber.Remove(id); }));
  }

  Executor& executor;
  RegistryCentre& centre;
  CallbackGuard guard;
  InterfaceRegistrar registrar;
  InterfaceSubscriber subscriber;
  PendingCalls<absl::StatusOr<ServiceAddresses>> lookups;
  std::atomic<uint64_t> next_id{1};
  std::atomic<bool> closed{false};

  Mutex mutex;
  std::map<EntryKey, std::shared_ptr<Entry>> entries ABSL_GUARDED_BY(mutex);
};

InterfaceRegistry::InterfaceRegistry(Executor& executor, RegistryCentre& centre,
                                     EndpointTable& table, InterfaceRegistryOptions options)
    : state_(std::make_shared<State>(executor, centre, table,
                                     StoreLayout::FromUrl(centre.url()).interfaces,
                                     std::move(options))) {}

InterfaceRegistry::~InterfaceRegistry() { Close(); }

void InterfaceRegistry::Register(const Url& url, const CallOptions& options, DoneCallback done) {
  State* state = state_.get();
  state->PostCall(std::move(done), [state, url, options](DoneCallback end) {
    state->registrar.Register(url, options, std::move(end));
  });
}

void InterfaceRegistry::Unregister(const Url& url, const CallOptions& options, DoneCallback done) {
  State* state = state_.get();
  state->PostCall(std::move(done), [state, url, options](DoneCallback end) {
    state->registrar.Unregister(url, options, std::move(end));
  });
}

void InterfaceRegistry::UnregisterAll(const CallOptions& options, DoneCallback done) {
  State* state = state_.get();
  state->PostCall(std::move(done), [state, options](DoneCallback end) {
    state->registrar.UnregisterAll(options, std::move(end));
  });
}

void InterfaceRegistry::Subscribe(const Url& consumer, std::shared_ptr<NotifyListener> listener) {
  State* state = state_.get();
  if (listener == nullptr || state->closed.load()) return;
  auto entry = std::make_shared<State::Entry>();
  entry->id = state->next_id.fetch_add(1);
  entry->listener = std::move(listener);
  {
    MutexLock lock(state->mutex);
    const State::EntryKey key{consumer.ToFullString(), entry->listener.get()};
    if (!state->entries.emplace(key, entry).second) return;
  }
  state->executor.Post(state->guard.Wrap([state, consumer, entry] {
    if (entry->guard.closed()) return;
    state->subscriber.AddList(
        entry->id, consumer,
        entry->guard.Wrap([listener = entry->listener](const ServiceAddresses& addresses) {
          listener->Notify(addresses);
        }));
  }));
}

void InterfaceRegistry::Unsubscribe(const Url& consumer,
                                    const std::shared_ptr<NotifyListener>& listener) {
  State* state = state_.get();
  std::shared_ptr<State::Entry> entry;
  {
    MutexLock lock(state->mutex);
    auto it = state->entries.find({consumer.ToFullString(), listener.get()});
    if (it == state->entries.end()) return;
    entry = std::move(it->second);
    state->entries.erase(it);
  }
  entry->guard.Close();
  state->PostRemove(entry->id);
}

void InterfaceRegistry::Lookup(const Url& consumer, const CallOptions& options,
                               LookupCallback done) {
  State* state = state_.get();
  const uint64_t id = state->next_id.fetch_add(1);
  state->PostCall(std::move(done), [state, weak = std::weak_ptr<State>(state_), id, consumer,
                                    options](LookupCallback end) {
    const uint64_t call = state->lookups.Add(
        options,
        // Not from inside the subscription's own call.
        [weak, id, end = std::move(end)](absl::StatusOr<ServiceAddresses> answer) mutable {
          if (auto alive = weak.lock()) alive->PostRemove(id);
          std::move(end)(std::move(answer));
        },
        [consumer] {
          return absl::DeadlineExceededError(
              absl::StrCat("addresses of ", consumer.service_interface()));
        });
    state->subscriber.AddList(id, consumer, [state, call](const ServiceAddresses& addresses) {
      state->lookups.End(call, addresses);
    });
  });
}

Subscription InterfaceRegistry::WatchUrls(const Url& consumer, UrlsCallback on_urls) {
  State* state = state_.get();
  if (state->closed.load()) return Subscription();
  const uint64_t id = state->next_id.fetch_add(1);
  CallbackGuard guard;
  state->executor.Post(
      state->guard.Wrap([state, consumer, id, guard, on_urls = std::move(on_urls)]() mutable {
        if (guard.closed()) return;
        state->subscriber.AddUrls(id, consumer, guard.Wrap(std::move(on_urls)));
      }));
  return Subscription([weak = std::weak_ptr<State>(state_), id, guard]() mutable {
    guard.Close();
    if (auto alive = weak.lock()) alive->PostRemove(id);
  });
}

const Url& InterfaceRegistry::url() const { return state_->centre.url(); }

bool InterfaceRegistry::IsAvailable() const {
  return !state_->closed.load() && state_->centre.store().IsAvailable();
}

void InterfaceRegistry::Close() {
  State* state = state_.get();
  if (state->closed.exchange(true)) return;
  // From here on no callback of ours runs.
  state->guard.Close();
  {
    MutexLock lock(state->mutex);
    for (auto& [key, entry] : state->entries) entry->guard.Close();
    state->entries.clear();
  }
  state->registrar.Close();
  state->lookups.Close(Closed());
  // Inside one of our own calls the subscriptions are still in use further up the stack.
  if (!state->executor.IsCurrent()) return state->subscriber.Clear();
  state->executor.Post([keep = state_] { keep->subscriber.Clear(); });
}

std::vector<std::string> InterfaceRegistry::registered_paths() const {
  return state_->registrar.paths();
}

}  // namespace signpost

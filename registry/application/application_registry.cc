#include "signpost/registry/application/application_registry.h"

#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "signpost/common/mutex.h"
#include "signpost/common/status.h"
#include "signpost/registry/application/application_registrar.h"
#include "signpost/registry/application/application_subscriber.h"
#include "signpost/registry/callback_guard.h"

namespace signpost {

using application_internal::ApplicationRegistrar;
using application_internal::ApplicationSubscriber;
using registry_internal::CallbackGuard;

namespace {

absl::Status Closed() { return absl::FailedPreconditionError("the registry is closed"); }

}  // namespace

class ApplicationRegistry::State {
 public:
  State(Executor& executor_in, RegistryCentre& centre_in, EndpointTable& table,
        MetadataResolver& resolver, ApplicationRegistryOptions options)
      : executor(executor_in),
        centre(centre_in),
        published(options.published),
        mapping(executor_in, centre_in.mapping_store(), ServiceNameMapping::Options()),
        registrar(executor_in, centre_in, mapping, guard, std::move(options)),
        subscriber(executor_in, centre_in, table, resolver, mapping, guard) {}

  // A pair of consumer URL and listener. The guard makes Unsubscribe wait for a running Notify.
  struct Entry {
    uint64_t id = 0;
    Url consumer;
    std::shared_ptr<NotifyListener> listener;
    CallbackGuard guard;
  };
  using EntryKey = std::pair<std::string, NotifyListener*>;

  // One call of Lookup.
  struct Question {
    LookupCallback done;
    uint64_t id = 0;
    Executor::TimerId deadline = 0;
    CancelToken cancel;
    int cancel_id = 0;
    absl::Status why;  // there is no answer yet
  };

  // Posts `fn`; `done` is told when it can never run.
  template <typename F>
  void PostCall(DoneCallback done, F fn) {
    executor.Post([guard = guard, done = std::move(done), fn = std::move(fn)]() mutable {
      bool ran = false;
      guard.Wrap([&] {
        ran = true;
        fn(std::move(done));
      })();
      if (!ran) std::move(done)(Closed());
    });
  }

  void EndLookup(uint64_t id, absl::StatusOr<ServiceAddresses> answer) {
    auto it = questions.find(id);
    if (it == questions.end()) return;
    Question question = std::move(it->second);
    questions.erase(it);
    executor.Cancel(question.deadline);
    question.cancel.RemoveCallback(question.cancel_id);
    // Not from inside the subscription's own call.
    executor.Post(guard.Wrap([this, id] { subscriber.Remove(id); }));
    std::move(question.done)(std::move(answer));
  }

  Executor& executor;
  RegistryCentre& centre;
  const std::shared_ptr<PublishedMetadata> published;  // may be null
  CallbackGuard guard;
  ServiceNameMapping mapping;
  ApplicationRegistrar registrar;
  ApplicationSubscriber subscriber;
  std::map<uint64_t, Question> questions;  // on the executor
  std::atomic<uint64_t> next_id{1};
  std::atomic<bool> closed{false};

  Mutex mutex;
  std::map<EntryKey, std::shared_ptr<Entry>> entries ABSL_GUARDED_BY(mutex);
};

ApplicationRegistry::ApplicationRegistry(Executor& executor, RegistryCentre& centre,
                                         EndpointTable& table, MetadataResolver& resolver,
                                         ApplicationRegistryOptions options)
    : state_(std::make_shared<State>(executor, centre, table, resolver, std::move(options))) {}

ApplicationRegistry::~ApplicationRegistry() { Close(); }

void ApplicationRegistry::Register(const Url& provider, const CallOptions& options,
                                   DoneCallback done) {
  State* state = state_.get();
  state->PostCall(std::move(done), [state, provider, options](DoneCallback end) {
    state->registrar.Register(provider, options, std::move(end));
  });
}

void ApplicationRegistry::Unregister(const Url& provider, const CallOptions& options,
                                     DoneCallback done) {
  State* state = state_.get();
  state->PostCall(std::move(done), [state, provider, options](DoneCallback end) {
    state->registrar.Unregister(provider, options, std::move(end));
  });
}

void ApplicationRegistry::UnregisterAll(const CallOptions& options, DoneCallback done) {
  State* state = state_.get();
  state->PostCall(std::move(done), [state, options](DoneCallback end) {
    state->registrar.UnregisterAll(options, std::move(end));
  });
}

void ApplicationRegistry::Subscribe(const Url& consumer, std::shared_ptr<NotifyListener> listener) {
  State* state = state_.get();
  if (listener == nullptr || state->closed.load()) return;
  auto entry = std::make_shared<State::Entry>();
  entry->id = state->next_id.fetch_add(1);
  entry->consumer = consumer;
  entry->listener = std::move(listener);
  {
    MutexLock lock(state->mutex);
    const State::EntryKey key{consumer.ToFullString(), entry->listener.get()};
    if (!state->entries.emplace(key, entry).second) return;
    if (state->published != nullptr) state->published->AddSubscribed(consumer);
  }
  state->executor.Post(state->guard.Wrap([state, entry] {
    if (entry->guard.closed()) return;
    state->subscriber.Add(
        entry->id, entry->consumer,
        entry->guard.Wrap([listener = entry->listener](const ServiceAddresses& addresses) {
          listener->Notify(addresses);
        }));
  }));
}

void ApplicationRegistry::Unsubscribe(const Url& consumer,
                                      const std::shared_ptr<NotifyListener>& listener) {
  State* state = state_.get();
  std::shared_ptr<State::Entry> entry;
  {
    MutexLock lock(state->mutex);
    auto it = state->entries.find({consumer.ToFullString(), listener.get()});
    if (it == state->entries.end()) return;
    entry = std::move(it->second);
    state->entries.erase(it);
    if (state->published != nullptr) state->published->RemoveSubscribed(consumer);
  }
  entry->guard.Close();
  state->executor.Post(
      state->guard.Wrap([state, id = entry->id] { state->subscriber.Remove(id); }));
}

void ApplicationRegistry::Lookup(const Url& consumer, const CallOptions& options,
                                 LookupCallback done) {
  State* state = state_.get();
  const uint64_t id = state->next_id.fetch_add(1);
  state->executor.Post(
      [state, guard = state->guard, id, consumer, options, done = std::move(done)]() mutable {
        bool ran = false;
        guard.Wrap([&] {
          ran = true;
          State::Question& question = state->questions[id];
          question.done = std::move(done);
          question.id = id;
          question.cancel = options.cancel;
          question.deadline =
              state->executor.PostAfter(options.timeout, guard.Wrap([state, id, consumer] {
                auto it = state->questions.find(id);
                const std::string why = it == state->questions.end() || it->second.why.ok()
                                            ? ""
                                            : absl::StrCat(": ", it->second.why.message());
                state->EndLookup(id, absl::DeadlineExceededError(absl::StrCat(
                                         "addresses of ", consumer.service_interface(), why)));
              }));
          const int cancel_id =
              options.cancel.OnCancel([&executor = state->executor, guard, state, id] {
                executor.Post(guard.Wrap([state, id] {
                  state->EndLookup(id, absl::CancelledError("the caller gave up"));
                }));
              });
          question.cancel_id = cancel_id;
          state->subscriber.Add(id, consumer, [state, id](const ServiceAddresses& addresses) {
            // What may pass is waited for.
            if (addresses.list->empty() && IsRetryable(addresses.state)) {
              auto it = state->questions.find(id);
              if (it != state->questions.end()) it->second.why = addresses.state;
              return;
            }
            state->EndLookup(id, addresses);
          });
        })();
        if (!ran) std::move(done)(Closed());
      });
}

const Url& ApplicationRegistry::url() const { return state_->centre.url(); }

bool ApplicationRegistry::IsAvailable() const {
  return !state_->closed.load() && state_->centre.store().IsAvailable();
}

void ApplicationRegistry::Close() {
  State* state = state_.get();
  if (state->closed.exchange(true)) return;
  // From here on no callback of ours runs.
  state->guard.Close();
  {
    MutexLock lock(state->mutex);
    for (auto& [key, entry] : state->entries) {
      entry->guard.Close();
      if (state->published != nullptr) state->published->RemoveSubscribed(entry->consumer);
    }
    state->entries.clear();
  }
  state->registrar.Close();
  for (auto& [id, question] : state->questions) {
    state->executor.Cancel(question.deadline);
    question.cancel.RemoveCallback(question.cancel_id);
    state->executor.Post(
        [done = std::move(question.done)]() mutable { std::move(done)(Closed()); });
  }
  state->questions.clear();
  // Inside one of our own calls the subscriptions are still in use further up the stack.
  if (!state->executor.IsCurrent()) return state->subscriber.Clear();
  state->executor.Post([keep = state_] { keep->subscriber.Clear(); });
}

RegisteredState ApplicationRegistry::registered() const { return state_->registrar.registered(); }

}  // namespace signpost

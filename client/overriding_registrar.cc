#include "signpost/client/overriding_registrar.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/clock.h"
#include "signpost/common/log.h"

namespace signpost::client_internal {
namespace {

constexpr absl::Duration kHold = absl::Seconds(1);

}  // namespace

// All of it on the executor.
class OverridingRegistrar::State : public std::enable_shared_from_this<State> {
 public:
  State(std::shared_ptr<Executor> executor, std::shared_ptr<Registrar> registrar,
        WatchConfigurators configurators)
      : executor_(std::move(executor)),
        registrar_(std::move(registrar)),
        configurators_(std::move(configurators)) {}

  Executor& executor() { return *executor_; }

  void Register(const Url& provider, const CallOptions& options, DoneCallback done) {
    std::shared_ptr<Export>& slot = exports_[provider.ToFullString()];
    const bool first = slot == nullptr;
    if (first) slot = std::make_shared<Export>(provider);
    const std::shared_ptr<Export> exported = slot;
    if (exported->registered.has_value()) {
      return registrar_->Register(*exported->registered, options, std::move(done));
    }
    Await(exported, options, std::move(done));
    if (!first) return;
    ++unknown_;
    exported->watch =
        configurators_(provider, [weak = weak_from_this(), held = std::weak_ptr<Export>(exported)](
                                     const std::shared_ptr<const ConfiguratorSet>& configurators) {
          auto self = weak.lock();
          auto exported = held.lock();
          if (self != nullptr && exported != nullptr) self->OnRules(*exported, *configurators);
        });
  }

  void Unregister(const Url& provider, const CallOptions& options, DoneCallback done) {
    auto it = exports_.find(provider.ToFullString());
    const std::shared_ptr<Export> exported = it == exports_.end() ? nullptr : it->second;
    if (exported != nullptr) {
      exports_.erase(it);
      TakenBack(*exported);
    }
    const bool never = exported == nullptr || !exported->registered.has_value();
    const Url& registered = never ? provider : *exported->registered;
    if (IsRegisteredAs(registered)) return std::move(done)(absl::OkStatus());
    registrar_->Unregister(registered, options, std::move(done));
  }

  void UnregisterAll(const CallOptions& options, DoneCallback done) {
    for (auto& [text, exported] : std::exchange(exports_, {})) TakenBack(*exported);
    registrar_->UnregisterAll(options, std::move(done));
  }

 private:
  struct Waiting {
    CallOptions options;
    absl::Duration end;
    Executor::TimerId timer = 0;
    int cancel_id = 0;
    DoneCallback done;
  };
  struct Export {
    explicit Export(Url url) : original(std::move(url)) {}
    const Url original;
    std::optional<Url> wanted;      // none until the rules are known
    std::optional<Url> registered;  // none before it was registered first
    std::map<uint64_t, Waiting> waiting;
    Subscription watch;
  };

  void Await(const std::shared_ptr<Export>& exported, const CallOptions& options,
             DoneCallback done) {
    const uint64_t id = ++last_waiting_;
    Waiting& waiting = exported->waiting[id];
    waiting.options = options;
    waiting.end = executor_->clock().MonotonicNow() + options.timeout;
    waiting.done = std::move(done);
    auto give_up = [weak = weak_from_this(), held = std::weak_ptr<Export>(exported),
                    id](const absl::Status& why) {
      auto self = weak.lock();
      auto exported = held.lock();
      if (self != nullptr && exported != nullptr) self->GiveUp(*exported, id, why);
    };
    if (options.timeout != absl::InfiniteDuration()) {
      waiting.timer = executor_->PostAfter(options.timeout, [give_up] {
        give_up(absl::DeadlineExceededError("the registry has not told its override rules"));
      });
    }
    waiting.cancel_id = options.cancel.OnCancel([weak = weak_from_this(), give_up] {
      auto self = weak.lock();
      if (self == nullptr) return;
      self->executor_->Post([give_up] { give_up(absl::CancelledError("the caller gave up")); });
    });
  }

  // Only the waiting ends; what is desired stays desired.
  void GiveUp(Export& exported, uint64_t id, const absl::Status& why) {
    auto it = exported.waiting.find(id);
    if (it == exported.waiting.end()) return;
    Waiting waiting = std::move(it->second);
    exported.waiting.erase(it);
    Release(waiting);
    std::move(waiting.done)(why);
  }

  void Release(const Waiting& waiting) {
    executor_->Cancel(waiting.timer);
    waiting.options.cancel.RemoveCallback(waiting.cancel_id);
  }

  void OnRules(Export& exported, const ConfiguratorSet& configurators) {
    Url wanted =
        configurators.Apply(exported.original, ConfiguratorTarget::OfProvider(exported.original));
    if (!exported.registered.has_value()) {
      const bool first = !exported.wanted.has_value();
      exported.wanted = std::move(wanted);
      if (first) NoLongerUnknown();
      return;
    }
    if (wanted == *exported.registered) return;
    const Url before = *std::exchange(exported.registered, std::move(wanted));
    Log(LogLevel::kInfo, absl::StrCat("override rules: ", before.ToString(), " becomes ",
                                      exported.registered->ToString()));
    // It goes on trying on its own.
    registrar_->Register(*exported.registered, CallOptions(), [](const absl::Status&) {});
    if (IsRegisteredAs(before)) return;
    registrar_->Unregister(before, CallOptions(), [](const absl::Status&) {});
  }

  // What a process exports together is registered together: each part by itself would be a revision
  // of its own. One whose rules are slow to come keeps the others for a moment only.
  void NoLongerUnknown() {
    if (--unknown_ == 0) return RegisterKnown();
    if (hold_ != 0) return;
    hold_ = executor_->PostAfter(kHold, [weak = weak_from_this()] {
      if (auto self = weak.lock()) self->RegisterKnown();
    });
  }

  void RegisterKnown() {
    executor_->Cancel(hold_);
    hold_ = 0;
    std::vector<std::shared_ptr<Export>> known;
    for (const auto& [text, exported] : exports_) {
      if (exported->wanted.has_value() && !exported->registered.has_value()) {
        known.push_back(exported);
      }
    }
    for (const std::shared_ptr<Export>& exported : known) RegisterFirst(*exported);
  }

  void RegisterFirst(Export& exported) {
    exported.registered = *exported.wanted;
    // Even if all have given up: it is to be registered.
    if (exported.waiting.empty()) {
      registrar_->Register(*exported.registered, CallOptions(), [](const absl::Status&) {});
    }
    for (auto& [id, waiting] : std::exchange(exported.waiting, {})) {
      Release(waiting);
      waiting.options.timeout = waiting.end - executor_->clock().MonotonicNow();
      registrar_->Register(*exported.registered, waiting.options, std::move(waiting.done));
    }
  }

  // Rules may make one URL of two exports; it stays until neither wants it.
  bool IsRegisteredAs(const Url& url) const {
    return std::any_of(exports_.begin(), exports_.end(),
                       [&url](const auto& each) { return each.second->registered == url; });
  }

  void TakenBack(Export& exported) {
    exported.watch.Cancel();
    for (auto& [id, waiting] : std::exchange(exported.waiting, {})) {
      Release(waiting);
      std::move(waiting.done)(absl::OkStatus());
    }
    if (!exported.wanted.has_value()) NoLongerUnknown();
  }

  const std::shared_ptr<Executor> executor_;
  const std::shared_ptr<Registrar> registrar_;
  const WatchConfigurators configurators_;
  std::map<std::string, std::shared_ptr<Export>> exports_;  // by the full text of the URL
  uint64_t last_waiting_ = 0;
  size_t unknown_ = 0;  // exports without `wanted`
  Executor::TimerId hold_ = 0;
};

OverridingRegistrar::OverridingRegistrar(std::shared_ptr<Executor> executor,
                                         std::shared_ptr<Registrar> registrar,
                                         WatchConfigurators configurators)
    : state_(std::make_shared<State>(std::move(executor), std::move(registrar),
                                     std::move(configurators))) {}

OverridingRegistrar::~OverridingRegistrar() = default;

void OverridingRegistrar::Register(const Url& provider, const CallOptions& options,
                                   DoneCallback done) {
  state_->executor().Post([state = state_, provider, options, done = std::move(done)]() mutable {
    state->Register(provider, options, std::move(done));
  });
}

void OverridingRegistrar::Unregister(const Url& provider, const CallOptions& options,
                                     DoneCallback done) {
  state_->executor().Post([state = state_, provider, options, done = std::move(done)]() mutable {
    state->Unregister(provider, options, std::move(done));
  });
}

void OverridingRegistrar::UnregisterAll(const CallOptions& options, DoneCallback done) {
  state_->executor().Post([state = state_, options, done = std::move(done)]() mutable {
    state->UnregisterAll(options, std::move(done));
  });
}

}  // namespace signpost::client_internal

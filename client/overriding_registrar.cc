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
#include "signpost/common/status.h"

namespace signpost::client_internal {
namespace {

constexpr absl::Duration kHold = absl::Seconds(1);

}  // namespace

// All of it on the executor.
class OverridingRegistrar::State : public std::enable_shared_from_this<State> {
 public:
  State(std::shared_ptr<Executor> executor, std::shared_ptr<Registrar> registrar,
        WatchConfigurators configurators, std::function<std::string()> trouble)
      : executor_(std::move(executor)),
        registrar_(std::move(registrar)),
        configurators_(std::move(configurators)),
        trouble_(std::move(trouble)) {}

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
          if (self != nullptr && exported != nullptr) self->OnRules(exported, *configurators);
        });
  }

  void Unregister(const Url& provider, const CallOptions& options, DoneCallback done) {
    auto it = exports_.find(provider.ToFullString());
    const std::shared_ptr<Export> exported = it == exports_.end() ? nullptr : it->second;
    if (exported != nullptr) {
      exports_.erase(it);
      TakenBack(*exported);
      TakeOff(std::exchange(exported->leaving, {}));
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
    // What was registered before, the oldest first: to be taken off once `registered` is there.
    std::vector<Url> leaving;
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
      waiting.timer = executor_->PostAfter(options.timeout, [weak = weak_from_this(), give_up] {
        auto self = weak.lock();
        if (self == nullptr) return;
        give_up(absl::DeadlineExceededError(
            absl::StrCat("override rules are not known yet: ", self->trouble_())));
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

  void OnRules(const std::shared_ptr<Export>& exported, const ConfiguratorSet& configurators) {
    Url wanted =
        configurators.Apply(exported->original, ConfiguratorTarget::OfProvider(exported->original));
    if (!exported->registered.has_value()) {
      const bool first = !exported->wanted.has_value();
      exported->wanted = std::move(wanted);
      if (first) NoLongerUnknown();
      return;
    }
    if (wanted == *exported->registered) return;
    const Url before = *std::exchange(exported->registered, wanted);
    Log(LogLevel::kInfo,
        absl::StrCat("override rules: ", before.ToString(), " becomes ", wanted.ToString()));
    exported->leaving.push_back(before);
    // The oldest of them is there.
    const Url there = exported->leaving.front();
    Put(exported, there, CallOptions(),
        [weak = weak_from_this(), held = std::weak_ptr<Export>(exported), wanted,
         there](const absl::Status&) {
          auto self = weak.lock();
          auto exported = held.lock();
          if (self == nullptr || exported == nullptr) return;
          // Else another change came, and its answer is for all that leave. An error that is not
          // final: the registrar goes on trying on its own, and deletes nothing before.
          if (exported->registered != wanted && exported->registered != there) return;
          self->TakeOff(std::exchange(exported->leaving, {}));
        });
  }

  void TakeOff(std::vector<Url> urls) {
    for (const Url& url : urls) {
      if (IsRegisteredAs(url)) continue;
      registrar_->Unregister(url, CallOptions(), [](const absl::Status&) {});
    }
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
    for (const std::shared_ptr<Export>& exported : known) RegisterFirst(exported);
  }

  void RegisterFirst(const std::shared_ptr<Export>& exported) {
    exported->registered = *exported->wanted;
    // Even if all have given up: it is to be registered.
    if (exported->waiting.empty()) {
      Put(exported, exported->original, CallOptions(), [](const absl::Status&) {});
    }
    for (auto& [id, waiting] : std::exchange(exported->waiting, {})) {
      Release(waiting);
      waiting.options.timeout = waiting.end - executor_->clock().MonotonicNow();
      Put(exported, exported->original, waiting.options, std::move(waiting.done));
    }
  }

  // Registers what `exported` is to be registered as; `instead`, if that can never be.
  void Put(const std::shared_ptr<Export>& exported, const Url& instead, const CallOptions& options,
           DoneCallback done) {
    const Url tried = *exported->registered;
    registrar_->Register(
        tried, options,
        [weak = weak_from_this(), held = std::weak_ptr<Export>(exported), tried, instead, options,
         done = std::move(done)](absl::Status status) mutable {
          auto self = weak.lock();
          auto exported = held.lock();
          const bool final = !status.ok() && !IsRetryable(status);
          if (self == nullptr || exported == nullptr || !final || tried == instead) {
            return std::move(done)(std::move(status));
          }
          const bool first = exported->registered == tried;
          if (first) {
            Log(LogLevel::kWarning,
                absl::StrCat("override rules: ", tried.ToString(), " cannot be registered, ",
                             instead.ToString(), " is: ", status.message()));
            exported->registered = instead;
          }
          self->registrar_->Register(*exported->registered, options, std::move(done));
          if (first) self->TakeOff({tried});
        });
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
      std::move(waiting.done)(absl::CancelledError(
          absl::StrCat(exported.original.ToString(), " is no longer to be registered")));
    }
    if (!exported.wanted.has_value()) NoLongerUnknown();
  }

  const std::shared_ptr<Executor> executor_;
  const std::shared_ptr<Registrar> registrar_;
  const WatchConfigurators configurators_;
  const std::function<std::string()> trouble_;
  std::map<std::string, std::shared_ptr<Export>> exports_;  // by the full text of the URL
  uint64_t last_waiting_ = 0;
  size_t unknown_ = 0;  // exports without `wanted`
  Executor::TimerId hold_ = 0;
};

OverridingRegistrar::OverridingRegistrar(std::shared_ptr<Executor> executor,
                                         std::shared_ptr<Registrar> registrar,
                                         WatchConfigurators configurators,
                                         std::function<std::string()> trouble)
    : state_(std::make_shared<State>(std::move(executor), std::move(registrar),
                                     std::move(configurators), std::move(trouble))) {}

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

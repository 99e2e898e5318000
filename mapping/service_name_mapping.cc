#include "signpost/mapping/service_name_mapping.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "signpost/common/gate.h"
#include "signpost/common/log.h"
#include "signpost/common/service_instance.h"
#include "signpost/common/status.h"

namespace signpost {
namespace {

// Each costs a watch.
constexpr size_t kMaxApps = 1000;

std::vector<absl::string_view> MappingItems(absl::string_view text) {
  std::vector<absl::string_view> items;
  absl::flat_hash_set<absl::string_view> seen;
  for (absl::string_view item : absl::StrSplit(text, ',')) {
    item = absl::StripAsciiWhitespace(item);
    if (!item.empty() && seen.insert(item).second) items.push_back(item);
  }
  return items;
}

bool IsLostRace(const absl::Status& status) {
  // kNotFound: the mapping was deleted between our read and our write.
  return absl::IsAborted(status) || absl::IsAlreadyExists(status) || absl::IsNotFound(status);
}

struct ParsedMapping {
  AppSet apps;
  std::vector<absl::string_view> others;  // what is no application name
};

ParsedMapping Parse(absl::string_view text) {
  ParsedMapping parsed;
  for (absl::string_view item : MappingItems(text)) {
    if (ValidateAppName(item).ok()) {
      parsed.apps.emplace(item);
    } else {
      parsed.others.push_back(item);
    }
  }
  return parsed;
}

absl::StatusOr<AppSet> ToApps(absl::string_view where, const absl::StatusOr<MappingText>& text) {
  if (absl::IsNotFound(text.status())) return AppSet();
  if (!text.ok()) return Annotate(text.status(), where);
  ParsedMapping parsed = Parse(text->text);
  if (!parsed.others.empty()) {
    Log(LogLevel::kWarning,
        absl::StrCat(where, ": ", parsed.others.size(),
                     " names are no applications and are left out, first '",
                     absl::CHexEscape(parsed.others.front().substr(0, 100)), "'"));
  }
  if (parsed.apps.size() > kMaxApps) {
    return absl::ResourceExhaustedError(
        absl::StrCat(where, ": names ", parsed.apps.size(), " applications, more than ", kMaxApps));
  }
  return std::move(parsed.apps);
}

// One call of Map.
struct MapCall {
  std::string interface_name;
  std::string app;
  CancelToken caller;  // who may give up
  CancelToken inner;   // handed to the store
  int cancel_id = 0;
  absl::Duration deadline;
  DoneCallback done;
  Backoff backoff;
  int attempts = 0;
  Executor::TimerId deadline_timer = 0;
  Executor::TimerId retry_timer = 0;
  bool ended = false;
};

}  // namespace

AppSet ParseMappingText(absl::string_view text) { return Parse(text).apps; }

std::string AddToMappingText(absl::string_view text, absl::string_view app) {
  std::vector<absl::string_view> items = MappingItems(text);
  if (std::find(items.begin(), items.end(), app) == items.end()) items.push_back(app);
  return absl::StrJoin(items, ",");
}

// All of it belongs to the executor; the gate lets nothing run after destruction.
class ServiceNameMapping::State : public std::enable_shared_from_this<State> {
 public:
  State(Executor& executor, MappingStore& store, Options options)
      : executor_(executor), store_(store), options_(options) {}

  void Close() {
    gate_.Close();
    for (const std::shared_ptr<MapCall>& call : calls_) Release(*call);
    calls_.clear();
  }

  // `fn(State&, args...)`, unless this is gone by then.
  template <typename Fn>
  auto Guarded(Fn fn) {
    return [weak = weak_from_this(), fn = std::move(fn)](auto&&... args) mutable {
      const std::shared_ptr<State> self = weak.lock();
      if (self == nullptr) return;
      if (const Gate::Pass pass = self->gate_.Enter()) {
        fn(*self, std::forward<decltype(args)>(args)...);
      }
    };
  }

  void PostMap(const std::string& interface_name, const std::string& app,
               const CallOptions& options, DoneCallback done) {
    executor_.Post(Guarded([interface_name, app, options, started = Now(),
                            done = std::move(done)](State& state) mutable {
      state.Map(interface_name, app, options, started, std::move(done));
    }));
  }

  Subscription Watch(const std::string& interface_name, WatchCallback on_change) {
    // `last` is the set that was told last; none after an error, so that the next set is news.
    return store_.Watch(interface_name,
                        [on_change = std::move(on_change), where = Where(interface_name),
                         last = std::optional<AppSet>()](absl::StatusOr<MappingText> text) mutable {
                          absl::StatusOr<AppSet> apps = ToApps(where, text);
                          if (!apps.ok()) {
                            last.reset();
                            on_change(apps.status());
                            return;
                          }
                          if (last == *apps) return;
                          last = *apps;
                          on_change(*std::move(apps));
                        });
  }

  void Get(const std::string& interface_name, const CallOptions& options, AppsCallback done) {
    store_.Get(interface_name, options,
               Guarded([done = std::move(done), where = Where(interface_name)](
                           State&, absl::StatusOr<MappingText> text) mutable {
                 std::move(done)(ToApps(where, text));
               }));
  }

 private:
  void Map(const std::string& interface_name, const std::string& app, const CallOptions& options,
           absl::Duration started, DoneCallback done) {
    auto call = std::make_shared<MapCall>(MapCall{interface_name, app, options.cancel,
                                                  CancelToken(), 0, started + options.timeout,
                                                  std::move(done), Backoff(options_.backoff)});
    calls_.insert(call);
    if (absl::Status status = Check(*call); !status.ok()) {
      End(call, std::move(status));
      return;
    }
    if (call->caller.cancelled()) {
      End(call, absl::CancelledError("given up"));
      return;
    }
    // OnCancel runs on the cancelling thread.
    call->cancel_id = call->caller.OnCancel([weak = weak_from_this(), call] {
      const std::shared_ptr<State> self = weak.lock();
      if (self == nullptr) return;
      if (const Gate::Pass pass = self->gate_.Enter()) {
        self->executor_.Post(self->Guarded(
            [call](State& state) { state.End(call, absl::CancelledError("given up")); }));
      }
    });
    call->deadline_timer = executor_.PostAfter(
        Left(*call), Guarded([call](State& state) {
          state.End(call, absl::DeadlineExceededError(
                              absl::StrCat("not written after ", call->attempts, " lost races")));
        }));
    Read(call);
  }

  static absl::Status Check(const MapCall& call) {
    if (call.interface_name.empty() ||
        call.interface_name.find_first_of("/,") != std::string::npos) {
      return absl::InvalidArgumentError("no interface name");
    }
    return ValidateAppName(call.app);
  }

  std::string Where(const std::string& interface_name) const {
    return absl::StrCat("mapping of ", interface_name);
  }

  absl::Duration Now() const { return executor_.clock().MonotonicNow(); }

  absl::Duration Left(const MapCall& call) const { return call.deadline - Now(); }

  CallOptions StoreOptions(const MapCall& call) const {
    CallOptions options;
    options.timeout = Left(call);
    options.cancel = call.inner;
    return options;
  }

  void Read(const std::shared_ptr<MapCall>& call) {
    store_.Get(call->interface_name, StoreOptions(*call),
               Guarded([call](State& state, absl::StatusOr<MappingText> text) {
                 if (!call->ended) state.Write(call, std::move(text));
               }));
  }

  void Write(const std::shared_ptr<MapCall>& call, absl::StatusOr<MappingText> text) {
    if (absl::IsNotFound(text.status())) text = MappingText{"", MappingStore::kAbsent};
    if (!text.ok()) {
      End(call, text.status());
      return;
    }
    if (ParseMappingText(text->text).count(call->app) != 0) {
      End(call, absl::OkStatus());
      return;
    }
    store_.CompareAndSet(call->interface_name, AddToMappingText(text->text, call->app),
                         text->version, StoreOptions(*call),
                         Guarded([call](State& state, absl::Status status) {
                           if (!call->ended) state.OnWritten(call, std::move(status));
                         }));
  }

  void OnWritten(const std::shared_ptr<MapCall>& call, absl::Status status) {
    if (!IsLostRace(status)) {
      End(call, std::move(status));
      return;
    }
    if (++call->attempts >= options_.max_attempts) {
      End(call, absl::AbortedError(absl::StrCat("lost ", call->attempts, " races")));
      return;
    }
    call->retry_timer = executor_.PostAfter(call->backoff.Next(), Guarded([call](State& state) {
                                              call->retry_timer = 0;
                                              if (!call->ended) state.Read(call);
                                            }));
  }

  void End(const std::shared_ptr<MapCall>& call, absl::Status status) {
    if (call->ended) return;
    Release(*call);
    calls_.erase(call);
    if (!status.ok()) {
      status =
          Annotate(status, absl::StrCat(Where(call->interface_name), ", application ", call->app));
    }
    // In a task of its own, since the callback may destroy the mapping.
    executor_.Post(Guarded([done = std::move(call->done), status = std::move(status)](
                               State&) mutable { std::move(done)(std::move(status)); }));
  }

  void Release(MapCall& call) {
    call.ended = true;
    if (call.cancel_id != 0) call.caller.RemoveCallback(call.cancel_id);
    if (call.deadline_timer != 0) executor_.Cancel(call.deadline_timer);
    if (call.retry_timer != 0) executor_.Cancel(call.retry_timer);
    call.inner.Cancel();
  }

  Executor& executor_;
  MappingStore& store_;
  const Options options_;
  Gate gate_;
  std::set<std::shared_ptr<MapCall>> calls_;
};

ServiceNameMapping::ServiceNameMapping(Executor& executor, MappingStore& store, Options options)
    : state_(std::make_shared<State>(executor, store, options)) {}

ServiceNameMapping::~ServiceNameMapping() { state_->Close(); }

void ServiceNameMapping::Map(const std::string& interface_name, const std::string& app,
                             const CallOptions& options, DoneCallback done) {
  state_->PostMap(interface_name, app, options, std::move(done));
}

void ServiceNameMapping::Get(const std::string& interface_name, const CallOptions& options,
                             AppsCallback done) {
  state_->Get(interface_name, options, std::move(done));
}

Subscription ServiceNameMapping::Watch(const std::string& interface_name, WatchCallback on_change) {
  return state_->Watch(interface_name, std::move(on_change));
}

}  // namespace signpost

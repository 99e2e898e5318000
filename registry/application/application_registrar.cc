#include "signpost/registry/application/application_registrar.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "signpost/common/log.h"
#include "signpost/common/status.h"
#include "signpost/registry/return_pace.h"

namespace signpost::application_internal {
namespace {

// One step of a run against the centre.
constexpr absl::Duration kStepTimeout = absl::Seconds(5);

}  // namespace

ApplicationRegistrar::ApplicationRegistrar(Executor& executor, RegistryCentre& centre,
                                           ServiceNameMapping& mapping, CallbackGuard guard,
                                           ApplicationRegistryOptions options)
    : executor_(executor),
      centre_(centre),
      mapping_(mapping),
      guard_(std::move(guard)),
      options_(std::move(options)),
      accepts_(AcceptedProtocols::Parse(centre.url().Get("accepts"))),
      start_ms_(absl::ToUnixMillis(executor.clock().WallNow())),
      collector_(options_.app),
      backoff_(options_.retry),
      look_delay_(registry_internal::kLookDelay) {}

ApplicationRegistrar::~ApplicationRegistrar() { Close(); }

void ApplicationRegistrar::Register(const Url& provider, const CallOptions& options,
                                    DoneCallback done) {
  if (!accepts_.Accepts(provider.protocol())) return std::move(done)(absl::OkStatus());
  if (options_.app.empty()) {
    return std::move(done)(absl::FailedPreconditionError(
        absl::StrCat("cannot export ", provider.ToString(), ": no application name is set")));
  }
  absl::Status status = ValidateAppName(options_.app);
  if (status.ok()) status = collector_.Add(provider);
  if (!status.ok()) return std::move(done)(Annotate(status, provider.ToString()));
  if (!session_.active()) {
    session_ =
        centre_.store().WatchSession(guard_.Wrap([this](SessionEvent event) { OnSession(event); }));
  }
  const std::vector<uint64_t> overtaken = Overtaken(Wish::kRegister, provider);
  if (collector_.dirty() || written_ == 1) Changed(options_.debounce);
  Await(Wish::kRegister, provider, options, std::move(done));
  for (uint64_t id : overtaken) {
    EndWaiter(id, absl::CancelledError(
                      absl::StrCat(provider.ToString(), ": it is registered again meanwhile")));
  }
}

void ApplicationRegistrar::Unregister(const Url& provider, const CallOptions& options,
                                      DoneCallback done) {
  const std::vector<uint64_t> overtaken = Overtaken(Wish::kUnregister, provider);
  if (collector_.Remove(provider)) {
    // The last one: consumers should stop calling at once.
    Changed(collector_.size() == 0 ? absl::ZeroDuration() : options_.debounce);
  }
  Await(Wish::kUnregister, provider, options, std::move(done));
  for (uint64_t id : overtaken) {
    EndWaiter(id, absl::CancelledError(
                      absl::StrCat(provider.ToString(), ": it is unregistered meanwhile")));
  }
}

void ApplicationRegistrar::UnregisterAll(const CallOptions& options, DoneCallback done) {
  const std::vector<uint64_t> overtaken = Overtaken(Wish::kUnregisterAll, Url());
  if (collector_.size() > 0) {
    collector_.Clear();
    Changed(absl::ZeroDuration());
  }
  Await(Wish::kUnregisterAll, Url(), options, std::move(done));
  for (uint64_t id : overtaken) {
    EndWaiter(id, absl::CancelledError(absl::StrCat("application ", options_.app,
                                                    ": all URLs are unregistered meanwhile")));
  }
}

std::vector<uint64_t> ApplicationRegistrar::Overtaken(Wish by, const Url& url) const {
  const bool registers = by == Wish::kRegister;
  std::vector<uint64_t> ids;
  for (const auto& [id, waiter] : waiters_) {
    if ((waiter.wish == Wish::kRegister) == registers) continue;
    // All URLs are one instance, which stays if any is registered.
    const bool all = by == Wish::kUnregisterAll || waiter.wish == Wish::kUnregisterAll;
    if (all || waiter.url == url) ids.push_back(id);
  }
  return ids;
}

void ApplicationRegistrar::Close() {
  session_.Cancel();
  executor_.Cancel(timer_);
  timer_ = 0;
  for (auto& [id, waiter] : waiters_) {
    executor_.Cancel(waiter.deadline);
    waiter.cancel.RemoveCallback(waiter.cancel_id);
    executor_.Post([done = std::move(waiter.done)]() mutable {
      std::move(done)(absl::FailedPreconditionError("the registry is closed"));
    });
  }
  waiters_.clear();
}

RegisteredState ApplicationRegistrar::registered() const {
  MutexLock lock(mutex_);
  return registered_;
}

void ApplicationRegistrar::Await(Wish wish, const Url& url, const CallOptions& options,
                                 DoneCallback done) {
  if (written_ == generation_) return std::move(done)(absl::OkStatus());
  const uint64_t id = next_waiter_++;
  Waiter& waiter = waiters_[id];
  waiter.done = std::move(done);
  waiter.wish = wish;
  waiter.url = url;
  waiter.generation = generation_;
  waiter.cancel = options.cancel;
  waiter.deadline = executor_.PostAfter(options.timeout, guard_.Wrap([this, id] {
    // What is desired stays desired; only the waiting ends.
    const std::string why =
        !last_error_.ok()
            ? std::string(last_error_.message())
            : absl::StrCat("registry ", centre_.url().ToString(), ": ",
                           centre_.store().IsAvailable() ? "no answer in time" : "not connected");
    EndWaiter(id, absl::DeadlineExceededError(
                      absl::StrCat("application ", options_.app, " is not written yet: ", why)));
  }));
  const int cancel_id = options.cancel.OnCancel([&executor = executor_, guard = guard_, this, id] {
    executor.Post(
        guard.Wrap([this, id] { EndWaiter(id, absl::CancelledError("the caller gave up")); }));
  });
  waiter.cancel_id = cancel_id;
}

void ApplicationRegistrar::EndWaiter(uint64_t id, const absl::Status& status) {
  auto it = waiters_.find(id);
  if (it == waiters_.end()) return;
  Waiter waiter = std::move(it->second);
  waiters_.erase(it);
  executor_.Cancel(waiter.deadline);
  waiter.cancel.RemoveCallback(waiter.cancel_id);
  std::move(waiter.done)(status);
}

void ApplicationRegistrar::EndWaiters(uint64_t generation, const absl::Status& status) {
  std::vector<uint64_t> ids;
  for (const auto& [id, waiter] : waiters_) {
    if (waiter.generation <= generation) ids.push_back(id);
  }
  for (uint64_t id : ids) EndWaiter(id, status);
}

void ApplicationRegistrar::Changed(absl::Duration delay) {
  ++generation_;
  backoff_.Reset();
  RunAfter(delay);
}

void ApplicationRegistrar::RunAfter(absl::Duration delay) {
  if (running_) return;  // its end looks at the generation
  const absl::Duration due = executor_.clock().MonotonicNow() + delay;
  if (timer_ != 0) {
    if (due_ <= due) return;
    executor_.Cancel(timer_);
  }
  due_ = due;
  timer_ = executor_.PostAfter(delay, guard_.Wrap([this] {
    timer_ = 0;
    Run();
  }));
}

void ApplicationRegistrar::OnSession(SessionEvent event) {
  // kExpired may come late, after the new session: nothing is done on it.
  if (event != SessionEvent::kNewSession && event != SessionEvent::kConnected) return;
  const bool lost = event == SessionEvent::kNewSession;
  // What was there before the gap may have been lost or deleted in it: looked at again. What is
  // there already is not written again.
  published_.clear();
  mapped_.clear();
  if (collector_.size() == 0 && alive_.empty()) return;
  if (generation_ > 1 && written_ == generation_) {
    ++generation_;
    backoff_.Reset();
    RunAfter(lost ? absl::ZeroDuration() : look_delay_.Next());
  } else if (timer_ != 0 && (lost || backoff_.attempts() > 0)) {
    // What is lost does not wait for the look that the gap before may have ordered.
    RunAfter(backoff_.attempts() > 0 ? absl::ZeroDuration() : options_.debounce);
  } else if (running_) {
    ++generation_;
  }
}

CallOptions ApplicationRegistrar::StepOptions() const {
  CallOptions options;
  options.timeout = kStepTimeout;
  return options;
}

void ApplicationRegistrar::Run() {
  running_ = true;
  run_generation_ = generation_;
  mapping_error_ = absl::OkStatus();
  if (collector_.dirty() || !collected_.has_value()) {
    collected_ = collector_.Build();
    for (const std::string& warning : collected_->warnings) {
      Log(LogLevel::kWarning, absl::StrCat("application ", options_.app, ": ", warning));
    }
  }
  if (collected_->info.services.empty()) return DeleteStale();
  PublishMetadata();
}

void ApplicationRegistrar::PublishMetadata() {
  const std::string revision = collected_->info.revision;
  if (options_.published != nullptr) {
    options_.published->Publish(collected_->info, collector_.urls());
    return PublishMappings();
  }
  if (published_.count(revision) != 0) return PublishMappings();
  centre_.metadata_report().Publish(collected_->info, StepOptions(),
                                    guard_.Wrap([this, revision](absl::Status status) {
                                      if (!status.ok()) return EndRun(status);
                                      published_.insert(revision);
                                      PublishMappings();
                                    }));
}

void ApplicationRegistrar::PublishMappings() {
  std::vector<std::string> missing;
  for (const std::string& name : collected_->interfaces) {
    if (mapped_.count(name) == 0) missing.push_back(name);
  }
  if (missing.empty()) return WriteInstance();
  mappings_left_ = missing.size();
  const size_t first = std::min(missing.size(), registry_internal::kCallWindow);
  to_map_.assign(missing.begin() + static_cast<ptrdiff_t>(first), missing.end());
  missing.resize(first);
  for (const std::string& name : missing) Map(name);
}

void ApplicationRegistrar::Map(const std::string& interface_name) {
  mapping_.Map(interface_name, options_.app, StepOptions(),
               guard_.Wrap([this, interface_name](absl::Status status) {
                 OnMapped(interface_name, status);
               }));
}

void ApplicationRegistrar::OnMapped(const std::string& interface_name, const absl::Status& status) {
  if (status.ok()) {
    mapped_.insert(interface_name);
  } else if (mapping_error_.ok()) {
    mapping_error_ = status;  // names the interface
  }
  if (!to_map_.empty()) {
    const std::string next = std::move(to_map_.front());
    to_map_.pop_front();
    Map(next);
  }
  if (--mappings_left_ > 0) return;
  // Those who know the application by other ways (`provided-by`, an older mapping) can use it; the
  // run ends with the error and is made again.
  WriteInstance();
}

ServiceInstance ApplicationRegistrar::MakeInstance() {
  ServiceInstance instance;
  instance.app = options_.app;
  instance.host = UnbracketHost(options_.host.empty() ? collected_->host : options_.host);
  if (!collected_->endpoints.empty()) instance.port = collected_->endpoints.front().second;
  instance.metadata = options_.labels;
  for (const auto& [key, value] : collected_->instance_parameters) instance.metadata[key] = value;
  // Consumers warm up by it; of a process, not of a write.
  instance.metadata.try_emplace(kTimestampKey, absl::StrCat(start_ms_));
  instance.metadata[kRevisionKey] = collected_->info.revision;
  instance.metadata[kStorageTypeKey] = options_.published == nullptr ? "remote" : "local";
  for (const auto& [key, value] : options_.metadata_service) instance.metadata[key] = value;
  instance.SetEndpoints(collected_->endpoints);
  // Fixed, so that the same content is the same bytes.
  if (registration_ms_ == 0) {
    registration_ms_ = absl::ToUnixMillis(executor_.clock().WallNow());
  }
  instance.registration_time_ms = registration_ms_;
  return instance;
}

void ApplicationRegistrar::WriteInstance() {
  if (run_generation_ != generation_ && collector_.size() == 0) {
    // Everything was taken off while the rest was written.
    return EndRun(absl::OkStatus());
  }
  const ServiceInstance instance = MakeInstance();
  if (absl::Status valid = instance.Validate(); !valid.ok()) return EndRun(valid);
  const std::string id = instance.id();
  alive_[id] = instance;
  centre_.discovery().Register(instance, StepOptions(), guard_.Wrap([this](absl::Status status) {
    if (!status.ok()) return EndRun(status);
    Tell(collected_->info.revision);
    DeleteStale();
  }));
}

// Takes off instances that are not wanted: all when nothing is exported, else those of another
// address.
void ApplicationRegistrar::DeleteStale() {
  const bool keep = !collected_->info.services.empty();
  const std::string wanted = keep ? MakeInstance().id() : "";
  for (const auto& [id, instance] : alive_) {
    if (id == wanted) continue;
    centre_.discovery().Unregister(instance, StepOptions(),
                                   guard_.Wrap([this, id = id](absl::Status status) {
                                     if (!status.ok()) return EndRun(status);
                                     alive_.erase(id);
                                     DeleteStale();
                                   }));
    return;
  }
  if (!keep) {
    registration_ms_ = 0;
    Tell("");
  }
  EndRun(keep ? mapping_error_ : absl::OkStatus());
}

void ApplicationRegistrar::EndRun(const absl::Status& status) {
  running_ = false;
  last_error_ = status;
  if (status.ok()) {
    backoff_.Reset();
    written_ = run_generation_;
    if (written_ != generation_) {
      RunAfter(collector_.size() == 0 ? absl::ZeroDuration() : options_.debounce);
    }
    EndWaiters(run_generation_, status);
    return;
  }
  Log(LogLevel::kWarning, absl::StrCat("application ", options_.app, ": ", status.message()));
  RunAfter(generation_ != run_generation_ ? options_.debounce : backoff_.Next());
  if (!IsRetryable(status)) EndWaiters(run_generation_, status);
}

void ApplicationRegistrar::Tell(const std::string& revision) {
  RegisteredState state;
  state.revision = revision;
  if (!revision.empty()) {
    for (const std::string& name : collected_->interfaces) {
      state.paths.push_back(centre_.mapping_store().PathOf(name));
    }
    if (options_.published == nullptr) {
      for (std::string& path : centre_.metadata_report().PathsOf(options_.app, revision)) {
        state.paths.push_back(std::move(path));
      }
    }
    state.paths.push_back(centre_.discovery().PathOf(MakeInstance()));
  }
  MutexLock lock(mutex_);
  registered_ = std::move(state);
}

}  // namespace signpost::application_internal

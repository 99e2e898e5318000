#include "signpost/registry/interface/interface_registrar.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "signpost/common/log.h"
#include "signpost/common/status.h"
#include "signpost/registry/return_pace.h"
#include "signpost/registry/store/store_centre.h"

namespace signpost::interface_internal {
namespace {

// One call to the centre.
constexpr absl::Duration kStepTimeout = absl::Seconds(5);

absl::Status Overtaken(const Url& url, absl::string_view by) {
  return absl::CancelledError(absl::StrCat(url.ToString(), ": it is ", by, " meanwhile"));
}

}  // namespace

InterfaceRegistrar::InterfaceRegistrar(Executor& executor, RegistryCentre& centre,
                                       CallbackGuard guard, std::string root,
                                       InterfaceRegistryOptions options)
    : executor_(executor),
      centre_(centre),
      guard_(guard),
      root_(std::move(root)),
      options_(std::move(options)),
      ttl_(SessionTtl(centre.url())),
      mark_(absl::StrCat("signpost ", absl::ToUnixMillis(executor.clock().WallNow()))),
      backoff_(options_.retry),
      look_delay_(registry_internal::kLookDelay),
      pending_(executor, guard) {}

InterfaceRegistrar::~InterfaceRegistrar() { Close(); }

void InterfaceRegistrar::Register(const Url& url, const CallOptions& options, DoneCallback done) {
  if (!ShouldRegister(url, options_)) return std::move(done)(absl::OkStatus());
  absl::StatusOr<RegisteredNode> form = NodeOf(root_, url, options_);
  if (!form.ok()) return std::move(done)(form.status());
  WatchSession();
  const std::string path = form->path;
  auto [it, is_new] = nodes_.try_emplace(path);
  Node& node = it->second;
  if (is_new) {
    const std::vector<std::string> misread = MisreadParameters(form->url);
    if (!misread.empty()) {
      Log(LogLevel::kWarning,
          absl::StrCat(form->url.ToString(), ": Dubbo Java will misread parameter ",
                       absl::StrJoin(misread, ", "),
                       ": it cuts names that end in timestamp or pid out of node names"));
    }
  } else if (node.form.session_bound != form->session_bound) {
    // The same name (simplified), of the other kind.
    SetWritten(node, Node::Written::kNo);
  }
  node.form = *std::move(form);
  std::vector<uint64_t> overtaken;
  if (!node.wanted()) {
    node.error = absl::OkStatus();
    overtaken = std::exchange(node.waiters, {});
    for (uint64_t id : TakeAllOf(path)) overtaken.push_back(id);
  }
  node.exports.insert(url.ToFullString());
  if (!node.settled()) backoff_.Reset();
  Step(path);
  Await(nodes_.at(path), options, std::move(done));
  EndAll(std::move(overtaken), Overtaken(url, "registered again"));
}

void InterfaceRegistrar::Unregister(const Url& url, const CallOptions& options, DoneCallback done) {
  const absl::StatusOr<RegisteredNode> form = NodeOf(root_, url, options_);
  if (!form.ok()) return std::move(done)(form.status());
  // A node that goes with no session may be of an earlier process, or of another.
  const bool is_known = nodes_.count(form->path) > 0;
  if (!is_known && form->session_bound) return std::move(done)(absl::OkStatus());
  WatchSession();
  Node& node = nodes_[form->path];
  if (!is_known) node.form = *form;
  const bool was_wanted = node.wanted();
  node.exports.erase(url.ToFullString());
  if (node.wanted()) return std::move(done)(absl::OkStatus());
  std::vector<uint64_t> overtaken;
  if (was_wanted) overtaken = std::exchange(node.waiters, {});
  node.error = absl::OkStatus();
  backoff_.Reset();
  Await(node, options, std::move(done));
  DeleteWaiting(form->folder);
  EndAll(std::move(overtaken), Overtaken(url, "unregistered"));
}

void InterfaceRegistrar::UnregisterAll(const CallOptions& options, DoneCallback done) {
  std::set<std::string> paths;
  std::vector<uint64_t> overtaken;
  for (auto& [path, node] : nodes_) {
    // Of those who call others; they go on.
    if (node.form.category == kConsumers) continue;
    paths.insert(path);
    if (node.wanted()) {
      for (uint64_t id : std::exchange(node.waiters, {})) overtaken.push_back(id);
    }
    node.exports.clear();
    node.error = absl::OkStatus();
  }
  if (paths.empty()) return std::move(done)(absl::OkStatus());
  backoff_.Reset();
  const uint64_t id = pending_.Add(options, std::move(done), [this] {
    const auto left = std::count_if(nodes_.begin(), nodes_.end(),
                                    [](const auto& each) { return !each.second.wanted(); });
    return absl::DeadlineExceededError(absl::StrCat(
        "registry ", centre_.url().ToString(), ": ", left, " URLs are not taken off yet: ",
        centre_.store().IsAvailable() ? "no answer in time" : "not connected"));
  });
  all_[id] = std::move(paths);
  StepAll();
  EndAll(std::move(overtaken), absl::CancelledError("all URLs are unregistered meanwhile"));
}

void InterfaceRegistrar::Close() {
  session_watch_.Cancel();
  executor_.Cancel(std::exchange(timer_, 0));
  executor_.Cancel(std::exchange(look_timer_, 0));
  pending_.Close(absl::FailedPreconditionError("the registry is closed"));
}

std::vector<std::string> InterfaceRegistrar::paths() const {
  std::vector<std::string> paths;
  {
    MutexLock lock(mutex_);
    for (const auto& [path, shown] : written_) paths.push_back(shown);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

void InterfaceRegistrar::SetWritten(Node& node, Node::Written written) {
  node.written = written;
  MutexLock lock(mutex_);
  if (written == Node::Written::kYes) {
    written_[node.form.path] =
        absl::StrCat(node.form.folder, "/", FormEncode(node.form.url.ToString()));
  } else {
    written_.erase(node.form.path);
  }
}

void InterfaceRegistrar::WatchSession() {
  if (session_watch_.active()) return;
  session_watch_ =
      centre_.store().WatchSession(guard_.Wrap([this](SessionEvent event) { OnSession(event); }));
}

void InterfaceRegistrar::Await(Node& node, const CallOptions& options, DoneCallback done) {
  if (node.settled()) return std::move(done)(absl::OkStatus());
  const std::string path = node.form.path;
  node.waiters.push_back(
      pending_.Add(options, std::move(done), [this, path, shown = node.form.url.ToString()] {
        // What is desired stays desired; only the waiting ends.
        auto it = nodes_.find(path);
        const std::string why =
            it != nodes_.end() && !it->second.error.ok()
                ? std::string(it->second.error.message())
                : absl::StrCat(
                      "registry ", centre_.url().ToString(), ": ",
                      centre_.store().IsAvailable() ? "no answer in time" : "not connected");
        return absl::DeadlineExceededError(absl::StrCat(
            shown, " is not ", it != nodes_.end() && !it->second.wanted() ? "taken off" : "written",
            " yet: ", why));
      }));
}

void InterfaceRegistrar::OnSession(SessionEvent event) {
  const bool first = !std::exchange(session_heard_, true);
  if (event == SessionEvent::kExpired && !centre_.store().IsAvailable()) {
    // It is known to be gone; when it can be written again, kNewSession says. One that comes late,
    // after the new session, is of no interest.
    for (auto& [path, node] : nodes_) {
      if (node.form.session_bound) SetWritten(node, Node::Written::kNo);
    }
  }
  if (event != SessionEvent::kNewSession && event != SessionEvent::kConnected) return;
  const bool lost = event == SessionEvent::kNewSession;
  if (lost) ++session_;
  std::vector<std::string> at_once;
  bool look = false;
  for (auto& [path, node] : nodes_) {
    if (lost && node.form.session_bound) {
      SetWritten(node, Node::Written::kNo);
    } else if (node.settled() && !first) {
      // May have been lost or deleted in the gap.
      SetWritten(node, Node::Written::kMaybe);
      look = true;
      continue;
    }
    at_once.push_back(path);
  }
  backoff_.Reset();
  executor_.Cancel(std::exchange(timer_, 0));
  if (look && look_timer_ == 0) {
    look_timer_ = executor_.PostAfter(look_delay_.Next(), guard_.Wrap([this] {
      look_timer_ = 0;
      StepAll();
    }));
  }
  for (const std::string& path : at_once) Step(path);
}

CallOptions InterfaceRegistrar::StepOptions() const {
  CallOptions options;
  options.timeout = kStepTimeout;
  return options;
}

void InterfaceRegistrar::StepAll() {
  std::vector<std::string> paths;
  for (const auto& [path, node] : nodes_) {
    if (!node.busy && !node.settled()) paths.push_back(path);
  }
  for (const std::string& path : paths) Step(path);
}

void InterfaceRegistrar::DeleteWaiting(const std::string& folder) {
  const std::string start = folder + "/";
  std::vector<std::string> paths;
  for (auto it = nodes_.lower_bound(start); it != nodes_.end(); ++it) {
    if (!absl::StartsWith(it->first, start)) break;
    const Node& node = it->second;
    if (!node.busy && !node.wanted() && node.error.ok()) paths.push_back(it->first);
  }
  for (const std::string& path : paths) Step(path);
}

void InterfaceRegistrar::Step(const std::string& path) {
  auto it = nodes_.find(path);
  if (it == nodes_.end()) return;
  Node& node = it->second;
  if (node.busy || node.settled()) return;
  if (!node.wanted()) {
    if (!MustBeWrittenFirst(node.form.folder)) Delete(path);
  } else if (node.written == Node::Written::kMaybe) {
    LookAt(path);
  } else {
    Write(path);
  }
}

// What is final does not hold up anything.
bool InterfaceRegistrar::MustBeWrittenFirst(const std::string& folder) const {
  const std::string start = folder + "/";
  for (auto it = nodes_.lower_bound(start); it != nodes_.end(); ++it) {
    if (!absl::StartsWith(it->first, start)) break;
    const Node& node = it->second;
    if (!node.wanted() || node.settled()) continue;
    if (node.error.ok() || IsRetryable(node.error)) return true;
  }
  return false;
}

bool InterfaceRegistrar::BeginCall(Node& node) {
  if (under_way_ < registry_internal::kCallWindow) {
    ++under_way_;
    node.busy = true;
    return true;
  }
  if (!std::exchange(node.queued, true)) queue_.push_back(node.form.path);
  return false;
}

void InterfaceRegistrar::EndCall(Node& node) {
  node.busy = false;
  --under_way_;
}

void InterfaceRegistrar::StepQueued() {
  if (guard_.closed() || std::exchange(stepping_queue_, true)) return;
  while (!queue_.empty() && under_way_ < registry_internal::kCallWindow) {
    const std::string path = std::move(queue_.front());
    queue_.pop_front();
    auto it = nodes_.find(path);
    if (it == nodes_.end()) continue;
    it->second.queued = false;
    Step(path);
  }
  stepping_queue_ = false;
}

void InterfaceRegistrar::LookAt(const std::string& path) {
  if (!BeginCall(nodes_.at(path))) return;
  centre_.store().Get(
      path, StepOptions(),
      guard_.Wrap([this, path, session = session_](absl::StatusOr<StoreValue> there) {
        EndCall(nodes_.at(path));
        OnLooked(path, session, there);
        StepQueued();
      }));
}

void InterfaceRegistrar::OnLooked(const std::string& path, uint64_t session,
                                  const absl::StatusOr<StoreValue>& there) {
  Node& node = nodes_.at(path);
  if (!there.ok() && !absl::IsNotFound(there.status())) return Fail(path, there.status());
  const bool right = there.ok() && there->session_bound == node.form.session_bound &&
                     (!there->session_bound || there->owned);
  if (right) return OnWritten(path, session, absl::OkStatus());
  SetWritten(node, Node::Written::kNo);
  Step(path);
}

void InterfaceRegistrar::Write(const std::string& path) {
  Node& node = nodes_.at(path);
  if (!BeginCall(node)) return;
  auto done = guard_.Wrap([this, path, session = session_](absl::StatusOr<int64_t> version) {
    EndCall(nodes_.at(path));
    OnWritten(path, session, version.status());
    StepQueued();
  });
  if (node.form.session_bound) {
    centre_.store().CreateSessionBound(path, mark_, ttl_, StepOptions(), std::move(done),
                                       ParentKind::kPersistent);
  } else {
    centre_.store().Put(path, mark_, StepOptions(), std::move(done));
  }
}

void InterfaceRegistrar::OnWritten(const std::string& path, uint64_t session,
                                   const absl::Status& status) {
  Node& node = nodes_.at(path);
  const bool of_old_session = node.form.session_bound && session != session_;
  SetWritten(node, of_old_session ? Node::Written::kNo
                   : status.ok()  ? Node::Written::kYes
                                  : Node::Written::kMaybe);  // the answer may have been lost
  if (!status.ok()) return Fail(path, status);
  node.error = absl::OkStatus();
  if (!node.settled()) return Step(path);
  Settle(path);
}

void InterfaceRegistrar::Delete(const std::string& path) {
  Node& node = nodes_.at(path);
  if (!BeginCall(node)) return;
  SetWritten(node, Node::Written::kMaybe);
  const auto done = [this, path](const absl::Status& status) {
    EndCall(nodes_.at(path));
    OnDeleted(path, status);
    StepQueued();
  };
  centre_.store().Get(
      path, StepOptions(), guard_.Wrap([this, path, done](absl::StatusOr<StoreValue> there) {
        if (!there.ok()) return done(there.status());
        // Of the process that serves at this address now (a simplified URL does not tell them
        // apart), unless it is what an ended session of ours wrote.
        if (there->session_bound && !there->owned && there->value != mark_) {
          return done(absl::OkStatus());
        }
        centre_.store().Delete(path, there->version, StepOptions(),
                               guard_.Wrap([done](const absl::Status& status) { done(status); }));
      }));
}

void InterfaceRegistrar::OnDeleted(const std::string& path, const absl::Status& status) {
  Node& node = nodes_.at(path);
  // kAborted: another session has taken it over since.
  const bool gone = status.ok() || absl::IsNotFound(status) || absl::IsAborted(status);
  if (!gone) return Fail(path, status);
  node.error = absl::OkStatus();
  SetWritten(node, Node::Written::kNo);
  if (node.wanted()) return Step(path);
  Settle(path);
}

void InterfaceRegistrar::Settle(const std::string& path) {
  auto it = nodes_.find(path);
  backoff_.Reset();
  std::vector<uint64_t> waiters = std::exchange(it->second.waiters, {});
  if (it->second.wanted()) {
    // What waited for this one.
    DeleteWaiting(std::string(it->second.form.folder));
  } else {
    nodes_.erase(it);
    for (uint64_t id : TakeAllDone(path)) waiters.push_back(id);
  }
  EndAll(std::move(waiters), absl::OkStatus());
}

std::vector<uint64_t> InterfaceRegistrar::TakeAllOf(const std::string& path) {
  std::vector<uint64_t> ids;
  for (auto it = all_.begin(); it != all_.end();) {
    const bool takes_it = it->second.count(path) > 0;
    if (takes_it) ids.push_back(it->first);
    it = takes_it ? all_.erase(it) : std::next(it);
  }
  return ids;
}

std::vector<uint64_t> InterfaceRegistrar::TakeAllDone(const std::string& path) {
  std::vector<uint64_t> ids;
  for (auto it = all_.begin(); it != all_.end();) {
    const bool is_last = it->second.erase(path) > 0 && it->second.empty();
    if (is_last) ids.push_back(it->first);
    it = is_last ? all_.erase(it) : std::next(it);
  }
  return ids;
}

void InterfaceRegistrar::EndAll(std::vector<uint64_t> waiters, const absl::Status& status) {
  for (uint64_t id : waiters) pending_.End(id, status);
}

void InterfaceRegistrar::Fail(const std::string& path, const absl::Status& status) {
  Node& node = nodes_.at(path);
  const std::string shown = node.form.url.ToString();
  const absl::Status error(status.code(),
                           absl::StrCat(shown, ": ", HideNodeName(status.message(), node.form)));
  if (node.error != error) Log(LogLevel::kWarning, absl::StrCat(error.message()));
  node.error = error;
  if (timer_ == 0) {
    timer_ = executor_.PostAfter(backoff_.Next(), guard_.Wrap([this] {
      timer_ = 0;
      StepAll();
    }));
  }
  if (IsRetryable(error)) return;
  std::vector<uint64_t> waiters = std::exchange(node.waiters, {});
  if (!node.wanted()) {
    for (uint64_t id : TakeAllOf(path)) waiters.push_back(id);
  }
  const std::string folder = node.form.folder;
  // Not for ever: what waited for it goes on.
  DeleteWaiting(folder);
  EndAll(std::move(waiters), error);
}

}  // namespace signpost::interface_internal

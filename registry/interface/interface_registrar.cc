#include "signpost/registry/interface/interface_registrar.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "signpost/common/log.h"
#include "signpost/common/status.h"
#include "signpost/registry/store/store_centre.h"

namespace signpost::interface_internal {
namespace {

// One call to the centre.
constexpr absl::Duration kStepTimeout = absl::Seconds(5);

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
      pending_(executor, guard) {}

InterfaceRegistrar::~InterfaceRegistrar() { Close(); }

void InterfaceRegistrar::Register(const Url& url, const CallOptions& options, DoneCallback done) {
  if (!ShouldRegister(url, options_)) return std::move(done)(absl::OkStatus());
  absl::StatusOr<RegisteredNode> form = NodeOf(root_, url, options_);
  if (!form.ok()) return std::move(done)(form.status());
  if (!session_watch_.active()) {
    session_watch_ =
        centre_.store().WatchSession(guard_.Wrap([this](SessionEvent event) { OnSession(event); }));
  }
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
    node.written = Node::Written::kNo;
  }
  node.form = *std::move(form);
  if (!node.wanted()) node.error = absl::OkStatus();
  node.exports.insert(url.ToFullString());
  if (!node.settled()) backoff_.Reset();
  Step(path);
  Await(nodes_.at(path), options, std::move(done));
  EndIfAllGone();
}

void InterfaceRegistrar::Unregister(const Url& url, const CallOptions& options, DoneCallback done) {
  const absl::StatusOr<RegisteredNode> form = NodeOf(root_, url, options_);
  if (!form.ok()) return std::move(done)(form.status());
  auto it = nodes_.find(form->path);
  if (it == nodes_.end()) return std::move(done)(absl::OkStatus());
  Node& node = it->second;
  node.exports.erase(url.ToFullString());
  if (node.wanted()) return std::move(done)(absl::OkStatus());
  node.error = absl::OkStatus();
  backoff_.Reset();
  Await(node, options, std::move(done));
  DeleteWaiting(form->folder);
}

void InterfaceRegistrar::UnregisterAll(const CallOptions& options, DoneCallback done) {
  if (nodes_.empty()) return std::move(done)(absl::OkStatus());
  for (auto& [path, node] : nodes_) {
    node.exports.clear();
    node.error = absl::OkStatus();
  }
  backoff_.Reset();
  all_waiters_.push_back(pending_.Add(options, std::move(done), [this] {
    return absl::DeadlineExceededError(absl::StrCat(
        "registry ", centre_.url().ToString(), ": ", nodes_.size(), " URLs are not taken off yet: ",
        centre_.store().IsAvailable() ? "no answer in time" : "not connected"));
  }));
  StepAll();
}

void InterfaceRegistrar::Close() {
  session_watch_.Cancel();
  executor_.Cancel(timer_);
  timer_ = 0;
  pending_.Close(absl::FailedPreconditionError("the registry is closed"));
}

std::vector<std::string> InterfaceRegistrar::paths() const {
  MutexLock lock(mutex_);
  return std::vector<std::string>(paths_.begin(), paths_.end());
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
  // kExpired may come late, after the new session: nothing is done on it.
  const bool first = !std::exchange(session_heard_, true);
  if (event != SessionEvent::kNewSession && event != SessionEvent::kConnected) return;
  const bool lost = event == SessionEvent::kNewSession;
  if (lost) ++session_;
  for (auto& [path, node] : nodes_) {
    if (lost && node.form.session_bound) {
      node.written = Node::Written::kNo;
    } else if (node.written == Node::Written::kYes && !first) {
      // May have been lost or deleted in the gap.
      node.written = Node::Written::kMaybe;
    }
  }
  backoff_.Reset();
  executor_.Cancel(std::exchange(timer_, 0));
  StepAll();
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

void InterfaceRegistrar::LookAt(const std::string& path) {
  nodes_.at(path).busy = true;
  centre_.store().Get(
      path, StepOptions(),
      guard_.Wrap([this, path, session = session_](absl::StatusOr<StoreValue> there) {
        Node& node = nodes_.at(path);
        node.busy = false;
        if (!there.ok() && !absl::IsNotFound(there.status())) return Fail(path, there.status());
        const bool right = there.ok() && there->session_bound == node.form.session_bound &&
                           (!there->session_bound || there->owned);
        if (right) return OnWritten(path, session, absl::OkStatus());
        node.written = Node::Written::kNo;
        Step(path);
      }));
}

void InterfaceRegistrar::Write(const std::string& path) {
  Node& node = nodes_.at(path);
  node.busy = true;
  auto done = guard_.Wrap([this, path, session = session_](absl::StatusOr<int64_t> version) {
    OnWritten(path, session, version.status());
  });
  if (node.form.session_bound) {
    centre_.store().CreateSessionBound(path, mark_, ttl_, StepOptions(), std::move(done));
  } else {
    centre_.store().Put(path, mark_, StepOptions(), std::move(done));
  }
}

void InterfaceRegistrar::OnWritten(const std::string& path, uint64_t session,
                                   const absl::Status& status) {
  Node& node = nodes_.at(path);
  node.busy = false;
  const bool of_old_session = node.form.session_bound && session != session_;
  node.written = of_old_session ? Node::Written::kNo
                 : status.ok()  ? Node::Written::kYes
                                : Node::Written::kMaybe;  // the answer may have been lost
  if (!status.ok()) return Fail(path, status);
  node.error = absl::OkStatus();
  if (!node.settled()) return Step(path);
  Settle(path);
}

void InterfaceRegistrar::Delete(const std::string& path) {
  Node& node = nodes_.at(path);
  node.busy = true;
  node.written = Node::Written::kMaybe;
  centre_.store().Get(
      path, StepOptions(), guard_.Wrap([this, path](absl::StatusOr<StoreValue> there) {
        if (!there.ok()) return OnDeleted(path, there.status());
        // Of the process that serves at this address now (a simplified URL does not tell them
        // apart), unless it is what an ended session of ours wrote.
        if (there->session_bound && !there->owned && there->value != mark_) {
          return OnDeleted(path, absl::OkStatus());
        }
        centre_.store().Delete(
            path, there->version, StepOptions(),
            guard_.Wrap([this, path](absl::Status status) { OnDeleted(path, status); }));
      }));
}

void InterfaceRegistrar::OnDeleted(const std::string& path, const absl::Status& status) {
  Node& node = nodes_.at(path);
  node.busy = false;
  // kAborted: another session has taken it over since.
  const bool gone = status.ok() || absl::IsNotFound(status) || absl::IsAborted(status);
  if (!gone) return Fail(path, status);
  node.error = absl::OkStatus();
  node.written = Node::Written::kNo;
  if (node.wanted()) return Step(path);
  Settle(path);
}

void InterfaceRegistrar::Settle(const std::string& path) {
  auto it = nodes_.find(path);
  backoff_.Reset();
  std::vector<uint64_t> waiters = std::move(it->second.waiters);
  it->second.waiters.clear();
  const RegisteredNode form = it->second.form;
  const bool wanted = it->second.wanted();
  {
    const std::string shown = absl::StrCat(form.folder, "/", FormEncode(form.url.ToString()));
    MutexLock lock(mutex_);
    if (wanted) {
      paths_.insert(shown);
    } else {
      paths_.erase(shown);
    }
  }
  if (!wanted) nodes_.erase(it);
  // What waited for this one.
  if (wanted) DeleteWaiting(form.folder);
  EndAll(std::move(waiters), absl::OkStatus());
  if (!guard_.closed()) EndIfAllGone();
}

void InterfaceRegistrar::EndIfAllGone() {
  if (all_waiters_.empty()) return;
  for (const auto& [path, node] : nodes_) {
    if (!node.wanted()) return;
  }
  EndAll(std::exchange(all_waiters_, {}), absl::OkStatus());
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
    for (uint64_t id : std::exchange(all_waiters_, {})) waiters.push_back(id);
  }
  const std::string folder = node.form.folder;
  // Not for ever: what waited for it goes on.
  DeleteWaiting(folder);
  EndAll(std::move(waiters), error);
}

}  // namespace signpost::interface_internal

#include "signpost/client/provider.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "signpost/common/await.h"
#include "signpost/common/clock.h"
#include "signpost/common/mutex.h"
#include "signpost/common/service_key.h"
#include "signpost/common/status.h"

namespace signpost {
namespace {

constexpr char kDubboProtocolVersion[] = "2.0.2";

absl::Status Bad(const Url& url, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("export ", url.ToString(), ": ", why));
}

// `tri://:50051/...`: any host.
absl::StatusOr<Url> ParseExported(absl::string_view text) {
  const size_t scheme = text.find("://");
  if (scheme == absl::string_view::npos || text.substr(scheme + 3, 1) != ":") {
    return Url::Parse(text);
  }
  return Url::Parse(absl::StrCat(text.substr(0, scheme), "://[::]", text.substr(scheme + 3)));
}

absl::StatusOr<Url> Complete(Url url, const std::string& app, AddressSelector* address) {
  if (url.protocol().empty()) return Bad(url, "no protocol");
  if (address != nullptr) {
    absl::StatusOr<Url> registered = address->Complete(url);
    if (!registered.ok()) {
      return Annotate(registered.status(), absl::StrCat("export ", url.ToString()));
    }
    url = *std::move(registered);
  } else if (IsWildcardHost(url.host())) {
    return Bad(url, "consumers cannot call the wildcard address; name a host that they reach");
  }
  if (url.port() == 0) {
    return Bad(url, "no port; listen first, then export the port that was bound");
  }
  const std::string interface(url.service_interface());
  absl::StatusOr<ServiceKey> key = ServiceKey::Parse(interface);
  if (!key.ok()) return Annotate(key.status(), absl::StrCat("export ", url.ToString()));
  if (key->interface_name != interface) {
    return Bad(url, "group and version are parameters, not parts of the interface");
  }
  auto fill = [&url](absl::string_view name, absl::string_view value) {
    if (url.Get(name).empty()) url = url.With(name, value);
  };
  fill("interface", interface);
  fill("application", app);
  fill("side", "provider");
  fill("dubbo", kDubboProtocolVersion);
  fill("methods", "*");
  // It goes into a document that must be UTF-8 as a whole.
  if (!IsValidUtf8(url.ToFullString())) return Bad(url, "not UTF-8");
  return url;
}

}  // namespace

class Provider::State : public std::enable_shared_from_this<Provider::State> {
 public:
  explicit State(Parts parts) : parts_(std::move(parts)) {}

  absl::Status Export(const Url& raw) {
    if (parts_.read_only) {
      return absl::FailedPreconditionError("export: the client is read-only");
    }
    if (parts_.app.empty()) {
      return absl::FailedPreconditionError("export: the client has no application name");
    }
    absl::StatusOr<Url> url = Complete(raw, parts_.app, parts_.address.get());
    if (!url.ok()) return url.status();
    MutexLock lock(mutex_);
    if (registry_closed_) return Closed();
    if (std::find(exported_.begin(), exported_.end(), *url) != exported_.end()) {
      return absl::OkStatus();
    }
    // Its port would be looked for at the instance's host.
    if (!exported_.empty() && url->host() != exported_.front().host()) {
      return Bad(*url, absl::StrCat("another host than that of ", exported_.front().ToString(),
                                    "; a process is one instance with one host"));
    }
    exported_.push_back(*url);
    // Under the lock, so that an Unexport cannot overtake it; it only posts.
    if (!offline_) parts_.registrar->Register(*url, CallOptions(), Noted(*url));
    return absl::OkStatus();
  }

  absl::Status Unexport(const Url& raw) {
    absl::StatusOr<Url> url = Complete(raw, parts_.app, parts_.address.get());
    if (!url.ok()) return url.status();
    MutexLock lock(mutex_);
    if (registry_closed_) return Closed();
    auto found = std::find(exported_.begin(), exported_.end(), *url);
    if (found == exported_.end()) {
      return absl::NotFoundError(absl::StrCat("unexport ", url->ToString(), ": not exported"));
    }
    exported_.erase(found);
    if (!offline_) parts_.registrar->Unregister(*url, CallOptions(), Noted(*url));
    return absl::OkStatus();
  }

  absl::Status Offline(const CallOptions& options) {
    if (parts_.executor->IsCurrent()) return WouldWaitForItself("offline");
    Waiter<> waiting;
    {
      MutexLock lock(mutex_);
      if (registry_closed_) return Closed();
      offline_ = true;
      parts_.registrar->UnregisterAll(options, waiting.Callback());
    }
    return Annotate(waiting.Wait(Patience(options.timeout)), "offline");
  }

  absl::Status Online(const CallOptions& options) {
    return Annotate(Publish(options, /*go_online=*/true), "online");
  }

  absl::Status WaitPublished(absl::Duration timeout) {
    CallOptions options;
    options.timeout = timeout;
    return Publish(options, /*go_online=*/false);
  }

  absl::Status Close(absl::Duration timeout) {
    Waiter<> waiting;
    {
      MutexLock lock(mutex_);
      if (registry_closed_) return absl::OkStatus();
      registry_closed_ = true;
      if (exported_.empty()) return absl::OkStatus();
      CallOptions options;
      options.timeout = timeout;
      parts_.registrar->UnregisterAll(options, waiting.Callback());
    }
    return Annotate(waiting.Wait(timeout), "unregister");
  }

  bool has_exports() const {
    MutexLock lock(mutex_);
    return !exported_.empty();
  }
  std::vector<Url> exported() const {
    MutexLock lock(mutex_);
    return exported_;
  }
  absl::Status state() const {
    MutexLock lock(mutex_);
    return error_;
  }
  RegisteredState registered() const {
    return parts_.registered != nullptr ? parts_.registered() : RegisteredState();
  }

 private:
  static absl::Status WouldWaitForItself(absl::string_view what) {
    return absl::FailedPreconditionError(
        absl::StrCat(what, ": on the control executor (a callback) it would wait for itself"));
  }
  static absl::Status Closed() { return absl::FailedPreconditionError("provider: closed"); }

  // The registry ends a call at its timeout; a little more, for an executor that is stuck.
  static absl::Duration Patience(absl::Duration timeout) { return timeout + absl::Seconds(1); }

  // Registers everything again: what is there already is only confirmed. While offline, nothing.
  absl::Status Publish(const CallOptions& options, bool go_online) {
    if (parts_.executor->IsCurrent()) return WouldWaitForItself(go_online ? "online" : "start");
    std::vector<std::pair<Url, Waiter<>>> calls;
    {
      MutexLock lock(mutex_);
      if (registry_closed_) return Closed();
      if (go_online) offline_ = false;
      if (offline_) return absl::OkStatus();
      for (const Url& url : exported_) {
        calls.emplace_back(url, Waiter<>());
        parts_.registrar->Register(url, options, calls.back().second.Callback());
      }
    }
    const absl::Duration end = Clock::Real().MonotonicNow() + Patience(options.timeout);
    absl::Status first;
    for (auto& [url, waiting] : calls) {
      const absl::Status status = waiting.Wait(end - Clock::Real().MonotonicNow());
      first.Update(Annotate(status, absl::StrCat("export ", url.ToString())));
    }
    Note(first);
    return first;
  }

  DoneCallback Noted(const Url& url) {
    return [weak = weak_from_this(), url](absl::Status status) {
      // Of something that is no longer wanted.
      if (absl::IsCancelled(status)) return;
      if (auto self = weak.lock()) {
        self->Note(Annotate(status, absl::StrCat("export ", url.ToString())));
      }
    };
  }

  void Note(const absl::Status& status) {
    MutexLock lock(mutex_);
    if (status.ok()) {
      error_ = absl::OkStatus();
    } else {
      error_.Update(status);
    }
  }

  const Parts parts_;
  mutable Mutex mutex_;
  bool registry_closed_ = false;
  bool offline_ = false;
  std::vector<Url> exported_;  // in order of Export
  absl::Status error_;
};

Provider::Provider(Parts parts) : state_(std::make_shared<State>(std::move(parts))) {}

absl::Status Provider::Export(absl::string_view url) {
  absl::StatusOr<Url> parsed = ParseExported(url);
  if (!parsed.ok()) return Annotate(parsed.status(), "export");
  return Export(*parsed);
}

absl::Status Provider::Export(const Url& url) { return state_->Export(url); }

absl::Status Provider::Unexport(const Url& url) { return state_->Unexport(url); }

absl::Status Provider::Offline(const CallOptions& options) { return state_->Offline(options); }

absl::Status Provider::Online(const CallOptions& options) { return state_->Online(options); }

std::vector<Url> Provider::exported() const { return state_->exported(); }

RegisteredState Provider::registered() const { return state_->registered(); }

absl::Status Provider::state() const { return state_->state(); }

absl::Status Provider::WaitPublished(absl::Duration timeout) {
  return state_->WaitPublished(timeout);
}

bool Provider::has_exports() const { return state_->has_exports(); }

absl::Status Provider::Close(absl::Duration timeout) { return state_->Close(timeout); }

}  // namespace signpost

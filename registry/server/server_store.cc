#include "signpost/registry/server/server_store.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "signpost/registry/server/connection.h"
#include "signpost/registry/server/server_calls.h"
#include "signpost/registry/server/server_link.h"
#include "signpost/registry/server/server_watches.h"
#include "signpost/registry/store/store_centre.h"
#include "signpost/registry/store/store_key.h"

namespace signpost {
namespace {

using server_internal::Answer;
using server_internal::Call;
using server_internal::Connection;
using server_internal::LinkOptions;
using server_internal::OpenedSession;
using server_internal::ServerCalls;
using server_internal::ServerLink;
using server_internal::ServerWatches;
using server_internal::WatchEvent;

constexpr uint16_t kDefaultPort = 2280;

// The server would end the connection at a larger request; a value of 4 MiB is its own limit.
constexpr size_t kMaxRequestBytes = 6 << 20;

absl::Status CheckWrite(const std::string& key, const std::string& value) {
  if (absl::Status status = CheckStoreKey(key); !status.ok()) return status;
  if (key.size() + value.size() <= kMaxRequestBytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(absl::string_view(key).substr(0, 200), ": key and value have ",
                   key.size() + value.size(), " bytes; the limit is ", kMaxRequestBytes));
}

// The wire has values only; what differs in nothing but them is not told.
Store::TreeCallback NamesOnly(Store::TreeCallback on_change) {
  return
      [on_change = std::move(on_change), failed = false](absl::StatusOr<TreeDelta> delta) mutable {
        const bool recovers = std::exchange(failed, !delta.ok());
        if (delta.ok()) {
          const bool news = recovers || delta->changed.empty();
          delta->changed.clear();
          if (delta->empty() && !news) return;
          for (StoreChild& child : delta->added)
            child = {std::move(child.name), true, StoreValue()};
        }
        on_change(std::move(delta));
      };
}

class ServerStore final : public Store {
 public:
  ServerStore(LinkOptions options, std::shared_ptr<Executor> executor)
      : pid_(getpid()), executor_(std::move(executor)) {
    // The link is there before those who listen to it; events find them through this.
    auto watches = std::make_shared<std::weak_ptr<ServerWatches>>();
    ServerLink::Listener listener;
    listener.on_session = [watches](SessionEvent event, int64_t session) {
      if (auto found = watches->lock()) found->OnSession(event, session);
    };
    listener.on_events = [watches](int64_t session, std::vector<WatchEvent> events) {
      if (auto found = watches->lock()) found->OnEvents(session, std::move(events));
    };
    const absl::Duration patience = options.timeout;
    link_ = std::make_shared<ServerLink>(std::move(options), std::move(listener), executor_);
    calls_ = std::make_shared<ServerCalls>(link_, executor_);
    watches_ = std::make_shared<ServerWatches>(link_, executor_, patience);
    *watches = watches_;
    link_->Open();
  }

  ~ServerStore() override { Close(); }

  void Get(const std::string& key, const CallOptions& options, ValueCallback done) override {
    Begin<StoreValue>(
        key, CheckStoreKey(key), options, /*repeatable=*/true, std::move(done),
        [key](Connection& connection, int64_t session) { return connection.Get(session, key); });
  }

  void Put(const std::string& key, std::string value, const CallOptions& options,
           VersionCallback done) override {
    const absl::Status status = CheckWrite(key, value);
    Begin<int64_t>(key, status, options, /*repeatable=*/false, std::move(done),
                   [key, value = std::move(value)](Connection& connection, int64_t session) {
                     return connection.Put(session, key, value);
                   });
  }

  void CreateSessionBound(const std::string& key, std::string value, absl::Duration,
                          const CallOptions& options, VersionCallback done, ParentKind) override {
    const absl::Status status = CheckWrite(key, value);
    Begin<int64_t>(key, status, options, /*repeatable=*/true, std::move(done),
                   [key, value = std::move(value)](Connection& connection, int64_t session) {
                     return connection.Bind(session, key, value);
                   });
  }

  void CompareAndSet(const std::string& key, std::string value, int64_t expected_version,
                     const CallOptions& options, VersionCallback done) override {
    const absl::Status status = CheckWrite(key, value);
    Begin<int64_t>(
        key, status, options, /*repeatable=*/false, std::move(done),
        [key, value = std::move(value), expected_version](Connection& connection, int64_t session) {
          return connection.CompareAndSet(session, key, value, expected_version);
        });
  }

  void Delete(const std::string& key, int64_t expected_version, const CallOptions& options,
              DoneCallback done) override {
    Begin<bool>(
        key, CheckStoreKey(key), options, /*repeatable=*/false,
        [done = std::move(done)](absl::StatusOr<bool> result) mutable {
          std::move(done)(result.status());
        },
        [key, expected_version](Connection& connection, int64_t session) {
          return connection.Remove(session, key, expected_version);
        });
  }

  void Exists(const std::string& key, const CallOptions& options, BoolCallback done) override {
    Begin<bool>(
        key, CheckStoreKey(key), options, /*repeatable=*/true, std::move(done),
        [key](Connection& connection, int64_t session) { return connection.Exists(session, key); });
  }

  void List(const std::string& prefix, const CallOptions& options, ListCallback done) override {
    Begin<std::vector<StoreChild>>(prefix, CheckStorePrefix(prefix), options, /*repeatable=*/true,
                                   std::move(done),
                                   [prefix](Connection& connection, int64_t session) {
                                     return connection.List(session, prefix);
                                   });
  }

  Subscription Watch(const std::string& key, WatchCallback on_change) override {
    auto listener = std::make_shared<ValueListener>(std::move(on_change));
    return Listen(
        listener, [key, listener](ServerWatches& watches) { watches.AddValue(key, listener); },
        [key, listener](ServerWatches& watches) { watches.RemoveValue(key, listener.get()); });
  }

  Subscription WatchTree(const std::string& prefix, TreeCallback on_change,
                         TreeContent content) override {
    if (content == TreeContent::kNames) on_change = NamesOnly(std::move(on_change));
    auto listener = std::make_shared<TreeListener>(std::move(on_change));
    return Listen(
        listener, [prefix, listener](ServerWatches& watches) { watches.AddTree(prefix, listener); },
        [prefix, listener](ServerWatches& watches) { watches.RemoveTree(prefix, listener.get()); });
  }

  Subscription WatchSession(SessionCallback on_event) override {
    auto listener = std::make_shared<SessionListener>(std::move(on_event));
    return Listen(
        listener, [listener](ServerWatches& watches) { watches.AddSession(listener); },
        [listener](ServerWatches& watches) { watches.RemoveSession(listener.get()); });
  }

  bool IsAvailable() const override {
    return same_process() && link_->connected() && !link_->closed();
  }

  StoreCapabilities capabilities() const override {
    StoreCapabilities capabilities;
    capabilities.ordered = true;
    capabilities.tree_watch = true;
    capabilities.session = true;
    return capabilities;
  }

  void Close() override {
    if (!same_process()) {
      // Locks and threads are as they were at the fork: touch none of them, free nothing.
      new std::shared_ptr<ServerLink>(link_);
      new std::shared_ptr<ServerCalls>(calls_);
      new std::shared_ptr<ServerWatches>(watches_);
      new std::shared_ptr<Executor>(executor_);
      return;
    }
    if (link_->closed()) return;
    watches_->StopCallbacks();
    // Before the link's own end, so that open calls are told why; and after, for those that other
    // threads begin meanwhile.
    executor_->Post([calls = calls_] { calls->CancelAll(); });
    link_->Close();
    executor_->Post([calls = calls_, watches = watches_] {
      watches->Clear();
      calls->CancelAll();
    });
  }

 private:
  bool same_process() const { return getpid() == pid_; }

  template <typename T>
  void Begin(const std::string& key, absl::Status bad_key, const CallOptions& options,
             bool repeatable, typename Call<T>::Done done,
             std::function<Answer<T>(Connection&, int64_t)> ask) {
    if (!same_process()) {
      std::move(done)(absl::FailedPreconditionError(
          absl::StrCat(key, ": the session belongs to the parent process")));
      return;
    }
    if (link_->closed()) {
      executor_->Post([key, done = std::move(done)]() mutable {
        std::move(done)(absl::FailedPreconditionError(absl::StrCat(key, ": the store is closed")));
      });
      return;
    }
    executor_->Post([calls = calls_, key, bad_key = std::move(bad_key), options, repeatable,
                     done = std::move(done), ask = std::move(ask)]() mutable {
      calls->Start<T>(key, bad_key, options, repeatable, std::move(done), std::move(ask));
    });
  }

  template <typename L, typename Add, typename Remove>
  Subscription Listen(const std::shared_ptr<L>& listener, Add add, Remove remove) {
    if (!same_process() || link_->closed()) return Subscription();
    executor_->Post([watches = watches_, listener, add = std::move(add)] {
      if (!listener->gate.closed()) add(*watches);
    });
    return Subscription([weak = std::weak_ptr<ServerWatches>(watches_), executor = executor_,
                         pid = pid_, listener, remove = std::move(remove)] {
      if (getpid() != pid) return;
      listener->gate.Close();
      executor->Post([weak, remove] {
        if (auto watches = weak.lock()) remove(*watches);
      });
    });
  }

  const pid_t pid_;
  const std::shared_ptr<Executor> executor_;
  std::shared_ptr<ServerLink> link_;
  std::shared_ptr<ServerCalls> calls_;
  std::shared_ptr<ServerWatches> watches_;
};

absl::StatusOr<LinkOptions> ParseLinkOptions(const Url& url) {
  if (url.protocol() != "signpost" || url.host().empty() || url.addresses().size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(url.ToString(), ": expected signpost://host[:port], one server"));
  }
  const absl::StatusOr<int64_t> session = url.GetInt("session", 30000);
  if (!session.ok()) return session.status();
  const absl::StatusOr<int64_t> timeout = url.GetInt("timeout", 5000);
  if (!timeout.ok()) return timeout.status();
  if (*session <= 0 || *timeout <= 0 || *session > 86400000 || *timeout > 86400000) {
    return absl::InvalidArgumentError(absl::StrCat(
        url.ToString(), ": session and timeout are milliseconds above 0, at most a day"));
  }
  LinkOptions options;
  options.host = UnbracketHost(url.host());
  options.port = url.port() != 0 ? url.port() : kDefaultPort;
  options.session = absl::Milliseconds(*session);
  options.timeout = absl::Milliseconds(*timeout);
  return options;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> OpenServerStore(const Url& url,
                                                       std::shared_ptr<Executor> executor) {
  absl::StatusOr<LinkOptions> options = ParseLinkOptions(url);
  if (!options.ok()) return options.status();
  return std::unique_ptr<Store>(
      std::make_unique<ServerStore>(*std::move(options), std::move(executor)));
}

absl::StatusOr<std::unique_ptr<RegistryCentre>> OpenServerCentre(const Url& url,
                                                                 const CentreOptions& options) {
  absl::StatusOr<std::unique_ptr<Store>> store = OpenServerStore(url, options.executor);
  if (!store.ok()) return store.status();
  return NewStoreCentre(url, options.executor, *std::move(store));
}

absl::Status ProbeRegistryServer(const Url& url, absl::Duration timeout) {
  const absl::StatusOr<LinkOptions> options = ParseLinkOptions(url);
  if (!options.ok()) return options.status();
  static const std::atomic<bool> never{false};
  auto connection = Connection::Connect(options->host, options->port, timeout, never);
  if (!connection.ok()) return connection.status();
  const Answer<OpenedSession> opened = (*connection)->Open(timeout);
  if (!opened.value.ok()) return opened.value.status();
  return (*connection)->CloseSession(opened.value->id).value.status();
}

}  // namespace signpost

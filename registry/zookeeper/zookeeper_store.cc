#include "signpost/registry/zookeeper/zookeeper_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "signpost/registry/store/store_centre.h"
#include "signpost/registry/zookeeper/zookeeper_calls.h"
#include "signpost/registry/zookeeper/zookeeper_session.h"
#include "signpost/registry/zookeeper/zookeeper_watches.h"

namespace signpost {
namespace {

using zookeeper_internal::Call;
using zookeeper_internal::NodeEvent;
using zookeeper_internal::SessionOptions;
using zookeeper_internal::ZookeeperCalls;
using zookeeper_internal::ZookeeperSession;
using zookeeper_internal::ZookeeperWatches;

constexpr uint16_t kDefaultPort = 2181;

class ZookeeperStore final : public Store {
 public:
  ZookeeperStore(SessionOptions options, absl::Duration patience,
                 std::shared_ptr<Executor> executor)
      : executor_(std::move(executor)) {
    // The session is there before those who listen to it; events find them through this.
    struct Link {
      std::weak_ptr<ZookeeperCalls> calls;
      std::weak_ptr<ZookeeperWatches> watches;
    };
    auto link = std::make_shared<Link>();
    ZookeeperSession::Events events;
    events.session = [link](SessionEvent event) {
      if (auto watches = link->watches.lock()) watches->OnSession(event);
    };
    events.node = [link](NodeEvent event, const std::string& path) {
      if (auto watches = link->watches.lock()) watches->OnNode(event, path);
    };
    events.refused = [link](const absl::Status& why) {
      if (auto calls = link->calls.lock()) calls->FailAll(why);
      if (auto watches = link->watches.lock()) watches->Complain();
    };
    session_ = ZookeeperSession::Prepare(std::move(options), std::move(events), executor_);
    calls_ = std::make_shared<ZookeeperCalls>(session_, executor_);
    watches_ = std::make_shared<ZookeeperWatches>(session_, executor_, patience);
    *link = {calls_, watches_};
    session_->Open();
  }

  ~ZookeeperStore() override { Close(); }

  void Get(const std::string& key, const CallOptions& options, ValueCallback done) override {
    Begin<StoreValue>(key, options, std::move(done),
                      [](ZookeeperCalls& calls, auto call) { calls.Get(std::move(call)); });
  }

  void Put(const std::string& key, std::string value, const CallOptions& options,
           VersionCallback done) override {
    Begin<int64_t>(key, options, std::move(done),
                   [value = std::move(value)](ZookeeperCalls& calls, auto call) mutable {
                     calls.Put(std::move(call), std::move(value));
                   });
  }

  void CreateSessionBound(const std::string& key, std::string value, absl::Duration,
                          const CallOptions& options, VersionCallback done,
                          ParentKind parents) override {
    Begin<int64_t>(key, options, std::move(done),
                   [value = std::move(value), parents](ZookeeperCalls& calls, auto call) mutable {
                     calls.CreateSessionBound(std::move(call), std::move(value), parents);
                   });
  }

  void CompareAndSet(const std::string& key, std::string value, int64_t expected_version,
                     const CallOptions& options, VersionCallback done) override {
    Begin<int64_t>(
        key, options, std::move(done),
        [value = std::move(value), expected_version](ZookeeperCalls& calls, auto call) mutable {
          calls.CompareAndSet(std::move(call), std::move(value), expected_version);
        });
  }

  void Delete(const std::string& key, int64_t expected_version, const CallOptions& options,
              DoneCallback done) override {
    Begin<bool>(
        key, options,
        [done = std::move(done)](absl::StatusOr<bool> result) mutable {
          std::move(done)(result.status());
        },
        [expected_version](ZookeeperCalls& calls, auto call) {
          calls.Delete(std::move(call), expected_version);
        });
  }

  void Exists(const std::string& key, const CallOptions& options, BoolCallback done) override {
    Begin<bool>(key, options, std::move(done),
                [](ZookeeperCalls& calls, auto call) { calls.Exists(std::move(call)); });
  }

  void List(const std::string& prefix, const CallOptions& options, ListCallback done) override {
    Begin<std::vector<StoreChild>>(
        prefix, options, std::move(done),
        [](ZookeeperCalls& calls, auto call) { calls.List(std::move(call)); });
  }

  Subscription Watch(const std::string& key, WatchCallback on_change) override {
    auto listener = std::make_shared<ValueListener>(std::move(on_change));
    return Listen(
        listener, [key, listener](ZookeeperWatches& watches) { watches.AddValue(key, listener); },
        [key, listener](ZookeeperWatches& watches) { watches.RemoveValue(key, listener.get()); });
  }

  Subscription WatchTree(const std::string& prefix, TreeCallback on_change,
                         TreeContent content) override {
    auto listener = std::make_shared<TreeListener>(std::move(on_change));
    return Listen(
        listener,
        [prefix, content, listener](ZookeeperWatches& watches) {
          watches.AddTree(prefix, content, listener);
        },
        [prefix, content, listener](ZookeeperWatches& watches) {
          watches.RemoveTree(prefix, content, listener.get());
        });
  }

  Subscription WatchSession(SessionCallback on_event) override {
    auto listener = std::make_shared<SessionListener>(std::move(on_event));
    return Listen(
        listener, [listener](ZookeeperWatches& watches) { watches.AddSession(listener); },
        [listener](ZookeeperWatches& watches) { watches.RemoveSession(listener.get()); });
  }

  bool IsAvailable() const override { return session_->connected() && session_->same_process(); }

  StoreCapabilities capabilities() const override {
    StoreCapabilities capabilities;
    capabilities.ordered = true;
    capabilities.session = true;
    return capabilities;
  }

  void Close() override {
    if (session_->closed()) return;
    if (!session_->same_process()) {
      // Locks and threads are as they were at the fork: touch none of them, free nothing.
      new std::shared_ptr<ZookeeperCalls>(calls_);
      new std::shared_ptr<ZookeeperWatches>(watches_);
      new std::shared_ptr<Executor>(executor_);
      session_->Close();
      return;
    }
    watches_->StopCallbacks();
    // Before the session's own answers, so that open calls are told why; and after, for those that
    // other threads begin meanwhile.
    const absl::Status closed = absl::CancelledError("zookeeper: the store is closed");
    executor_->Post([calls = calls_, closed] { calls->FailAll(closed); });
    session_->Close();
    executor_->Post([calls = calls_, watches = watches_, closed] {
      watches->Clear();
      calls->FailAll(closed);
    });
  }

 private:
  template <typename T, typename Start>
  void Begin(const std::string& key, const CallOptions& options, typename Call<T>::Done done,
             Start start) {
    if (!session_->same_process()) {
      std::move(done)(absl::FailedPreconditionError(
          absl::StrCat("zookeeper ", key, ": the session belongs to the parent process")));
      return;
    }
    if (session_->closed()) {
      executor_->Post([key, done = std::move(done)]() mutable {
        std::move(done)(absl::FailedPreconditionError(
            absl::StrCat("zookeeper ", key, ": the store is closed")));
      });
      return;
    }
    executor_->Post(
        [calls = calls_, key, options, done = std::move(done), start = std::move(start)]() mutable {
          auto call = calls->NewCall<T>(key, options, std::move(done));
          if (!call->ended) start(*calls, std::move(call));
        });
  }

  template <typename L, typename Add, typename Remove>
  Subscription Listen(const std::shared_ptr<L>& listener, Add add, Remove remove) {
    if (!session_->same_process() || session_->closed()) return Subscription();
    executor_->Post([watches = watches_, listener, add = std::move(add)] {
      if (!listener->gate.closed()) add(*watches);
    });
    return Subscription([weak = std::weak_ptr<ZookeeperWatches>(watches_), executor = executor_,
                         session = session_, listener, remove = std::move(remove)] {
      if (!session->same_process()) return;
      listener->gate.Close();
      executor->Post([weak, remove] {
        if (auto watches = weak.lock()) remove(*watches);
      });
    });
  }

  const std::shared_ptr<Executor> executor_;
  std::shared_ptr<ZookeeperSession> session_;
  std::shared_ptr<ZookeeperCalls> calls_;
  std::shared_ptr<ZookeeperWatches> watches_;
};

// `user:password` of the URL's user info, else of Dubbo's parameters `username` and `password`; a
// password goes with no other user than its own. As in Dubbo either may be empty.
std::string CredentialsOf(const Url& url) {
  std::string user = url.username();
  std::string password = url.password();
  const std::string other(url.Get("username"));
  if (user.empty()) user = other;
  if (password.empty() && (other.empty() || other == user)) {
    password = std::string(url.Get("password"));
  }
  return user.empty() && password.empty() ? "" : absl::StrCat(user, ":", password);
}

absl::Status BadReaders(const Url& url, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("zookeeper ", url.address(), ": parameter acl-read: ", why));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> OpenZookeeperStore(const Url& url,
                                                          std::shared_ptr<Executor> executor) {
  if (url.host().empty()) {
    return absl::InvalidArgumentError("zookeeper: the URL names no host");
  }
  const absl::StatusOr<int64_t> session = url.GetInt("session", 60000);
  if (!session.ok()) return session.status();
  const absl::StatusOr<int64_t> timeout = url.GetInt("timeout", 5000);
  if (!timeout.ok()) return timeout.status();
  if (*session <= 0 || *timeout <= 0 || *session > 86400000) {
    return absl::InvalidArgumentError(absl::StrCat(
        "zookeeper ", url.address(), ": session and timeout are milliseconds above 0"));
  }
  SessionOptions options;
  std::vector<std::string> servers = url.addresses();
  for (std::string& server : servers) {
    const auto parts = SplitHostPort(server);
    if (!parts.has_value() || parts->second == 0) server = JoinHostPort(server, kDefaultPort);
  }
  options.servers = absl::StrJoin(servers, ",");
  options.credentials = CredentialsOf(url);
  auto readers = zookeeper_internal::ParseReaders(url.Get("acl-read"));
  if (!readers.ok()) return BadReaders(url, readers.status().message());
  if (!readers->empty() && options.credentials.empty()) {
    return BadReaders(url, "of use only with username and password; without, everybody may read");
  }
  options.readers = *std::move(readers);
  options.timeout = absl::Milliseconds(*session);
  return std::unique_ptr<Store>(std::make_unique<ZookeeperStore>(
      std::move(options), absl::Milliseconds(*timeout), std::move(executor)));
}

absl::StatusOr<std::unique_ptr<RegistryCentre>> OpenZookeeperCentre(const Url& url,
                                                                    const CentreOptions& options) {
  absl::StatusOr<std::unique_ptr<Store>> store = OpenZookeeperStore(url, options.executor);
  if (!store.ok()) return store.status();
  return NewStoreCentre(url, options.executor, *std::move(store));
}

}  // namespace signpost

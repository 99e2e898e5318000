#include "signpost/client/directory.h"

#include <algorithm>
#include <list>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "signpost/common/await.h"
#include "signpost/common/gate.h"
#include "signpost/common/log.h"
#include "signpost/common/mutex.h"
#include "signpost/common/snapshot.h"
#include "signpost/common/status.h"

namespace signpost {
namespace {

absl::Status Closed(const std::string& service) {
  return absl::FailedPreconditionError(absl::StrCat(service, ": closed"));
}

bool Contains(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

// What Pick reads: one immutable whole per notification.
struct Directory::View {
  struct Pool {
    std::shared_ptr<const Picker> picker;
    absl::Status error;  // why there is nothing to pick
  };
  std::shared_ptr<const RouteTable> table;
  std::vector<Pool> pools;
  ServiceAddresses addresses;
  bool known = false;    // at least one notification came
  absl::Status unready;  // OK if some pool has addresses
};

class Directory::State final : public NotifyListener,
                               public std::enable_shared_from_this<Directory::State> {
 public:
  explicit State(Parts parts)
      : service_(std::move(parts.service)),
        consumer_(std::move(parts.consumer)),
        executor_(std::move(parts.executor)),
        registry_(std::move(parts.registry)),
        new_routers_(std::move(parts.routers)),
        router_options_(std::move(parts.router_options)),
        new_balancer_(std::move(parts.balancer)),
        balancer_options_(std::move(parts.balancer_options)),
        view_(EmptyView(
            absl::UnavailableError(absl::StrCat(service_, ": addresses are not known yet")))) {}

  void Subscribe() { registry_->Subscribe(consumer_, shared_from_this()); }

  // On the control executor.
  void Notify(const ServiceAddresses& addresses) override {
    if (!Publish(addresses)) return;
    AnswerWaiters();
    // A listener may cancel itself or another one: they are dropped by a task of their own.
    for (const auto& listener : listeners_) Tell(*listener, addresses);
  }

  absl::StatusOr<PickResult> Pick(const Request& request) const {
    const View& view = *view_.Read();
    if (view.table == nullptr) return view.unready;
    const size_t at = view.table->PoolFor(request);
    const View::Pool& pool = view.pools[at];
    if (pool.picker == nullptr) return pool.error;
    const size_t index = pool.picker->Pick(request);
    const Subset& members = view.table->pools()[at].members;
    if (index >= members.size()) {
      return absl::UnavailableError(absl::StrCat(service_, ": the balancer refuses all addresses"));
    }
    PickResult result;
    result.endpoint = view.table->list()->at(members[index]);
    result.endpoint.BeginCall();
    result.index = index;
    if (pool.picker->wants_feedback()) result.picker = pool.picker;
    return result;
  }

  void WhenReady(absl::Duration timeout, DoneCallback done) {
    executor_->Post(
        [weak = weak_from_this(), service = service_, timeout, done = std::move(done)]() mutable {
          auto self = weak.lock();
          if (self == nullptr) return std::move(done)(Closed(service));
          self->AddWaiter(timeout, std::move(done));
        });
  }

  Subscription OnChange(std::function<void(const ServiceAddresses&)> fn) {
    auto listener = std::make_shared<Listener>();
    listener->fn = std::move(fn);
    executor_->Post([weak = weak_from_this(), listener] {
      auto self = weak.lock();
      if (self == nullptr || listener->gate.closed() || self->IsClosed()) return;
      self->listeners_.push_back(listener);
      auto view = self->view_.ReadShared();
      if (!view->known) return;
      ServiceAddresses now = view->addresses;
      now.delta = AddressDelta();
      now.delta.to_version = now.list->version();
      now.list->ForEach([&now](const Endpoint& e) { now.delta.added.push_back(e); });
      self->Tell(*listener, now);
    });
    return Subscription([weak = weak_from_this(), executor = executor_, listener] {
      listener->gate.Close();
      executor->Post([weak] {
        if (auto self = weak.lock()) self->DropCancelled();
      });
    });
  }

  void Close() {
    std::shared_ptr<Registry> registry;
    {
      MutexLock lock(mutex_);
      if (closed_) return;
      closed_ = true;
      registry = std::move(registry_);
      view_.Publish(EmptyView(Closed(service_)));
    }
    registry->Unsubscribe(consumer_, shared_from_this());
    executor_->Post([self = shared_from_this()] {
      self->listeners_.clear();
      self->balancers_.clear();
      for (auto& waiter : std::exchange(self->waiters_, {})) {
        self->executor_->Cancel(waiter.timer);
        std::move(waiter.done)(Closed(self->service_));
      }
    });
  }

  bool IsClosed() const {
    MutexLock lock(mutex_);
    return closed_;
  }
  std::shared_ptr<const View> view() const { return view_.ReadShared(); }
  const std::string& service() const { return service_; }
  Executor& executor() const { return *executor_; }

 private:
  struct Listener {
    std::function<void(const ServiceAddresses&)> fn;
    Gate gate;
  };
  struct Waiter {
    uint64_t id = 0;
    Executor::TimerId timer = 0;
    DoneCallback done;
  };
  // The balancer of a pool lives as long as the pool is in the table, so that it can reuse.
  using Balancers = std::map<std::string, std::unique_ptr<Balancer>>;

  static std::shared_ptr<const View> EmptyView(absl::Status why) {
    auto view = std::make_shared<View>();
    view->addresses.list = AddressList::Empty();
    view->addresses.state = why;
    view->unready = std::move(why);
    return view;
  }

  void DropCancelled() {
    listeners_.remove_if([](const auto& listener) { return listener->gate.closed(); });
  }

  static void Tell(Listener& listener, const ServiceAddresses& addresses) {
    if (Gate::Pass pass = listener.gate.Enter()) listener.fn(addresses);
  }

  const RouterChain& Chain() {
    if (chain_ == nullptr) {
      std::vector<std::unique_ptr<Router>> routers;
      for (const RouterFactory& new_router : new_routers_) {
        if (auto router = new_router(router_options_)) routers.push_back(std::move(router));
      }
      chain_ = std::make_unique<const RouterChain>(std::move(routers));
    }
    return *chain_;
  }

  // What is new only: the same fault would be said at each change of the list.
  void LogNotes(const RouteTable& table) const {
    const auto before = view_.ReadShared();
    for (const std::string& note : table.notes()) {
      if (before->table != nullptr && Contains(before->table->notes(), note)) continue;
      Log(LogLevel::kWarning, absl::StrCat(service_, ": router ", note));
    }
  }

  // False once closed.
  bool Publish(const ServiceAddresses& addresses) {
    auto view = std::make_shared<View>();
    view->known = true;
    view->addresses = addresses;
    view->table = Chain().Compile(addresses.list);
    LogNotes(*view->table);
    view->unready = NothingThere(addresses);
    Balancers used;
    std::map<std::string, int> same_name;
    for (const RouteTable::Pool& pool : view->table->pools()) {
      View::Pool built;
      if (pool.members.empty()) {
        built.error = addresses.list->empty() ? NothingThere(addresses) : RuledOut(addresses, pool);
        if (view->unready.ok()) view->unready = built.error;
      } else {
        const std::string key = absl::StrCat(pool.decided_by, "#", same_name[pool.decided_by]++);
        std::unique_ptr<Balancer>& balancer = used[key];
        balancer = std::move(balancers_[key]);
        if (balancer == nullptr) balancer = new_balancer_(balancer_options_);
        built.picker = balancer->Build(Members(*addresses.list, pool.members));
      }
      view->pools.push_back(std::move(built));
    }
    const bool any = std::any_of(view->pools.begin(), view->pools.end(),
                                 [](const View::Pool& pool) { return pool.picker != nullptr; });
    if (any) view->unready = absl::OkStatus();
    balancers_ = std::move(used);
    MutexLock lock(mutex_);
    if (closed_) return false;
    view_.Publish(std::move(view));
    return true;
  }

  static std::vector<PoolMember> Members(const AddressList& list, const Subset& subset) {
    std::vector<PoolMember> members;
    members.reserve(subset.size());
    for (uint32_t i : subset) {
      const EndpointSpec& spec = list.spec(i);
      members.push_back({list.id(i), spec.weight, spec.timestamp_ms});
    }
    return members;
  }

  // The registry's word for an empty list.
  absl::Status NothingThere(const ServiceAddresses& addresses) const {
    if (!addresses.list->empty()) return absl::OkStatus();
    if (!addresses.state.ok()) return Annotate(addresses.state, service_);
    return absl::UnavailableError(absl::StrCat(service_, ": no address"));
  }

  absl::Status RuledOut(const ServiceAddresses& addresses, const RouteTable::Pool& pool) const {
    return absl::UnavailableError(absl::StrCat(service_, ": rule ", pool.decided_by,
                                               " leaves none of ", addresses.list->size(),
                                               " addresses"));
  }

  void AddWaiter(absl::Duration timeout, DoneCallback done) {
    absl::Status unready = view_.ReadShared()->unready;
    const bool closed = unready.code() == absl::StatusCode::kFailedPrecondition && IsClosed();
    if (unready.ok() || closed || timeout <= absl::ZeroDuration()) {
      return std::move(done)(std::move(unready));
    }
    Waiter waiter;
    waiter.id = ++last_waiter_;
    waiter.done = std::move(done);
    if (timeout != absl::InfiniteDuration()) {
      waiter.timer = executor_->PostAfter(timeout, [weak = weak_from_this(), id = waiter.id] {
        if (auto self = weak.lock()) self->Expire(id);
      });
    }
    waiters_.push_back(std::move(waiter));
  }

  void Expire(uint64_t id) {
    auto found = std::find_if(waiters_.begin(), waiters_.end(),
                              [id](const Waiter& waiter) { return waiter.id == id; });
    if (found == waiters_.end()) return;
    DoneCallback done = std::move(found->done);
    waiters_.erase(found);
    std::move(done)(view_.ReadShared()->unready);
  }

  void AnswerWaiters() {
    if (waiters_.empty() || !view_.ReadShared()->unready.ok()) return;
    for (Waiter& waiter : std::exchange(waiters_, {})) {
      executor_->Cancel(waiter.timer);
      std::move(waiter.done)(absl::OkStatus());
    }
  }

  const std::string service_;
  const Url consumer_;
  const std::shared_ptr<Executor> executor_;
  std::shared_ptr<Registry> registry_;  // under mutex_ after construction
  // Of the control executor.
  const std::vector<RouterFactory> new_routers_;
  const RouterOptions router_options_;
  std::unique_ptr<const RouterChain> chain_;  // null: there was no list yet
  const BalancerFactory new_balancer_;
  const BalancerOptions balancer_options_;
  Balancers balancers_;
  std::list<std::shared_ptr<Listener>> listeners_;
  std::vector<Waiter> waiters_;
  uint64_t last_waiter_ = 0;
  // Written under mutex_.
  mutable Mutex mutex_;
  bool closed_ = false;
  Snapshot<View> view_;
};

Directory::Directory(Parts parts) : state_(std::make_shared<State>(std::move(parts))) {
  state_->Subscribe();
}

Directory::~Directory() { Close(); }

absl::StatusOr<PickResult> Directory::Pick(const Request& request) const {
  return state_->Pick(request);
}

void Directory::Done(PickResult& result, const CallOutcome& outcome) const {
  // A second call finds nothing to give back.
  if (!result.endpoint) return;
  if (result.picker != nullptr) result.picker->Done(result.index, outcome);
  result.endpoint.EndCall();
  result.endpoint = Endpoint();
  result.picker = nullptr;
}

absl::Status Directory::WaitReady(absl::Duration timeout) const {
  if (state_->executor().IsCurrent()) {
    return absl::FailedPreconditionError(
        absl::StrCat(service(), ": WaitReady on the control executor would wait for itself"));
  }
  Waiter<> waiting;
  state_->WhenReady(timeout, waiting.Callback());
  // The timer of WhenReady ends it; this is for an executor that is stuck.
  absl::Status status = waiting.Wait(timeout + absl::Seconds(1));
  return absl::IsDeadlineExceeded(status) || absl::IsCancelled(status) ? Annotate(status, service())
                                                                       : status;
}

void Directory::WhenReady(absl::Duration timeout,
                          absl::AnyInvocable<void(absl::Status) &&> done) const {
  state_->WhenReady(timeout, std::move(done));
}

std::shared_ptr<const AddressList> Directory::addresses() const {
  auto view = state_->view();
  return std::shared_ptr<const AddressList>(view, view->addresses.list.get());
}

absl::Status Directory::state() const { return state_->view()->addresses.state; }

std::vector<std::string> Directory::notes() const {
  const auto view = state_->view();
  return view->table == nullptr ? std::vector<std::string>() : view->table->notes();
}

std::vector<std::string> Directory::apps() const { return state_->view()->addresses.apps; }

Subscription Directory::OnChange(std::function<void(const ServiceAddresses&)> fn) {
  return state_->OnChange(std::move(fn));
}

const std::string& Directory::service() const { return state_->service(); }

void Directory::Close() { state_->Close(); }

bool Directory::closed() const { return state_->IsClosed(); }

}  // namespace signpost

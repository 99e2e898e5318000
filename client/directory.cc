#include "signpost/client/directory.h"

#include <algorithm>
#include <list>
#include <set>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "signpost/client/address_source.h"
#include "signpost/client/routed_addresses.h"
#include "signpost/common/await.h"
#include "signpost/common/gate.h"
#include "signpost/common/mutex.h"
#include "signpost/common/random.h"
#include "signpost/common/snapshot.h"
#include "signpost/common/status.h"

namespace signpost {

using client_internal::AddressRouting;
using client_internal::AddressSource;
using client_internal::LevelChoice;
using client_internal::RoutedAddresses;

namespace {

absl::Status Closed(const std::string& service) {
  return absl::FailedPreconditionError(absl::StrCat(service, ": closed"));
}

bool Contains(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

// Why the list is empty: OK only if a single level says so.
absl::Status NothingServes(const std::vector<LevelChoice>& choices) {
  std::vector<absl::Status> states;
  for (const LevelChoice& choice : choices) {
    for (absl::Status& state : choice.States()) states.push_back(std::move(state));
  }
  if (states.size() == 1) return states.front();
  absl::StatusCode code = absl::StatusCode::kOk;
  std::vector<std::string> texts;
  for (const absl::Status& state : states) {
    if (state.ok()) continue;
    if (code == absl::StatusCode::kOk || IsRetryable(state)) code = state.code();
    std::string text(state.message());
    if (!Contains(texts, text)) texts.push_back(std::move(text));
  }
  return absl::Status(code, absl::StrJoin(texts, "; "));
}

}  // namespace

// What Pick reads: one immutable whole per notification.
struct Directory::View {
  std::vector<LevelChoice> choices;  // those that have something to pick first
  size_t usable = 0;                 // how many those are
  ServiceAddresses addresses;        // without a delta
  bool known = false;                // at least one list is
  absl::Status unready;              // OK if some call would find an address
};

class Directory::State final : public std::enable_shared_from_this<Directory::State> {
 public:
  explicit State(Parts parts)
      : service_(std::move(parts.service)),
        executor_(std::move(parts.executor)),
        routing_{service_, std::move(parts.routers), std::move(parts.router_options),
                 std::move(parts.balancer), std::move(parts.balancer_options)},
        view_(EmptyView(
            absl::UnavailableError(absl::StrCat(service_, ": addresses are not known yet")))) {}

  void Start(const Url& consumer, std::vector<CentreRegistries> centres) {
    for (CentreRegistries& centre : centres) {
      sources_.push_back(std::make_shared<AddressSource>(std::move(centre), executor_, consumer,
                                                         routing_, [weak = weak_from_this()] {
                                                           if (auto self = weak.lock())
                                                             self->OnChange();
                                                         }));
    }
    // What they tell at once looks at all of them.
    for (const auto& source : sources_) source->Start();
  }

  absl::StatusOr<PickResult> Pick(const Request& request) const {
    const View& view = *view_.Read();
    if (view.choices.empty()) return view.unready;
    if (view.usable < 2) {
      absl::StatusOr<PickResult> picked = view.choices.front().Pick(request);
      return picked.ok() || view.choices.size() == 1 ? std::move(picked) : Others(view, 0, request);
    }
    const size_t first = Scale(ThreadRandom(), view.usable);
    absl::StatusOr<PickResult> picked = view.choices[first].Pick(request);
    return picked.ok() ? std::move(picked) : Others(view, first, request);
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
    {
      MutexLock lock(mutex_);
      if (closed_) return;
      closed_ = true;
      view_.Publish(EmptyView(Closed(service_)));
    }
    for (const auto& source : sources_) source->Stop();
    executor_->Post([self = shared_from_this()] {
      self->listeners_.clear();
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

  // The first that has something, after the one that had nothing.
  static absl::StatusOr<PickResult> Others(const View& view, size_t first, const Request& request) {
    for (size_t i = 0; i < view.choices.size(); ++i) {
      if (i == first) continue;
      absl::StatusOr<PickResult> picked = view.choices[i].Pick(request);
      if (picked.ok()) return picked;
    }
    return view.choices[first].Pick(request);
  }

  // On the control executor.
  void OnChange() {
    auto view = std::make_shared<View>();
    for (const auto& source : sources_) view->choices.push_back(source->choice());
    std::stable_partition(view->choices.begin(), view->choices.end(),
                          [](const LevelChoice& choice) { return choice.Unready().ok(); });
    for (const LevelChoice& choice : view->choices) view->usable += choice.Unready().ok() ? 1 : 0;
    // A registry that has nothing to pick adds nothing where another one has.
    std::vector<const RoutedAddresses*> serving;
    absl::Status others;
    for (size_t i = 0; i < view->choices.size(); ++i) {
      if (view->usable == 0 || i < view->usable) {
        const auto lists = view->choices[i].Serving();
        serving.insert(serving.end(), lists.begin(), lists.end());
        continue;
      }
      // What may still come from it is missing.
      for (absl::Status& state : view->choices[i].States()) {
        if (others.ok() && IsRetryable(state)) others = std::move(state);
      }
    }
    if (serving.empty()) return;                      // nothing is known yet
    view->unready = view->choices.front().Unready();  // as Pick
    view->known = true;
    AddressDelta delta = Serve(serving, view->addresses);
    if (view->addresses.list->empty()) {
      view->addresses.state = NothingServes(view->choices);
    } else if (view->addresses.state.ok()) {
      view->addresses.state = std::move(others);
    }
    ServiceAddresses told = view->addresses;
    told.delta = std::move(delta);
    const bool news = !told.Repeats(told_);
    told_ = view->addresses;
    {
      MutexLock lock(mutex_);
      if (closed_) return;
      view_.Publish(std::move(view));
    }
    AnswerWaiters();
    // Of the level that does not serve nobody needs to hear.
    if (!news) return;
    // A listener may cancel itself or another one: they are dropped by a task of their own.
    for (const auto& listener : listeners_) Tell(*listener, told);
  }

  // The one list of `serving`: itself, or the union of several. The delta from the last one.
  AddressDelta Serve(const std::vector<const RoutedAddresses*>& serving,
                     ServiceAddresses& addresses) {
    const RoutedAddresses& first = *serving.front();
    addresses = first.addresses;
    addresses.delta = AddressDelta();
    const auto before = told_.list != nullptr ? told_.list : AddressList::Empty();
    std::vector<Endpoint> wanted;
    if (serving.size() > 1) {
      std::set<std::string> apps;
      std::unordered_set<uint32_t> ids;
      for (const RoutedAddresses* routed : serving) {
        apps.insert(routed->addresses.apps.begin(), routed->addresses.apps.end());
        if (addresses.state.ok()) addresses.state = routed->addresses.state;
        routed->addresses.list->ForEach([&](const Endpoint& endpoint) {
          if (ids.insert(endpoint.id()).second) wanted.push_back(endpoint);
        });
      }
      addresses.apps.assign(apps.begin(), apps.end());
      AddressDelta delta = before->DiffTo(wanted);
      if (delta.empty()) {
        addresses.list = before;
      } else {
        addresses.list = before->Apply(delta);
      }
      delta.to_version = addresses.list->version();
      return delta;
    }
    if (before == addresses.list) {
      AddressDelta none;
      none.from_version = none.to_version = before->version();
      return none;
    }
    // The registry's own word for it, unless another list served before.
    if (before == first.before && before->version() == first.addresses.delta.from_version) {
      return first.addresses.delta;
    }
    addresses.list->ForEach([&wanted](const Endpoint& endpoint) { wanted.push_back(endpoint); });
    AddressDelta delta = before->DiffTo(wanted);
    delta.to_version = addresses.list->version();
    return delta;
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
  const std::shared_ptr<Executor> executor_;
  const AddressRouting::Parts routing_;
  std::vector<std::shared_ptr<AddressSource>> sources_;  // not changed after Start
  // Of the control executor.
  ServiceAddresses told_;  // last, without the delta; no list: nothing yet
  std::list<std::shared_ptr<Listener>> listeners_;
  std::vector<Waiter> waiters_;
  uint64_t last_waiter_ = 0;
  // Written under mutex_.
  mutable Mutex mutex_;
  bool closed_ = false;
  Snapshot<View> view_;
};

Directory::Directory(Parts parts) {
  std::vector<CentreRegistries> centres = std::move(parts.centres);
  const Url consumer = parts.consumer;
  state_ = std::make_shared<State>(std::move(parts));
  state_->Start(consumer, std::move(centres));
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

bool Directory::complete() const {
  const auto view = state_->view();
  return view->known && std::all_of(view->choices.begin(), view->choices.end(),
                                    [](const LevelChoice& choice) { return choice.Complete(); });
}

std::vector<std::string> Directory::notes() const {
  std::vector<std::string> notes;
  const auto view = state_->view();
  for (const LevelChoice& choice : view->choices) {
    for (const RoutedAddresses* routed : choice.Serving()) {
      for (const std::string& note : routed->table->notes()) {
        if (!Contains(notes, note)) notes.push_back(note);
      }
    }
  }
  return notes;
}

std::vector<std::string> Directory::levels() const {
  std::vector<std::string> levels;
  const auto view = state_->view();
  for (const LevelChoice& choice : view->choices) {
    if (!choice.why.empty()) levels.push_back(choice.why);
  }
  return levels;
}

std::vector<std::string> Directory::apps() const { return state_->view()->addresses.apps; }

Subscription Directory::OnChange(std::function<void(const ServiceAddresses&)> fn) {
  return state_->OnChange(std::move(fn));
}

const std::string& Directory::service() const { return state_->service(); }

void Directory::Close() { state_->Close(); }

bool Directory::closed() const { return state_->IsClosed(); }

}  // namespace signpost

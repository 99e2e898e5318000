#include "signpost/metadata/metadata_resolver.h"

#include <algorithm>
#include <list>
#include <map>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "signpost/common/gate.h"
#include "signpost/common/status.h"
#include "signpost/metadata/service_params.h"

namespace signpost {
namespace {

using Key = std::pair<std::string, std::string>;  // application, revision
using InstancePtr = std::shared_ptr<const ServiceInstance>;

constexpr absl::string_view kRemote = "remote";

// The last recently used revisions.
class RevisionCache {
 public:
  explicit RevisionCache(size_t capacity) : capacity_(capacity) {}

  MetadataPtr Find(const Key& key) {
    const auto it = index_.find(key);
    if (it == index_.end()) return nullptr;
    order_.splice(order_.begin(), order_, it->second);
    return it->second->second;
  }

  void Insert(const Key& key, MetadataPtr info) {
    if (capacity_ == 0 || index_.count(key) != 0) return;
    if (order_.size() == capacity_) {
      index_.erase(order_.back().first);
      order_.pop_back();
    }
    order_.emplace_front(key, std::move(info));
    index_.emplace(key, order_.begin());
  }

 private:
  using Order = std::list<std::pair<Key, MetadataPtr>>;  // most recent first
  size_t capacity_;
  Order order_;
  std::map<Key, Order::iterator> index_;
};

// One that runs.
struct Question {
  MetadataSource source;
  std::string whom;
  std::string at;        // by which protocol and port, for error texts
  absl::Duration begun;  // of the monotonic clock
  Executor::TimerId timer = 0;
  CancelToken cancel;
};

// One revision that is being resolved.
struct Flight {
  Key key;
  std::vector<MetadataResolver::ResolveCallback> waiters;
  std::vector<InstancePtr> instances;
  size_t next_instance = 0;
  size_t asked_instances = 0;
  bool asked_report = false;
  absl::Status last_error;
  // By number, the oldest first. Answers to others are not looked at.
  std::map<uint64_t, Question> running;
  uint64_t last_question = 0;
  Executor::TimerId next = 0;  // asks one more
  uint64_t last_next = 0;
};

}  // namespace

// All of it belongs to the executor; the gate lets nothing run after destruction.
class MetadataResolver::State : public std::enable_shared_from_this<State> {
 public:
  State(Executor& executor, MetadataReport* report,
        std::vector<std::unique_ptr<MetadataFetcher>> fetchers, Options options)
      : executor_(executor),
        report_(report),
        fetchers_(std::move(fetchers)),
        options_(options),
        cache_(options.max_cached),
        random_(std::random_device()()) {}

  void Close() {
    gate_.Close();
    for (auto& [key, flight] : flights_) StopAll(*flight);
    flights_.clear();
  }

  // Runs `fn` as a task of the executor unless the resolver is gone by then.
  template <typename Fn>
  void Post(Fn fn) {
    executor_.Post([weak = weak_from_this(), fn = std::move(fn)]() mutable {
      const std::shared_ptr<State> self = weak.lock();
      if (self == nullptr) return;
      if (const Gate::Pass pass = self->gate_.Enter()) fn(*self);
    });
  }

  void Resolve(Key key, std::vector<InstancePtr> instances, ResolveCallback done) {
    if (key.second.empty() || key.second == kNoServicesRevision) {
      Answer(std::move(done),
             absl::InvalidArgumentError(absl::StrCat("metadata of ", key.first, ", revision \"",
                                                     key.second, "\": names no document")));
      return;
    }
    if (MetadataPtr info = cache_.Find(key)) {
      Answer(std::move(done), ResolvedMetadata{std::move(info), MetadataSource::kMemory});
      return;
    }
    std::shared_ptr<Flight>& slot = flights_[key];
    if (slot != nullptr) {
      slot->waiters.push_back(std::move(done));
      AddInstances(std::move(instances), *slot);
      if (slot->next == 0) AskInNext(slot, options_.hedge_after);
      return;
    }
    slot = std::make_shared<Flight>();
    slot->key = key;
    slot->waiters.push_back(std::move(done));
    AddInstances(std::move(instances), *slot);
    AskNext(std::shared_ptr<Flight>(slot));
  }

 private:
  // A sample: a revision may have as many instances as there are, and few are asked.
  void AddInstances(std::vector<InstancePtr> instances, Flight& flight) {
    if (options_.shuffle) std::shuffle(instances.begin(), instances.end(), random_);
    const size_t room = flight.instances.size() + 2 * options_.max_instances;
    bool any_remote = AnyRemote(flight);
    for (InstancePtr& instance : instances) {
      if (instance == nullptr) continue;
      const bool remote = instance->storage_type() == kRemote;
      if (flight.instances.size() >= room && (any_remote || !remote)) {
        if (any_remote) break;
        continue;
      }
      any_remote = any_remote || remote;
      const bool known = std::any_of(
          flight.instances.begin(), flight.instances.end(),
          [&](const InstancePtr& other) { return other == instance || *other == *instance; });
      if (!known) flight.instances.push_back(std::move(instance));
    }
  }

  MetadataFetcher* FetcherFor(const ServiceInstance& instance) const {
    for (const auto& fetcher : fetchers_) {
      if (fetcher->Speaks(instance)) return fetcher.get();
    }
    return nullptr;
  }

  static bool AnyRemote(const Flight& flight) {
    return std::any_of(
        flight.instances.begin(), flight.instances.end(),
        [](const InstancePtr& instance) { return instance->storage_type() == kRemote; });
  }

  // Whether the report is worth the first look: somebody wrote there, or there is no other way.
  bool ReportFirst(const Flight& flight) const {
    if (AnyRemote(flight)) return true;
    const bool any_fetcher = std::any_of(
        flight.instances.begin(), flight.instances.end(),
        [this](const InstancePtr& instance) { return FetcherFor(*instance) != nullptr; });
    return !any_fetcher && !flight.instances.empty();
  }

  // Asks one more, if there is anybody left; fails when nobody is and none runs.
  void AskNext(std::shared_ptr<Flight> flight) {
    // The report answers alone.
    if (!flight->running.empty() &&
        flight->running.begin()->second.source == MetadataSource::kReport) {
      return;
    }
    if (report_ != nullptr && !flight->asked_report && ReportFirst(*flight)) {
      AskReport(flight);
      return;
    }
    if (MetadataFetcher* fetcher = FindNext(*flight)) {
      if (!MakeRoom(flight)) return;
      const InstancePtr instance = flight->instances[flight->next_instance++];
      ++flight->asked_instances;
      AskInNext(flight, options_.hedge_after);
      AskInstance(std::move(flight), *instance, *fetcher);
      return;
    }
    if (!flight->running.empty()) return;
    // A provider with storage type local may have written the document too.
    if (report_ != nullptr && !flight->asked_report && !flight->instances.empty()) {
      AskReport(flight);
      return;
    }
    Fail(*flight);
  }

  // Passes over instances that nobody speaks to.
  MetadataFetcher* FindNext(Flight& flight) {
    while (flight.next_instance < flight.instances.size() &&
           flight.asked_instances < options_.max_instances) {
      const ServiceInstance& instance = *flight.instances[flight.next_instance];
      if (MetadataFetcher* fetcher = FetcherFor(instance)) return fetcher;
      ++flight.next_instance;
      if (instance.storage_type() != kRemote && flight.last_error.ok()) {
        const MetadataServiceParams params = MetadataServiceParamsOf(instance);
        flight.last_error = absl::UnavailableError(absl::StrCat(
            "instance ", instance.id(),
            params.protocol.empty()
                ? ": it does not say where its metadata is"
                : absl::StrCat(": none of this process' metadata protocols is the instance's, ",
                               params.protocol)));
      }
    }
    return nullptr;
  }

  // False: all who are asked still have time; another attempt is due when the oldest has not.
  bool MakeRoom(const std::shared_ptr<Flight>& flight) {
    if (flight->running.size() < std::max<size_t>(options_.max_at_once, 1)) return true;
    // The first one keeps its time: all may be slow, and none silent.
    auto oldest = flight->running.begin();
    if (flight->running.size() > 1) ++oldest;
    const absl::Duration left =
        oldest->second.begun + options_.give_way_after - executor_.clock().MonotonicNow();
    if (left > absl::ZeroDuration()) {
      AskInNext(flight, left);
      return false;
    }
    flight->last_error = absl::DeadlineExceededError(
        absl::StrCat(oldest->second.whom, ": no answer", oldest->second.at, " within ",
                     absl::FormatDuration(options_.give_way_after), " while others waited"));
    Stop(*flight, oldest);
    return true;
  }

  void AskInNext(const std::shared_ptr<Flight>& flight, absl::Duration delay) {
    executor_.Cancel(flight->next);
    const uint64_t number = ++flight->last_next;
    flight->next = executor_.PostAfter(delay, [weak = weak_from_this(), flight, number] {
      const std::shared_ptr<State> self = weak.lock();
      if (self == nullptr) return;
      // After what waits already: with much to do an answer may be there and not be read yet.
      self->Post([flight, number](State& state) {
        if (flight->last_next != number || flight->next == 0) return;
        flight->next = 0;
        state.AskNext(flight);
      });
    });
  }

  void AskReport(const std::shared_ptr<Flight>& flight) {
    flight->asked_report = true;
    auto [number, options] = BeginQuestion(flight, MetadataSource::kReport, "report");
    report_->Get(flight->key.first, flight->key.second, options, AnswerTo(flight, number));
  }

  void AskInstance(std::shared_ptr<Flight> flight, const ServiceInstance& instance,
                   MetadataFetcher& fetcher) {
    auto [number, options] =
        BeginQuestion(flight, MetadataSource::kService, absl::StrCat("instance ", instance.id()));
    const std::string at = MetadataServiceParamsOf(instance).ToString();
    if (!at.empty()) flight->running[number].at = absl::StrCat(" by ", at);
    const std::string revision = flight->key.second;
    fetcher.Fetch(instance, revision, options, AnswerTo(std::move(flight), number));
  }

  std::pair<uint64_t, CallOptions> BeginQuestion(const std::shared_ptr<Flight>& flight,
                                                 MetadataSource source, std::string whom) {
    const uint64_t number = ++flight->last_question;
    Question& question = flight->running[number];
    question.source = source;
    question.whom = std::move(whom);
    question.begun = executor_.clock().MonotonicNow();
    question.timer =
        executor_.PostAfter(options_.attempt_timeout, [weak = weak_from_this(), flight, number] {
          const std::shared_ptr<State> self = weak.lock();
          if (self == nullptr) return;
          const Gate::Pass pass = self->gate_.Enter();
          if (!pass) return;
          const auto it = flight->running.find(number);
          if (it == flight->running.end()) return;
          it->second.timer = 0;
          absl::Status error = absl::DeadlineExceededError(
              absl::StrCat(it->second.whom, ": no answer", it->second.at, " within ",
                           absl::FormatDuration(self->options_.attempt_timeout)));
          Stop(self->executor_, *flight, it);
          self->OnFault(flight, std::move(error));
        });
    CallOptions options;
    options.timeout = options_.attempt_timeout;
    options.cancel = question.cancel;
    return {number, std::move(options)};
  }

  void Stop(Flight& flight, std::map<uint64_t, Question>::iterator question) {
    Stop(executor_, flight, question);
  }
  static void Stop(Executor& executor, Flight& flight,
                   std::map<uint64_t, Question>::iterator question) {
    executor.Cancel(question->second.timer);
    CancelToken cancel = std::move(question->second.cancel);
    flight.running.erase(question);
    cancel.Cancel();
  }
  void StopAll(Flight& flight) {
    executor_.Cancel(std::exchange(flight.next, 0));
    while (!flight.running.empty()) Stop(flight, flight.running.begin());
  }

  // Takes the answer in a task of its own: a backend may answer inside the call.
  MetadataFetcher::FetchCallback AnswerTo(std::shared_ptr<Flight> flight, uint64_t number) {
    return [weak = weak_from_this(), flight = std::move(flight),
            number](absl::StatusOr<MetadataInfo> answer) {
      const std::shared_ptr<State> self = weak.lock();
      if (self == nullptr) return;
      const Gate::Pass pass = self->gate_.Enter();
      if (!pass) return;
      self->Post([flight, number, answer = std::move(answer)](State& state) {
        const auto it = flight->running.find(number);
        if (it == flight->running.end()) return;
        state.executor_.Cancel(it->second.timer);
        const Question question = std::move(it->second);
        flight->running.erase(it);
        state.OnAnswer(flight, question, answer);
      });
    };
  }

  void OnAnswer(const std::shared_ptr<Flight>& flight, const Question& question,
                const absl::StatusOr<MetadataInfo>& answer) {
    const std::string& where = question.whom;
    if (!answer.ok()) {
      // Providers with storage type local need not write the document: that it is absent says less
      // than what the instances answered.
      const bool expected = question.source == MetadataSource::kReport &&
                            absl::IsNotFound(answer.status()) && !AnyRemote(*flight);
      OnFault(flight, expected ? flight->last_error : Annotate(answer.status(), where));
      return;
    }
    // A provider on its way out answers with fewer services, or with its newest revision.
    if (answer->services.empty()) {
      OnFault(flight, absl::UnavailableError(absl::StrCat(where, ": answer without services")));
      return;
    }
    if (!answer->revision.empty() && answer->revision != flight->key.second) {
      OnFault(flight, absl::UnavailableError(
                          absl::StrCat(where, ": answer is of revision ", answer->revision)));
      return;
    }
    MetadataInfo info = *answer;
    info.revision = flight->key.second;
    if (info.app.empty()) info.app = flight->key.first;
    auto shared = std::make_shared<const MetadataInfo>(std::move(info));
    cache_.Insert(flight->key, shared);
    Finish(*flight, ResolvedMetadata{std::move(shared), question.source});
  }

  void OnFault(const std::shared_ptr<Flight>& flight, absl::Status error) {
    flight->last_error = std::move(error);
    AskNext(flight);
  }

  void Fail(Flight& flight) {
    absl::Status error = flight.last_error;
    if (error.ok()) {
      error = absl::UnavailableError(flight.instances.empty() ? "no instance shows it"
                                                              : "nobody could be asked");
    }
    std::string where =
        absl::StrCat("metadata of ", flight.key.first, ", revision ", flight.key.second);
    if (flight.asked_instances > 1) {
      absl::StrAppend(&where, " (", flight.asked_instances, " instances asked)");
    }
    Finish(flight, Annotate(error, where));
  }

  void Finish(Flight& flight, const absl::StatusOr<ResolvedMetadata>& result) {
    StopAll(flight);
    std::vector<ResolveCallback> waiters = std::move(flight.waiters);
    const Key key = flight.key;
    flights_.erase(key);
    for (ResolveCallback& waiter : waiters) Answer(std::move(waiter), result);
  }

  // In a task of its own, since callbacks may destroy the resolver.
  void Answer(ResolveCallback done, absl::StatusOr<ResolvedMetadata> result) {
    Post([done = std::move(done), result = std::move(result)](State&) mutable {
      std::move(done)(std::move(result));
    });
  }

  Executor& executor_;
  MetadataReport* const report_;
  const std::vector<std::unique_ptr<MetadataFetcher>> fetchers_;
  const Options options_;
  Gate gate_;
  RevisionCache cache_;
  std::map<Key, std::shared_ptr<Flight>> flights_;
  std::mt19937_64 random_;
};

MetadataResolver::MetadataResolver(Executor& executor, MetadataReport* report,
                                   std::vector<std::unique_ptr<MetadataFetcher>> fetchers,
                                   Options options)
    : state_(std::make_shared<State>(executor, report, std::move(fetchers), options)) {}

MetadataResolver::~MetadataResolver() { state_->Close(); }

void MetadataResolver::Resolve(const std::string& app, const std::string& revision,
                               std::vector<std::shared_ptr<const ServiceInstance>> instances,
                               ResolveCallback done) {
  state_->Post([key = Key{app, revision}, instances = std::move(instances),
                done = std::move(done)](State& state) mutable {
    state.Resolve(std::move(key), std::move(instances), std::move(done));
  });
}

}  // namespace signpost

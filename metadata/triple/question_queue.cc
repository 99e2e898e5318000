#include "signpost/metadata/triple/question_queue.h"

#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/gate.h"

namespace signpost::metadata_triple_internal {
namespace {

// All but the constants belong to the tasks of the executor.
struct Item {
  Item(std::string the_address, std::shared_ptr<Question> the_question, const CallOptions& options,
       absl::Duration now, Question::Done the_done)
      : address(std::move(the_address)),
        time(options.timeout),
        end(now + options.timeout),
        cancel(options.cancel),
        question(std::move(the_question)),
        done(std::move(the_done)) {}

  const std::string address;
  const absl::Duration time;
  const absl::Duration end;  // on the clock of the executor
  const CancelToken cancel;
  std::shared_ptr<Question> question;  // null once it has ended
  Question::Done done;                 // moved out when it is answered
  absl::Duration begun_at = absl::ZeroDuration();
  bool open = false;       // it has a place
  bool late = false;       // one of those for late addresses
  bool turn_over = false;  // it gives way if others wait
  bool answered = false;
  Executor::TimerId timer = 0;  // ends it
  Executor::TimerId turn = 0;   // its turn is over
  int cancel_id = 0;
};
using ItemPtr = std::shared_ptr<Item>;

bool Erase(std::list<ItemPtr>& items, const ItemPtr& item) {
  const auto found = std::find(items.begin(), items.end(), item);
  if (found == items.end()) return false;
  items.erase(found);
  return true;
}

}  // namespace

// Shared with tasks and with questions that end later than the queue. Tasks of one executor never
// run at the same time, so there is no lock; Close waits at the gate for the one that runs.
struct QuestionQueue::State : std::enable_shared_from_this<State> {
  State(Executor& the_executor, Options the_options)
      : executor(the_executor), options(the_options) {}

  // Only with a pass of the gate, or while the queue is there.
  Executor& executor;
  const Options options;
  Gate gate;

  std::list<ItemPtr> waiting;
  std::list<ItemPtr> waiting_late;
  std::list<ItemPtr> open;
  // Late addresses, and which of them became so before which.
  std::map<std::string, uint64_t> late;
  uint64_t marked = 0;

  // A task that does nothing once the queue has ended.
  template <typename Fn>
  Executor::Task Guarded(Fn fn) {
    return [weak = weak_from_this(), fn = std::move(fn)]() mutable {
      const std::shared_ptr<State> self = weak.lock();
      if (self == nullptr) return;
      const Gate::Pass pass = self->gate.Enter();
      if (pass) fn(*self);
    };
  }

  // From any thread.
  template <typename Fn>
  void Post(Fn fn) {
    const Gate::Pass pass = gate.Enter();
    if (pass) executor.Post(Guarded(std::move(fn)));
  }

  size_t LatePlaces() const { return std::max<size_t>(options.max_open / 2, 1); }

  void Add(const ItemPtr& item) {
    if (item->cancel.cancelled()) {
      Answer(item, Cancelled(*item));
      return;
    }
    if (waiting.size() + waiting_late.size() >= options.max_waiting) {
      Answer(item, absl::ResourceExhaustedError(absl::StrCat(
                       item->address, ": ", options.max_waiting, " questions wait already")));
      return;
    }
    item->timer = executor.PostAfter(item->end - executor.clock().MonotonicNow(),
                                     Guarded([item](State& self) { self.Expire(item); }));
    item->cancel_id =
        item->cancel.OnCancel([weak = weak_from_this(), weak_item = std::weak_ptr<Item>(item)] {
          const std::shared_ptr<State> self = weak.lock();
          const ItemPtr cancelled = weak_item.lock();
          if (self == nullptr || cancelled == nullptr) return;
          self->Post([cancelled](State& state) { state.End(cancelled, Cancelled(*cancelled)); });
        });
    item->late = late.count(item->address) != 0;
    (item->late ? waiting_late : waiting).push_back(item);
    Pump();
    EndTurns();
  }

  static absl::Status Cancelled(const Item& item) {
    return absl::CancelledError(absl::StrCat(item.address, ": cancelled"));
  }

  // The next that gets a place; null: none may have one now.
  ItemPtr Take() {
    if (open.size() >= options.max_open) return nullptr;
    std::list<ItemPtr>* from = &waiting;
    if (waiting.empty()) {
      const auto late_open =
          std::count_if(open.begin(), open.end(), [](const ItemPtr& each) { return each->late; });
      if (static_cast<size_t>(late_open) >= LatePlaces()) return nullptr;
      from = &waiting_late;
    }
    if (from->empty()) return nullptr;
    ItemPtr item = from->front();
    from->pop_front();
    return item;
  }

  void Pump() {
    while (const ItemPtr item = Take()) {
      const absl::Duration now = executor.clock().MonotonicNow();
      if (item->end <= now) {
        Expire(item);
        continue;
      }
      item->begun_at = now;
      item->open = true;
      open.push_back(item);
      item->turn = executor.PostAfter(item->time / 4, Guarded([item](State& self) {
                                        item->turn_over = true;
                                        self.EndTurns();
                                      }));
      item->question->Start(item->end - now, [weak = weak_from_this(),
                                              item](absl::StatusOr<MetadataInfo> answer) mutable {
        const std::shared_ptr<State> self = weak.lock();
        if (self == nullptr) return;
        self->Post([item, answer = std::move(answer)](State& state) mutable {
          state.Finish(item, std::move(answer));
        });
      });
    }
  }

  // Its question has ended.
  void Finish(const ItemPtr& item, absl::StatusOr<MetadataInfo> answer) {
    Erase(open, item);
    item->open = false;
    item->question = nullptr;
    if (!item->answered) {
      Judge(*item, answer.status());
      Answer(item, std::move(answer));
    }
    Pump();
  }

  void Expire(const ItemPtr& item) {
    End(item, absl::DeadlineExceededError(absl::StrCat(
                  item->address, item->open ? ": no answer in time" : ": no time left to ask it")));
  }

  // Answers before the question has ended. That keeps its place until it has.
  void End(const ItemPtr& item, absl::Status status) {
    if (item->answered) return;
    if (item->open) {
      Judge(*item, status);
    } else if (!Erase(waiting, item)) {
      Erase(waiting_late, item);
    }
    Answer(item, std::move(status));
    if (item->open) item->question->Cancel();
  }

  // Those whose turn is over give way to those that wait, one for one.
  void EndTurns() {
    for (;;) {
      const size_t wanted = waiting.empty() ? waiting_late.size() : waiting.size();
      const auto ending = std::count_if(open.begin(), open.end(),
                                        [](const ItemPtr& each) { return each->answered; });
      if (wanted <= static_cast<size_t>(ending)) return;
      const auto next = std::find_if(open.begin(), open.end(), [this](const ItemPtr& each) {
        // A place for late ones is of use to all, another one only to those that are not.
        return each->turn_over && !each->answered && (each->late || !waiting.empty());
      });
      if (next == open.end()) return;
      const ItemPtr item = *next;
      MarkLate(item->address);
      End(item, absl::DeadlineExceededError(absl::StrCat(item->address, ": no answer in ",
                                                         absl::FormatDuration(item->time / 4),
                                                         ", and others wait")));
    }
  }

  // A caller's own timer may cancel just before ours, so it is the time that counts, not the error.
  // An eighth: a resolver that has others to ask gives up sooner than the time is over.
  void Judge(const Item& item, const absl::Status& status) {
    if (status.ok() || absl::IsNotFound(status)) {
      late.erase(item.address);
    } else if (executor.clock().MonotonicNow() - item.begun_at >= item.time / 8) {
      MarkLate(item.address);
    }
  }

  void MarkLate(const std::string& address) {
    late[address] = ++marked;
    if (late.size() <= options.max_late) return;
    late.erase(std::min_element(late.begin(), late.end(),
                                [](const auto& a, const auto& b) { return a.second < b.second; }));
  }

  // The first answer counts.
  void Answer(const ItemPtr& item, absl::StatusOr<MetadataInfo> answer) {
    item->answered = true;
    Forget(*item);
    executor.Post([done = std::move(item->done), answer = std::move(answer)]() mutable {
      std::move(done)(std::move(answer));
    });
  }

  void Forget(Item& item) {
    for (Executor::TimerId* timer : {&item.timer, &item.turn}) {
      if (*timer != 0) executor.Cancel(std::exchange(*timer, 0));
    }
    if (item.cancel_id != 0) item.cancel.RemoveCallback(std::exchange(item.cancel_id, 0));
  }

  void Close() {
    gate.Close();
    std::vector<Question::Done> dropped;  // ends last
    for (std::list<ItemPtr>* items : {&waiting, &waiting_late, &open}) {
      for (const ItemPtr& item : *items) {
        if (!std::exchange(item->answered, true)) dropped.push_back(std::move(item->done));
        Forget(*item);
        // The question has the item until it ends, so the item must let go of it.
        const std::shared_ptr<Question> question = std::move(item->question);
        if (item->open) question->Cancel();
      }
      items->clear();
    }
  }
};

QuestionQueue::QuestionQueue(Executor& executor, Options options)
    : state_(std::make_shared<State>(executor, options)) {}

QuestionQueue::~QuestionQueue() { state_->Close(); }

void QuestionQueue::Ask(std::string address, std::shared_ptr<Question> question,
                        const CallOptions& options, MetadataFetcher::FetchCallback done) {
  const auto item =
      std::make_shared<Item>(std::move(address), std::move(question), options,
                             state_->executor.clock().MonotonicNow(), std::move(done));
  state_->Post([item](State& self) { self.Add(item); });
}

}  // namespace signpost::metadata_triple_internal

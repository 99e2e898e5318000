#include "signpost/mapping/memory_mapping_store.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "signpost/common/gate.h"
#include "signpost/common/mutex.h"

namespace signpost {
namespace {

// The gate keeps the promise of Subscription::Cancel.
struct WatchEntry {
  std::string interface_name;
  Gate gate;
  MappingStore::WatchCallback on_change;
};

}  // namespace

class MemoryMappingStore::State : public std::enable_shared_from_this<State> {
 public:
  explicit State(Executor& executor) : executor_(executor) {}

  void Get(const std::string& interface_name, GetCallback done) {
    MutexLock lock(mutex_);
    ++gets_;
    if (silent_) return;
    absl::StatusOr<MappingText> result = Read(interface_name);
    if (absl::Status fault = TakeFault(); !fault.ok()) result = fault;
    Answer(std::move(done), std::move(result));
  }

  void CompareAndSet(const std::string& interface_name, std::string text, int64_t expected,
                     DoneCallback done) {
    std::function<void(const std::string&)> hook;
    {
      MutexLock lock(mutex_);
      hook = hook_;
    }
    if (hook) hook(interface_name);
    MutexLock lock(mutex_);
    ++attempts_;
    if (silent_) return;
    absl::Status result = TakeFault();
    if (result.ok()) result = Write(interface_name, std::move(text), expected);
    Answer(std::move(done), std::move(result));
  }

  Subscription Watch(const std::string& interface_name, WatchCallback on_change) {
    auto entry = std::make_shared<WatchEntry>();
    entry->interface_name = interface_name;
    entry->on_change = std::move(on_change);
    MutexLock lock(mutex_);
    watches_.push_back(entry);
    Tell(entry, Read(interface_name));
    return Subscription([weak = weak_from_this(), entry] {
      if (const std::shared_ptr<State> self = weak.lock()) self->Forget(entry);
      entry->gate.Close();
    });
  }

  void List(ListCallback done) {
    MutexLock lock(mutex_);
    if (silent_) return;
    absl::StatusOr<std::vector<std::string>> result = std::vector<std::string>();
    for (const auto& [name, text] : texts_) result->push_back(name);
    if (absl::Status fault = TakeFault(); !fault.ok()) result = fault;
    Answer(std::move(done), std::move(result));
  }

  void Put(const std::string& interface_name, std::string text) {
    MutexLock lock(mutex_);
    MappingText& slot = texts_[interface_name];
    slot.text = std::move(text);
    ++slot.version;
    TellAll(interface_name, slot);
  }

  void Remove(const std::string& interface_name) {
    MutexLock lock(mutex_);
    if (texts_.erase(interface_name) != 0) TellAll(interface_name, Read(interface_name));
  }

  void CloseWatches() {
    std::vector<std::shared_ptr<WatchEntry>> watches;
    {
      MutexLock lock(mutex_);
      watches.swap(watches_);
    }
    for (const auto& entry : watches) entry->gate.Close();
  }

  absl::StatusOr<MappingText> Read(const std::string& interface_name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto it = texts_.find(interface_name);
    if (it != texts_.end()) return it->second;
    return absl::NotFoundError(absl::StrCat("memory:mapping/", interface_name, ": no mapping"));
  }

  void TellAll(const std::string& interface_name, const absl::StatusOr<MappingText>& news)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (const auto& entry : watches_) {
      if (entry->interface_name == interface_name) Tell(entry, news);
    }
  }

  mutable Mutex mutex_;
  std::function<void(const std::string&)> hook_ ABSL_GUARDED_BY(mutex_);
  int lose_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status fault_ ABSL_GUARDED_BY(mutex_);
  int faults_left_ ABSL_GUARDED_BY(mutex_) = 0;
  bool silent_ ABSL_GUARDED_BY(mutex_) = false;
  int gets_ ABSL_GUARDED_BY(mutex_) = 0;
  int attempts_ ABSL_GUARDED_BY(mutex_) = 0;
  int writes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::shared_ptr<WatchEntry>> watches_ ABSL_GUARDED_BY(mutex_);

 private:
  absl::Status TakeFault() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (faults_left_ == 0) return absl::OkStatus();
    --faults_left_;
    return fault_;
  }

  absl::Status Write(const std::string& interface_name, std::string text, int64_t expected)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const std::string where = absl::StrCat("memory:mapping/", interface_name);
    if (lose_ > 0) {
      --lose_;
      return absl::AbortedError(absl::StrCat(where, ": told to lose"));
    }
    const absl::StatusOr<MappingText> present = Read(interface_name);
    if (expected == kAbsent && present.ok()) {
      return absl::AlreadyExistsError(absl::StrCat(where, ": is there"));
    }
    if (expected != kAbsent && !present.ok()) return present.status();
    if (expected != kAbsent && present->version != expected) {
      return absl::AbortedError(
          absl::StrCat(where, ": version is ", present->version, ", not ", expected));
    }
    MappingText& slot = texts_[interface_name];
    slot.text = std::move(text);
    ++slot.version;
    ++writes_;
    TellAll(interface_name, slot);
    return absl::OkStatus();
  }

  template <typename Done, typename Result>
  void Answer(Done done, Result result) {
    executor_.Post([done = std::move(done), result = std::move(result)]() mutable {
      std::move(done)(std::move(result));
    });
  }

  void Tell(const std::shared_ptr<WatchEntry>& entry, absl::StatusOr<MappingText> news) {
    executor_.Post([entry, news = std::move(news)]() mutable {
      if (const Gate::Pass pass = entry->gate.Enter()) entry->on_change(std::move(news));
    });
  }

  void Forget(const std::shared_ptr<WatchEntry>& entry) {
    MutexLock lock(mutex_);
    for (auto it = watches_.begin(); it != watches_.end(); ++it) {
      if (*it != entry) continue;
      watches_.erase(it);
      return;
    }
  }

  Executor& executor_;
  std::map<std::string, MappingText> texts_ ABSL_GUARDED_BY(mutex_);
};

MemoryMappingStore::MemoryMappingStore(Executor& executor)
    : state_(std::make_shared<State>(executor)) {}

MemoryMappingStore::~MemoryMappingStore() { state_->CloseWatches(); }

void MemoryMappingStore::Get(const std::string& interface_name, const CallOptions&,
                             GetCallback done) {
  state_->Get(interface_name, std::move(done));
}

void MemoryMappingStore::CompareAndSet(const std::string& interface_name, std::string text,
                                       int64_t expected_version, const CallOptions&,
                                       DoneCallback done) {
  state_->CompareAndSet(interface_name, std::move(text), expected_version, std::move(done));
}

Subscription MemoryMappingStore::Watch(const std::string& interface_name, WatchCallback on_change) {
  return state_->Watch(interface_name, std::move(on_change));
}

void MemoryMappingStore::List(const CallOptions&, ListCallback done) {
  state_->List(std::move(done));
}

std::string MemoryMappingStore::PathOf(const std::string& interface_name) const {
  return absl::StrCat("memory:mapping/", interface_name);
}

void MemoryMappingStore::Put(const std::string& interface_name, std::string text) {
  state_->Put(interface_name, std::move(text));
}

void MemoryMappingStore::Remove(const std::string& interface_name) {
  state_->Remove(interface_name);
}

std::string MemoryMappingStore::TextOf(const std::string& interface_name) const {
  MutexLock lock(state_->mutex_);
  const absl::StatusOr<MappingText> text = state_->Read(interface_name);
  return text.ok() ? text->text : "";
}

void MemoryMappingStore::BeforeCompareAndSet(std::function<void(const std::string&)> hook) {
  MutexLock lock(state_->mutex_);
  state_->hook_ = std::move(hook);
}

void MemoryMappingStore::LoseNext(int count) {
  MutexLock lock(state_->mutex_);
  state_->lose_ = count;
}

void MemoryMappingStore::FailNext(absl::Status error, int count) {
  MutexLock lock(state_->mutex_);
  state_->fault_ = std::move(error);
  state_->faults_left_ = count;
}

void MemoryMappingStore::SetSilent(bool silent) {
  MutexLock lock(state_->mutex_);
  state_->silent_ = silent;
}

void MemoryMappingStore::BreakWatches(const std::string& interface_name, absl::Status error) {
  MutexLock lock(state_->mutex_);
  state_->TellAll(interface_name, error);
}

int MemoryMappingStore::gets() const {
  MutexLock lock(state_->mutex_);
  return state_->gets_;
}

int MemoryMappingStore::attempts() const {
  MutexLock lock(state_->mutex_);
  return state_->attempts_;
}

int MemoryMappingStore::writes() const {
  MutexLock lock(state_->mutex_);
  return state_->writes_;
}

int MemoryMappingStore::watches() const {
  MutexLock lock(state_->mutex_);
  return static_cast<int>(state_->watches_.size());
}

}  // namespace signpost

#include "signpost/common/snapshot_cell.h"

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "signpost/common/mutex.h"

namespace signpost::common_internal {

struct ThreadBlock;

struct SnapshotCell::State {
  uint64_t id = 0;   // never used twice
  size_t index = 0;  // of the slot in each thread's block; used again after destruction
  std::atomic<uint64_t> version{1};
  Mutex mutex;
  std::shared_ptr<const void> current ABSL_GUARDED_BY(mutex);
  // What keeps alive the pointer that a thread has cached.
  std::unordered_map<const ThreadBlock*, std::shared_ptr<const void>> held ABSL_GUARDED_BY(mutex);

  std::shared_ptr<const void> Unhold(const ThreadBlock* block) {
    MutexLock lock(mutex);
    auto node = held.extract(block);
    return node ? std::move(node.mapped()) : nullptr;
  }
};

// What a thread has cached of all snapshots. Only that thread touches it.
struct ThreadBlock {
  struct Slot {
    uint64_t cell = 0;
    uint64_t version = 0;
    const void* value = nullptr;
    std::function<void()> unhold;
  };
  std::vector<Slot> slots;

  ~ThreadBlock() {
    for (Slot& slot : slots) {
      if (slot.unhold) slot.unhold();
    }
  }
};

namespace {

// A plain pointer, so that a read pays for no guard and no destructor is registered for it.
thread_local ThreadBlock* t_block = nullptr;

void EndThread(void* block) {
  t_block = nullptr;
  delete static_cast<ThreadBlock*>(block);
}

// A key and not a destructor of t_block: keys end after all thread_local objects, so their
// destructors may still read snapshots.
pthread_key_t BlockKey() {
  static const pthread_key_t key = [] {
    pthread_key_t created;
    pthread_key_create(&created, EndThread);
    return created;
  }();
  return key;
}

ThreadBlock& BlockOfThisThread() {
  if (t_block == nullptr) {
    t_block = new ThreadBlock;
    pthread_setspecific(BlockKey(), t_block);
  }
  return *t_block;
}

// Hands out ids and indexes.
struct Registry {
  Mutex mutex;
  uint64_t next_id ABSL_GUARDED_BY(mutex) = 1;
  size_t next_index ABSL_GUARDED_BY(mutex) = 0;
  std::vector<size_t> free_indexes ABSL_GUARDED_BY(mutex);
};

Registry& TheRegistry() {
  // Never destroyed: snapshots may be static.
  static Registry* const registry = new Registry;
  return *registry;
}

}  // namespace

SnapshotCell::SnapshotCell(std::shared_ptr<const void> value) : state_(std::make_shared<State>()) {
  state_->current = std::move(value);
  Registry& registry = TheRegistry();
  MutexLock lock(registry.mutex);
  state_->id = registry.next_id++;
  if (registry.free_indexes.empty()) {
    state_->index = registry.next_index++;
  } else {
    state_->index = registry.free_indexes.back();
    registry.free_indexes.pop_back();
  }
}

SnapshotCell::~SnapshotCell() {
  // Values are destroyed after the locks are gone.
  std::shared_ptr<const void> current;
  std::unordered_map<const ThreadBlock*, std::shared_ptr<const void>> held;
  {
    MutexLock lock(state_->mutex);
    current.swap(state_->current);
    held.swap(state_->held);
  }
  Registry& registry = TheRegistry();
  MutexLock lock(registry.mutex);
  registry.free_indexes.push_back(state_->index);
}

void SnapshotCell::Publish(std::shared_ptr<const void> value) {
  MutexLock lock(state_->mutex);
  state_->current.swap(value);  // the old one is destroyed after the lock is gone
  state_->version.fetch_add(1, std::memory_order_release);
}

const void* SnapshotCell::Read() const {
  const State& state = *state_;
  if (ThreadBlock* block = t_block; block != nullptr && state.index < block->slots.size()) {
    const ThreadBlock::Slot& slot = block->slots[state.index];
    if (slot.cell == state.id && slot.version == state.version.load(std::memory_order_acquire)) {
      return slot.value;
    }
  }
  return ReadNew();
}

const void* SnapshotCell::ReadNew() const {
  ThreadBlock& block = BlockOfThisThread();
  if (block.slots.size() <= state_->index) block.slots.resize(state_->index + 1);
  ThreadBlock::Slot& slot = block.slots[state_->index];
  if (slot.cell != state_->id) {
    slot.cell = state_->id;
    slot.unhold = [weak = std::weak_ptr<State>(state_), &block] {
      if (auto state = weak.lock()) state->Unhold(&block);
    };
  }
  std::shared_ptr<const void> value;  // then the old one, destroyed after the lock is gone
  MutexLock lock(state_->mutex);
  value = state_->current;
  slot.version = state_->version.load(std::memory_order_relaxed);
  const void* const raw = value.get();
  slot.value = raw;
  state_->held[&block].swap(value);
  return raw;
}

std::shared_ptr<const void> SnapshotCell::ReadShared() const {
  MutexLock lock(state_->mutex);
  return state_->current;
}

}  // namespace signpost::common_internal

#include "signpost/common/address_list.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
#include <tuple>
#include <unordered_map>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/mutex.h"

namespace signpost {
namespace common_internal {

// A place in a chunk; used again, under the same id, after its record was freed.
struct EndpointRecord {
  std::atomic<int32_t> refs{0};
  std::atomic<int32_t> in_flight{0};
  uint32_t id = 0;
  EndpointTableState* table = nullptr;
  size_t hash = 0;
  EndpointSpec spec;
};

// Records are found by id without a lock: chunks never move and are kept until the end.
struct EndpointTableState {
  static constexpr uint32_t kChunk = 1024;
  static constexpr uint32_t kChunks = 16384;

  std::array<std::atomic<EndpointRecord*>, kChunks> chunks{};
  Mutex mutex;
  uint32_t next_id ABSL_GUARDED_BY(mutex) = 0;
  std::vector<uint32_t> free_ids ABSL_GUARDED_BY(mutex);
  std::unordered_multimap<size_t, EndpointRecord*> by_hash ABSL_GUARDED_BY(mutex);
  // Its EndpointTable has gone: the last record takes this with it.
  bool orphaned ABSL_GUARDED_BY(mutex) = false;

  ~EndpointTableState() {
    for (auto& chunk : chunks) delete[] chunk.load(std::memory_order_relaxed);
  }

  EndpointRecord* Find(uint32_t id) const {
    // Acquire: whoever knows the id got it with the record, but the chunk may be new to this
    // thread.
    return chunks[id / kChunk].load(std::memory_order_acquire) + id % kChunk;
  }

  // An unused record, or null.
  EndpointRecord* Allocate() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (!free_ids.empty()) {
      EndpointRecord* record = Find(free_ids.back());
      free_ids.pop_back();
      return record;
    }
    if (next_id == kChunk * kChunks) return nullptr;
    if (next_id % kChunk == 0) {
      chunks[next_id / kChunk].store(new EndpointRecord[kChunk], std::memory_order_release);
    }
    EndpointRecord* record = Find(next_id);
    record->id = next_id++;
    record->table = this;
    return record;
  }
};

}  // namespace common_internal

namespace {

using common_internal::EndpointRecord;
using common_internal::EndpointTableState;

constexpr size_t kLeaf = 256;

template <typename T>
bool SameValue(const std::shared_ptr<const T>& a, const std::shared_ptr<const T>& b) {
  if (a == b) return true;
  return a != nullptr && b != nullptr && *a == *b;
}

size_t HashOf(const EndpointSpec& spec) {
  // Not the parameters: comparing them is cheaper than hashing them, and they seldom differ alone.
  const EndpointService& service = *spec.service;
  return absl::HashOf(spec.host, spec.port, spec.weight, spec.timestamp_ms, service.name,
                      service.protocol, service.app, service.revision);
}

bool SameSpec(const EndpointSpec& a, const EndpointSpec& b) {
  return a.port == b.port && a.weight == b.weight && a.timestamp_ms == b.timestamp_ms &&
         a.host == b.host && SameValue(a.service, b.service) &&
         SameValue(a.instance_metadata, b.instance_metadata);
}

// What makes two specs the same address, whatever else they say.
using Place = std::tuple<absl::string_view, uint16_t, absl::string_view, absl::string_view,
                         absl::string_view, absl::string_view>;

Place PlaceOf(const EndpointSpec& spec) {
  const EndpointService& service = *spec.service;
  return Place(spec.host, spec.port, service.protocol, service.app, service.name, service.path);
}

void AddReference(EndpointRecord* record) { record->refs.fetch_add(1, std::memory_order_relaxed); }

void Release(EndpointRecord* record) {
  int32_t refs = record->refs.load(std::memory_order_relaxed);
  while (refs > 1) {
    if (record->refs.compare_exchange_weak(refs, refs - 1, std::memory_order_release,
                                           std::memory_order_relaxed)) {
      return;
    }
  }
  // The last reference goes under the lock, where Intern could otherwise revive the record.
  EndpointSpec dropped;                       // destroyed after the lock is gone
  std::unique_ptr<EndpointTableState> empty;  // as well
  EndpointTableState& table = *record->table;
  MutexLock lock(table.mutex);
  if (record->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  auto [begin, end] = table.by_hash.equal_range(record->hash);
  auto entry = std::find_if(begin, end, [&](const auto& each) { return each.second == record; });
  table.by_hash.erase(entry);
  table.free_ids.push_back(record->id);
  dropped = std::exchange(record->spec, EndpointSpec());
  if (table.orphaned && table.by_hash.empty()) empty.reset(&table);
}

}  // namespace

absl::string_view EndpointSpec::Get(absl::string_view key) const {
  const std::string name(key);
  const StringMap* params = service == nullptr ? nullptr : &service->params;
  for (const StringMap* map : {params, instance_metadata.get()}) {
    if (map == nullptr) continue;
    if (auto found = map->find(name); found != map->end()) return found->second;
  }
  return "";
}

Endpoint::Endpoint(EndpointRecord* record) : record_(record) { AddReference(record_); }

Endpoint::Endpoint(const Endpoint& other) : record_(other.record_) {
  if (record_ != nullptr) AddReference(record_);
}

Endpoint::~Endpoint() {
  if (record_ != nullptr) Release(record_);
}

const EndpointSpec& Endpoint::operator*() const { return record_->spec; }

uint32_t Endpoint::id() const { return record_->id; }

std::string Endpoint::address() const {
  const EndpointSpec& spec = record_->spec;
  if (spec.host.find(':') == std::string::npos) return absl::StrCat(spec.host, ":", spec.port);
  return absl::StrCat("[", spec.host, "]:", spec.port);
}

int32_t Endpoint::in_flight() const { return record_->in_flight.load(std::memory_order_relaxed); }

void Endpoint::BeginCall() const { record_->in_flight.fetch_add(1, std::memory_order_relaxed); }

void Endpoint::EndCall() const { record_->in_flight.fetch_sub(1, std::memory_order_relaxed); }

EndpointTable::EndpointTable() : state_(new EndpointTableState) {}

EndpointTable::~EndpointTable() {
  std::unique_ptr<EndpointTableState> empty;  // destroyed after the lock is gone
  MutexLock lock(state_->mutex);
  state_->orphaned = true;
  if (state_->by_hash.empty()) empty.reset(state_);
}

Endpoint EndpointTable::Intern(EndpointSpec spec) {
  static const auto* const no_service =
      new std::shared_ptr<const EndpointService>(std::make_shared<EndpointService>());
  if (spec.service == nullptr) spec.service = *no_service;
  const size_t hash = HashOf(spec);
  MutexLock lock(state_->mutex);
  auto [begin, end] = state_->by_hash.equal_range(hash);
  for (auto entry = begin; entry != end; ++entry) {
    if (SameSpec(entry->second->spec, spec)) return Endpoint(entry->second);
  }
  EndpointRecord* record = state_->Allocate();
  if (record == nullptr) return Endpoint();
  record->spec = std::move(spec);
  record->hash = hash;
  record->in_flight.store(0, std::memory_order_relaxed);
  state_->by_hash.emplace(hash, record);
  return Endpoint(record);
}

size_t EndpointTable::size() const {
  MutexLock lock(state_->mutex);
  return state_->by_hash.size();
}

// Holds one reference for each id. All leaves of a list but the last are full.
struct AddressList::Leaf {
  EndpointTableState* table = nullptr;
  uint32_t count = 0;
  std::array<uint32_t, kLeaf> ids;

  explicit Leaf(EndpointTableState* the_table) : table(the_table) {}
  Leaf(const Leaf& other) : table(other.table), count(other.count), ids(other.ids) {
    for (uint32_t i = 0; i < count; ++i) AddReference(Record(i));
  }
  ~Leaf() {
    for (uint32_t i = 0; i < count; ++i) Release(Record(i));
  }
  EndpointRecord* Record(size_t i) const { return table->Find(ids[i]); }
};

AddressList::~AddressList() = default;

std::shared_ptr<const AddressList> AddressList::Empty() {
  // Never destroyed: lists may be asked for while the process ends.
  static const auto* const empty = new std::shared_ptr<const AddressList>(new AddressList);
  return *empty;
}

Endpoint AddressList::at(size_t index) const {
  return Endpoint(leaves_[index / kLeaf]->Record(index % kLeaf));
}

const EndpointSpec& AddressList::spec(size_t index) const {
  return leaves_[index / kLeaf]->Record(index % kLeaf)->spec;
}

uint32_t AddressList::id(size_t index) const { return leaves_[index / kLeaf]->ids[index % kLeaf]; }

void AddressList::ForEach(const std::function<void(const Endpoint&)>& fn) const {
  for (const auto& leaf : leaves_) {
    for (uint32_t i = 0; i < leaf->count; ++i) fn(Endpoint(leaf->Record(i)));
  }
}

std::shared_ptr<const AddressList> AddressList::Apply(const AddressDelta& delta) const {
  std::shared_ptr<AddressList> next(new AddressList);
  static std::atomic<uint64_t> last_version{0};
  next->version_ = ++last_version;
  next->size_ = size_;
  next->leaves_ = leaves_;

  // A leaf is copied once, when it is first written to.
  absl::flat_hash_map<size_t, std::shared_ptr<Leaf>> own;
  auto edit = [&](size_t leaf) -> Leaf& {
    std::shared_ptr<Leaf>& copy = own[leaf];
    if (copy == nullptr) {
      copy = std::make_shared<Leaf>(*next->leaves_[leaf]);
      next->leaves_[leaf] = copy;
    }
    return *copy;
  };

  // Where the ids that go are. The filter spares nearly every id the look-up.
  absl::flat_hash_map<uint32_t, const Endpoint*> going;  // to what comes in its place, or null
  std::bitset<4096> filter;
  auto going_to = [&](const Endpoint& before, const Endpoint* after) {
    going[before.id()] = after;
    filter.set(before.id() % filter.size());
  };
  for (const Endpoint& removed : delta.removed) going_to(removed, nullptr);
  for (const AddressDelta::Update& update : delta.updated) going_to(update.before, &update.after);
  std::vector<size_t> holes;
  if (!going.empty()) {
    for (size_t index = 0; index < size_; ++index) {
      const uint32_t old = id(index);
      if (!filter.test(old % filter.size())) continue;
      auto found = going.find(old);
      if (found == going.end()) continue;
      if (found->second == nullptr) {
        holes.push_back(index);
        continue;
      }
      Leaf& leaf = edit(index / kLeaf);
      AddReference(found->second->record_);
      Release(leaf.Record(index % kLeaf));
      leaf.ids[index % kLeaf] = found->second->id();
    }
  }

  // The last address moves into the hole; from the back, so that the last one always stays.
  for (auto hole = holes.rbegin(); hole != holes.rend(); ++hole) {
    const size_t last = --next->size_;
    Leaf& leaf = edit(*hole / kLeaf);
    Leaf& last_leaf = edit(last / kLeaf);
    std::swap(leaf.ids[*hole % kLeaf], last_leaf.ids[last % kLeaf]);
    Release(last_leaf.Record(last % kLeaf));
    --last_leaf.count;
    if (last_leaf.count == 0) {
      own.erase(last / kLeaf);
      next->leaves_.pop_back();
    }
  }

  for (const Endpoint& added : delta.added) {
    const size_t index = next->size_++;
    if (index % kLeaf == 0) {
      auto leaf = std::make_shared<Leaf>(added.record_->table);
      own[index / kLeaf] = leaf;
      next->leaves_.push_back(std::move(leaf));
    }
    Leaf& leaf = edit(index / kLeaf);
    AddReference(added.record_);
    leaf.ids[leaf.count++] = added.id();
  }
  return next;
}

AddressDelta AddressList::DiffTo(const std::vector<Endpoint>& wanted) const {
  AddressDelta delta;
  delta.from_version = version_;
  absl::flat_hash_set<uint32_t> here;
  here.reserve(size_);
  for (const auto& leaf : leaves_) here.insert(leaf->ids.begin(), leaf->ids.begin() + leaf->count);
  absl::flat_hash_set<uint32_t> there;
  there.reserve(wanted.size());
  std::vector<const Endpoint*> coming;
  for (const Endpoint& each : wanted) {
    if (there.insert(each.id()).second && !here.contains(each.id())) coming.push_back(&each);
  }

  // What goes and comes at one place is an update; several at a place are paired in order.
  absl::flat_hash_map<Place, std::vector<const Endpoint*>> by_place;
  for (auto each = coming.rbegin(); each != coming.rend(); ++each) {
    by_place[PlaceOf(***each)].push_back(*each);
  }
  absl::flat_hash_set<uint32_t> paired;
  for (size_t index = 0; index < size_; ++index) {
    if (there.contains(id(index))) continue;
    Endpoint before = at(index);
    auto found = by_place.find(PlaceOf(*before));
    if (found == by_place.end() || found->second.empty()) {
      delta.removed.push_back(std::move(before));
      continue;
    }
    const Endpoint* after = found->second.back();
    found->second.pop_back();
    paired.insert(after->id());
    delta.updated.push_back({std::move(before), *after});
  }
  for (const Endpoint* each : coming) {
    if (!paired.contains(each->id())) delta.added.push_back(*each);
  }
  return delta;
}

}  // namespace signpost

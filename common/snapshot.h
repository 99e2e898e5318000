// Publish / read of an immutable value: many readers per call, few writers.
//
// A read costs a version check of a pointer that the thread has cached: no lock shared between
// threads, no reference count touched while the value stays the same. (std::atomic<shared_ptr> is
// slower and noisy under ThreadSanitizer in libstdc++ 12.) All snapshots of the process share one
// thread-local block.
//
// Threads: Read from any thread, also while Publish runs; Publish by one thread at a time.
// Ownership: the reference that Read returns is valid until the same thread reads this snapshot
//   again, or ends; keep `ReadShared` for longer. An old value is freed when every thread that
//   cached it has read a newer one, has ended, or the Snapshot is destroyed.
#ifndef SIGNPOST_COMMON_SNAPSHOT_H_
#define SIGNPOST_COMMON_SNAPSHOT_H_

#include <memory>
#include <utility>

#include "signpost/common/snapshot_cell.h"

namespace signpost {

template <typename T>
class Snapshot {
 public:
  explicit Snapshot(std::shared_ptr<const T> value) : cell_(std::move(value)) {}

  void Publish(std::shared_ptr<const T> value) { cell_.Publish(std::move(value)); }

  // Never null if only non-null values were published.
  const T* Read() const { return static_cast<const T*>(cell_.Read()); }

  std::shared_ptr<const T> ReadShared() const {
    return std::static_pointer_cast<const T>(cell_.ReadShared());
  }

 private:
  common_internal::SnapshotCell cell_;
};

}  // namespace signpost

#endif  // SIGNPOST_COMMON_SNAPSHOT_H_

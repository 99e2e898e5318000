// The untyped core of Snapshot<T>; see snapshot.h.
#ifndef SIGNPOST_COMMON_SNAPSHOT_CELL_H_
#define SIGNPOST_COMMON_SNAPSHOT_CELL_H_

#include <memory>

namespace signpost::common_internal {

class SnapshotCell {
 public:
  explicit SnapshotCell(std::shared_ptr<const void> value);
  ~SnapshotCell();
  SnapshotCell(const SnapshotCell&) = delete;
  SnapshotCell& operator=(const SnapshotCell&) = delete;

  void Publish(std::shared_ptr<const void> value);
  const void* Read() const;
  std::shared_ptr<const void> ReadShared() const;

 private:
  struct State;
  const void* ReadNew() const;
  const std::shared_ptr<State> state_;
};

}  // namespace signpost::common_internal

#endif  // SIGNPOST_COMMON_SNAPSHOT_CELL_H_

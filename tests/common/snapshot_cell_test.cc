#include "signpost/common/snapshot_cell.h"

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "signpost/common/snapshot.h"

namespace signpost {
namespace {

TEST(SnapshotTest, ReadsWhatWasPublishedLast) {
  Snapshot<int> snapshot(std::make_shared<const int>(1));
  EXPECT_EQ(*snapshot.Read(), 1);
  EXPECT_EQ(snapshot.Read(), snapshot.Read());
  snapshot.Publish(std::make_shared<const int>(2));
  EXPECT_EQ(*snapshot.Read(), 2);
  EXPECT_EQ(*snapshot.ReadShared(), 2);
}

TEST(SnapshotTest, TheOldValueGoesWhenItsReaderReadsTheNewOne) {
  auto first = std::make_shared<const int>(1);
  std::weak_ptr<const int> weak = first;
  Snapshot<int> snapshot(std::move(first));
  const int* cached = snapshot.Read();
  snapshot.Publish(std::make_shared<const int>(2));
  EXPECT_FALSE(weak.expired());
  EXPECT_EQ(*cached, 1);
  snapshot.Read();
  EXPECT_TRUE(weak.expired());
}

TEST(SnapshotTest, TheOldValueGoesWhenItsReaderEnds) {
  auto first = std::make_shared<const int>(1);
  std::weak_ptr<const int> weak = first;
  Snapshot<int> snapshot(std::move(first));
  std::thread([&] { snapshot.Read(); }).join();
  EXPECT_FALSE(weak.expired());
  snapshot.Publish(nullptr);
  EXPECT_TRUE(weak.expired());
  EXPECT_EQ(snapshot.Read(), nullptr);
}

TEST(SnapshotTest, DestructionFreesWhatOtherThreadsCached) {
  std::atomic<int> step{0};
  auto value = std::make_shared<const int>(1);
  std::weak_ptr<const int> weak = value;
  std::optional<Snapshot<int>> snapshot(std::in_place, std::move(value));
  std::thread reader([&] {
    snapshot->Read();
    step = 1;
    while (step != 2) std::this_thread::yield();
  });
  while (step != 1) std::this_thread::yield();
  snapshot.reset();
  EXPECT_TRUE(weak.expired());
  step = 2;
  reader.join();
}

TEST(SnapshotTest, ASlotUsedAgainNeverGivesTheOldValue) {
  for (int i = 0; i < 1000; ++i) {
    Snapshot<int> snapshot(std::make_shared<const int>(i));
    ASSERT_EQ(*snapshot.Read(), i);
  }
}

TEST(SnapshotTest, ManySnapshotsInOneThread) {
  std::vector<std::unique_ptr<Snapshot<int>>> snapshots;
  for (int i = 0; i < 300; ++i) {
    snapshots.push_back(std::make_unique<Snapshot<int>>(std::make_shared<const int>(i)));
  }
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 300; ++i) ASSERT_EQ(*snapshots[i]->Read(), i);
  }
}

// A destructor that reads another snapshot must not find a lock held.
struct ReadsWhenItGoes {
  const Snapshot<int>* other;
  ~ReadsWhenItGoes() { EXPECT_EQ(*other->Read(), 5); }
};

TEST(SnapshotTest, AValueMayReadOtherSnapshotsFromItsDestructor) {
  Snapshot<int> other(std::make_shared<const int>(5));
  Snapshot<ReadsWhenItGoes> snapshot(std::make_shared<const ReadsWhenItGoes>(&other));
  std::thread([&] {
    snapshot.Read();
    snapshot.Publish(nullptr);
    snapshot.Read();
    snapshot.Publish(std::make_shared<const ReadsWhenItGoes>(&other));
    snapshot.Read();
    snapshot.Publish(nullptr);
  }).join();  // the second value goes while the thread ends
}

struct Checked {
  explicit Checked(int n) : a(n), b(-n) {}
  ~Checked() { a = 1, b = 1; }
  int a;
  int b;
};

TEST(SnapshotTest, ReadersSeeWholeValuesThatNeverGoBack) {
  Snapshot<Checked> snapshot(std::make_shared<const Checked>(0));
  std::atomic<bool> stop{false};
  std::vector<std::thread> readers;
  for (int t = 0; t < 3; ++t) {
    readers.emplace_back([&] {
      int last = 0;
      while (!stop) {
        const Checked* value = snapshot.Read();
        ASSERT_EQ(value->a, -value->b);
        ASSERT_GE(value->a, last);
        last = value->a;
      }
    });
  }
  // Threads that come and go meanwhile.
  for (int i = 1; i <= 2000; ++i) {
    snapshot.Publish(std::make_shared<const Checked>(i));
    if (i % 200 == 0) std::thread([&] { ASSERT_EQ(snapshot.Read()->a, i); }).join();
  }
  stop = true;
  for (auto& reader : readers) reader.join();
}

}  // namespace
}  // namespace signpost

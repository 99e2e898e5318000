#include "signpost/common/gate.h"

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace signpost {
namespace {

TEST(GateTest, AClosedGateGivesNoPass) {
  Gate gate;
  EXPECT_TRUE(gate.Enter());
  gate.Close();
  gate.Close();
  EXPECT_TRUE(gate.closed());
  EXPECT_FALSE(gate.Enter());
}

TEST(GateTest, CloseDoesNotWaitForItsOwnThread) {
  Gate gate;
  Gate::Pass pass = gate.Enter();
  Gate::Pass moved = std::move(pass);
  EXPECT_FALSE(pass);
  gate.Close();
  EXPECT_TRUE(moved);
}

TEST(GateTest, APassMayOutliveTheGate) {
  Gate::Pass pass;
  {
    Gate gate;
    pass = gate.Enter();
  }
  EXPECT_TRUE(pass);
}

TEST(GateTest, TwoThatAreInsideCloseAtOnce) {
  for (int round = 0; round < 50; ++round) {
    Gate gate;
    std::atomic<int> inside{0};
    const auto work = [&] {
      const Gate::Pass pass = gate.Enter();
      ++inside;
      while (inside < 2) std::this_thread::yield();
      gate.Close();
    };
    std::thread first(work);
    std::thread second(work);
    first.join();
    second.join();
    EXPECT_FALSE(gate.Enter());
  }
}

TEST(GateTest, OneOutsideWaitsForOneThatClosesInside) {
  Gate gate;
  std::atomic<bool> entered{false};
  int shared = 0;
  std::thread worker([&] {
    const Gate::Pass pass = gate.Enter();
    entered = true;
    gate.Close();
    shared = 1;
  });
  while (!entered) std::this_thread::yield();
  gate.Close();
  EXPECT_EQ(shared, 1);
  worker.join();
}

TEST(GateTest, NothingIsInsideAfterClose) {
  for (int round = 0; round < 50; ++round) {
    Gate gate;
    int shared = 0;  // not atomic: the gate orders the last writer before the reader
    std::atomic<int> writers{0};
    std::thread worker([&] {
      for (;;) {
        Gate::Pass pass = gate.Enter();
        if (!pass) return;
        ++shared;
        ++writers;
      }
    });
    while (writers == 0) std::this_thread::yield();
    gate.Close();
    EXPECT_EQ(shared, writers);
    worker.join();
  }
}

}  // namespace
}  // namespace signpost

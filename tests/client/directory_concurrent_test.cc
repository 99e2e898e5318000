// Pick and Done on several threads while the list changes: for ThreadSanitizer, many runs.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "signpost/balancer/random.h"
#include "signpost/balancer/round_robin.h"
#include "signpost/client/directory.h"
#include "signpost/common/manual_executor.h"
#include "tests/client/fake_registry.h"

namespace signpost {
namespace {

class Concurrent : public testing::TestWithParam<bool> {};

TEST_P(Concurrent, PickWhileTheListChanges) {
  SimulatedClock clock;
  auto executor = std::make_shared<ManualExecutor>(clock);
  auto registry = std::make_shared<FakeRegistry>();
  {
    Directory::Parts parts;
    parts.service = "org.example.Greeter";
    parts.executor = executor;
    parts.centres = {ApplicationLevel(registry)};
    parts.balancer = [round_robin =
                          GetParam()](const BalancerOptions& options) -> std::unique_ptr<Balancer> {
      if (round_robin) return std::make_unique<RoundRobinBalancer>(options);
      return std::make_unique<RandomBalancer>(options);
    };
    Directory directory(std::move(parts));
    registry->Publish({GreeterAt(1)});

    std::atomic<bool> stop{false};
    std::atomic<int> picks{0};
    std::atomic<int> failures{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&] {
        while (!stop.load()) {
          auto pick = directory.Pick(Request());
          if (!pick.ok() || pick->endpoint->port != 20880) {
            ++failures;
          } else {
            directory.Done(*pick, CallOutcome());
          }
          ++picks;
        }
      });
    }
    for (int i = 0; i < 200 || picks.load() < 1000; ++i) {
      std::vector<EndpointSpec> specs;
      for (int last = 1; last <= 1 + i % 7; ++last)
        specs.push_back(GreeterAt(last, 100 + last * i % 3));
      registry->Publish(std::move(specs));
    }
    stop = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(failures.load(), 0);
    auto now = directory.addresses();
    for (size_t i = 0; i < now->size(); ++i) EXPECT_EQ(now->at(i).in_flight(), 0);
  }
  executor->RunUntilIdle();
}

INSTANTIATE_TEST_SUITE_P(RandomAndRoundRobin, Concurrent, testing::Bool());

}  // namespace
}  // namespace signpost

// Pick and Done allocate nothing: counted by this binary's own operator new.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "signpost/balancer/balancer.h"
#include "signpost/client/directory.h"
#include "signpost/common/manual_executor.h"
#include "tests/client/fake_registry.h"

namespace {
thread_local long g_allocations = 0;
}  // namespace

void* operator new(size_t size) {
  ++g_allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace signpost {
namespace {

class PickAllocationTest : public testing::TestWithParam<std::string> {};

TEST_P(PickAllocationTest, None) {
  SimulatedClock clock;
  auto executor = std::make_shared<ManualExecutor>(clock);
  auto registry = std::make_shared<FakeRegistry>();
  BalancerFactories balancers("balancer");
  ASSERT_TRUE(AddBuiltinBalancers(balancers).ok());
  Directory::Parts parts;
  parts.service = "org.example.Greeter";
  parts.executor = executor;
  parts.centres = {ApplicationLevel(registry)};
  parts.balancer = **balancers.Find(GetParam());
  auto directory = std::make_unique<Directory>(std::move(parts));
  std::vector<EndpointSpec> specs;
  for (int last = 1; last <= 200; ++last) specs.push_back(GreeterAt(last, 50 + last % 3));
  registry->Publish(std::move(specs));
  const Request request;
  // This thread's first look takes the list.
  ASSERT_TRUE(directory->Pick(request).ok());

  const long before = g_allocations;
  int picked = 0;
  for (int i = 0; i < 10000; ++i) {
    auto pick = directory->Pick(request);
    if (!pick.ok()) continue;
    ++picked;
    directory->Done(*pick, CallOutcome());
  }
  EXPECT_EQ(g_allocations, before);
  EXPECT_EQ(picked, 10000);
  // The counter counts.
  const auto one = std::make_unique<int>(1);
  EXPECT_EQ(g_allocations, before + *one);
  directory.reset();
  executor->RunUntilIdle();
}

INSTANTIATE_TEST_SUITE_P(Builtin, PickAllocationTest, testing::Values("random", "roundrobin"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace signpost

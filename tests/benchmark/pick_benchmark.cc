// One call's share of the library: Directory::Pick and Done, by number of addresses and balancer.
//   bazel run --config=opt //tests/benchmark:pick_benchmark
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "signpost/balancer/balancer.h"
#include "signpost/client/directory.h"
#include "signpost/common/manual_executor.h"
#include "tests/client/fake_registry.h"

namespace signpost {
namespace {

void Pick(benchmark::State& state, const std::string& balancer) {
  SimulatedClock clock;
  auto executor = std::make_shared<ManualExecutor>(clock);
  auto registry = std::make_shared<FakeRegistry>();
  BalancerFactories balancers("balancer");
  if (!AddBuiltinBalancers(balancers).ok()) return state.SkipWithError("balancers");
  Directory::Parts parts;
  parts.service = "org.example.Greeter";
  parts.executor = executor;
  parts.centres = {ApplicationLevel(registry)};
  parts.balancer = **balancers.Find(balancer);
  auto directory = std::make_unique<Directory>(std::move(parts));
  std::vector<EndpointSpec> specs;
  for (int64_t i = 0; i < state.range(0); ++i) {
    EndpointSpec spec = GreeterAt(1, static_cast<int32_t>(50 + i % 3));
    spec.host = absl::StrCat("10.", i >> 16, ".", (i >> 8) & 255, ".", i & 255);
    specs.push_back(std::move(spec));
  }
  registry->Publish(std::move(specs));
  const Request request;
  for (auto _ : state) {
    auto pick = directory->Pick(request);
    if (!pick.ok()) {
      state.SkipWithError("no address");
      break;
    }
    directory->Done(*pick, CallOutcome());
  }
  directory.reset();
  executor->RunUntilIdle();
}

BENCHMARK_CAPTURE(Pick, random, "random")->Arg(10)->Arg(1000)->Arg(100000);
BENCHMARK_CAPTURE(Pick, roundrobin, "roundrobin")->Arg(10)->Arg(1000)->Arg(100000);

}  // namespace
}  // namespace signpost

BENCHMARK_MAIN();

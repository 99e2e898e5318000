// Reading and writing Dubbo's URLs: the provider URL of W1 (peers/README.md), and a registry's.
//   bazel run --config=opt //tests/benchmark:url_benchmark
#include <benchmark/benchmark.h>

#include <string>

#include "signpost/common/url.h"

namespace signpost {
namespace {

constexpr char kProvider[] =
    "dubbo://10.0.0.1:20880/com.example.shop.api.OrderService?application=order-provider&"
    "remote.application=order-provider&interface=com.example.shop.api.OrderService&"
    "methods=getOrder,findOrders,placeOrder&region=beijing&side=provider&timestamp=1700000000000&"
    "weight=60";
constexpr char kShort[] = "zookeeper://127.0.0.1:2181";

void Parse(benchmark::State& state, const std::string& text) {
  for (auto _ : state) {
    auto url = Url::Parse(text);
    if (!url.ok()) return state.SkipWithError("no URL");
    benchmark::DoNotOptimize(url);
  }
}

void ParseEncoded(benchmark::State& state, const std::string& text) {
  const std::string node = FormEncode(text);
  for (auto _ : state) {
    auto url = Url::ParseEncoded(node);
    if (!url.ok()) return state.SkipWithError("no URL");
    benchmark::DoNotOptimize(url);
  }
}

void Format(benchmark::State& state, const std::string& text) {
  const auto url = Url::Parse(text);
  if (!url.ok()) return state.SkipWithError("no URL");
  for (auto _ : state) benchmark::DoNotOptimize(url->ToFullString());
}

void FormatForLogs(benchmark::State& state, const std::string& text) {
  const auto url = Url::Parse(text);
  if (!url.ok()) return state.SkipWithError("no URL");
  for (auto _ : state) benchmark::DoNotOptimize(url->ToString());
}

BENCHMARK_CAPTURE(Parse, provider, kProvider);
BENCHMARK_CAPTURE(Parse, short, kShort);
BENCHMARK_CAPTURE(ParseEncoded, provider, kProvider);
BENCHMARK_CAPTURE(Format, provider, kProvider);
BENCHMARK_CAPTURE(Format, short, kShort);
BENCHMARK_CAPTURE(FormatForLogs, provider, kProvider);

}  // namespace
}  // namespace signpost

BENCHMARK_MAIN();

// What a provider computes once for each change of what it exports, and a consumer reads once for
// each revision. The services are those of W3 (peers/README.md), revision `revA`.
//   bazel run --config=opt //tests/benchmark:revision_benchmark
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "signpost/common/url.h"
#include "signpost/metadata/metadata_info.h"
#include "signpost/metadata/revision.h"

namespace signpost {
namespace {

MetadataInfo Services(int64_t count) {
  MetadataInfo info;
  info.app = "order-provider";
  for (int64_t i = 0; i < count; ++i) {
    const std::string name = absl::StrFormat("com.example.shop.api.Service%03d", i);
    auto url = Url::Parse(absl::StrCat(
        "dubbo://10.0.0.1:20880/", name, "?application=order-provider&group=g1&interface=", name,
        "&methods=getOne,getMany,create,update,remove&side=provider&timestamp=1700000000000&"
        "version=1.0.0"));
    if (!url.ok()) return MetadataInfo();
    ServiceInfo service = ServiceInfoFromUrl(*url);
    std::string key = service.match_key();
    info.services.emplace(std::move(key), std::move(service));
  }
  return info;
}

void Revision(benchmark::State& state) {
  const MetadataInfo info = Services(state.range(0));
  if (info.services.empty()) return state.SkipWithError("no services");
  for (auto _ : state) benchmark::DoNotOptimize(ComputeRevision(info));
}

void ReadDocument(benchmark::State& state) {
  const std::string text = ToJson(Services(state.range(0)));
  for (auto _ : state) {
    auto info = MetadataInfoFromJson(text);
    if (!info.ok()) return state.SkipWithError("no document");
    benchmark::DoNotOptimize(info);
  }
}

BENCHMARK(Revision)->Arg(1)->Arg(100);
BENCHMARK(ReadDocument)->Arg(1)->Arg(100);

}  // namespace
}  // namespace signpost

BENCHMARK_MAIN();

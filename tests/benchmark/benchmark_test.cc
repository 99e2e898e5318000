// Every benchmark of functions still runs. How fast is no matter here.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/support/child_process.h"

namespace signpost {
namespace {

// What the benchmark prints when each case runs for a moment.
std::string Output(const std::string& name, const std::string& filter) {
  ChildProcess process(
      {"tests/benchmark/" + name, "--benchmark_min_time=0.001", "--benchmark_filter=" + filter});
  EXPECT_EQ(process.Wait(absl::Seconds(60)), 0);
  return process.output();
}

void ExpectAll(const std::string& output, const std::vector<std::string>& cases) {
  for (const std::string& name : cases) {
    EXPECT_NE(output.find(name + " "), std::string::npos) << name << " in\n" << output;
  }
  EXPECT_EQ(output.find("ERROR"), std::string::npos) << output;
}

TEST(BenchmarkTest, Pick) {
  ExpectAll(Output("pick_benchmark", "/10$"), {"Pick/random/10", "Pick/roundrobin/10"});
}

TEST(BenchmarkTest, Url) {
  ExpectAll(Output("url_benchmark", "."),
            {"Parse/provider", "Parse/short", "ParseEncoded/provider", "Format/provider",
             "Format/short", "FormatForLogs/provider"});
}

TEST(BenchmarkTest, Revision) {
  ExpectAll(Output("revision_benchmark", "."), {"Revision/100", "ReadDocument/100"});
}

}  // namespace
}  // namespace signpost

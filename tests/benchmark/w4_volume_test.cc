// How much this library leaves in the registry: no time, so it can be a test. With few instances;
// what each further one adds is the same.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/support/child_process.h"

namespace signpost {
namespace {

// The value of the line with these parameters; -1: none.
int64_t ValueOf(const std::string& output, const std::string& parameters) {
  const std::string head = R"({"peer":"signpost","workload":"W4","params":{)" + parameters +
                           R"(},"metric":"bytes","value":)";
  const size_t at = output.find(head);
  if (at == std::string::npos) return -1;
  const size_t begin = at + head.size();
  int64_t value = -1;
  if (!absl::SimpleAtoi(output.substr(begin, output.find('}', begin) - begin), &value)) return -1;
  return value;
}

TEST(W4VolumeTest, StaysWithinItsBoundsAtAHundredInstances) {
  ASSERT_EQ(setenv("PEERS_W4_K", "2 4", 1), 0);
  ChildProcess process({"tests/benchmark/w4_volume"});
  ASSERT_EQ(process.Wait(absl::Seconds(240)), 0) << process.output();
  const std::string output = process.output();
  // What Dubbo Java's interface level has for 100 instances: 5.76 MB.
  constexpr double kJava = 5.76e6;
  const auto at_100 = [&output](const std::string& mode) {
    const int64_t two = ValueOf(output, mode + R"(,"instances":2,"interfaces":100,"part":"total")");
    const int64_t each =
        ValueOf(output, mode + R"(,"interfaces":100,"part":"each_further_instance")");
    EXPECT_GT(two, 0) << mode << " in\n" << output;
    EXPECT_GT(each, 0) << mode << " in\n" << output;
    return static_cast<double>(two + 98 * each);
  };
  const std::string remote = R"("mode":"application-remote","metadata_paths":)";
  EXPECT_LE(at_100(R"("mode":"application-local")"), 0.010 * kJava);
  const double java = at_100(remote + R"("java")");
  const double go = at_100(remote + R"("go")");
  const double both = at_100(remote + R"("java,go")");
  EXPECT_LE(java, 0.014 * kJava);
  EXPECT_LE(go, 0.014 * kJava);
  EXPECT_LE(both - java, 0.006 * kJava);
  EXPECT_GT(both, java);
  // The interface level is what it is for Java.
  EXPECT_GT(at_100(R"("mode":"interface")"), 0.3 * kJava);
}

}  // namespace
}  // namespace signpost

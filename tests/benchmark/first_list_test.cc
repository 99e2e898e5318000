// The workload still runs, with few instances. How fast is no matter here.
#include <gtest/gtest.h>

#include <string>

#include "absl/time/time.h"
#include "tests/support/child_process.h"

namespace signpost {
namespace {

TEST(FirstListTest, PrintsEveryLine) {
  ChildProcess process({"tests/benchmark/first_list", "20", "1", "1"});
  EXPECT_EQ(process.Wait(absl::Seconds(120)), 0);
  const std::string output = process.output();
  for (const std::string workload : {"W5", "W5-directory"}) {
    for (const std::string tail : {R"("op":"first_list","stat":"first_in_process"},"metric":"ms")",
                                   R"("op":"subscribed","stat":"median"},"metric":"zk_ops")",
                                   R"("op":"add_one","stat":"median"},"metric":"zk_ops")",
                                   R"("op":"remove_one","stat":"median"},"metric":"ms")"}) {
      const std::string line = R"({"peer":"signpost","workload":")" + workload +
                               R"(","params":{"n":20,)" + tail + R"(,"value":)";
      EXPECT_NE(output.find(line), std::string::npos) << line << " in\n" << output;
    }
  }
}

}  // namespace
}  // namespace signpost

#include "signpost/tools/cli/output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace signpost::cli {
namespace {

using testing::HasSubstr;

TEST(TableTest, AlignsColumns) {
  Table table({"A", "LONG"});
  table.Add({"wide cell", "x"});
  std::ostringstream out;
  table.Print(out);
  EXPECT_EQ(out.str(), "A          LONG\nwide cell  x\n");
}

TEST(TableTest, ControlCharactersOfTheRegistryDoNotReachTheTerminal) {
  Table table({"A"});
  table.Add({"\x1b[31mred\n"});
  std::ostringstream out;
  table.Print(out);
  EXPECT_EQ(out.str(), "A\n\\x1b[31mred\\x0a\n");
}

TEST(FailTest, OneLineAndTheExitCodeOfTheStatus) {
  std::ostringstream err;
  EXPECT_EQ(Fail(err, "apps", absl::NotFoundError("none\nhere")), kNotFound);
  EXPECT_EQ(err.str(), "signpost: apps: none\\x0ahere\n");
  EXPECT_EQ(Fail(err, "x", absl::InvalidArgumentError("")), kUsage);
  EXPECT_EQ(Fail(err, "x", absl::UnimplementedError("")), kUsage);
  EXPECT_EQ(Fail(err, "x", absl::DeadlineExceededError("")), kUnreachable);
  err.str("");
  EXPECT_EQ(Fail(err, "x", absl::UnavailableError("down")), kUnreachable);
  EXPECT_THAT(err.str(), HasSubstr("(is the registry up?"));
}

}  // namespace
}  // namespace signpost::cli

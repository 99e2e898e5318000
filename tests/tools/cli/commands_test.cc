#include "signpost/tools/cli/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "signpost/tools/cli/output.h"
#include "tests/tools/cli/cli_fixture.h"

namespace signpost::cli {
namespace {

using testing::HasSubstr;

class CommandsTest : public CliTest {};

TEST_F(CommandsTest, EveryCommandHasHelpWithAnExample) {
  for (const Command& command : Commands()) {
    EXPECT_EQ(Run({"help", command.name}), kDone);
    EXPECT_THAT(out_.str(), HasSubstr(command.purpose));
    EXPECT_THAT(out_.str(), HasSubstr("Example: " + command.example));
  }
  EXPECT_EQ(Run({"help"}), kDone);
  EXPECT_THAT(out_.str(), HasSubstr("resolve SERVICE"));
}

TEST_F(CommandsTest, WrongUsageIsExitTwoAndOneLine) {
  EXPECT_EQ(Run({"frobnicate"}), kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("frobnicate"));
  EXPECT_EQ(Run({"instances"}), kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("usage: signpost instances APP"));
  EXPECT_EQ(Run({"apps", "surplus"}), kUsage);
  registry_ = "carrier-pigeon://x";
  EXPECT_NE(Run({"apps"}), kDone);
  EXPECT_THAT(err_.str(), HasSubstr("memory"));  // lists the known schemes
}

TEST_F(CommandsTest, AFlagThatACommandDoesNotUseIsRefused) {
  auto keeper = Provider("shop", {"tri://192.0.2.1:50051/org.example.Echo?methods=x"});
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"apps", "--app=web"},
                                             {"instances", "shop", "--app", "web"},
                                             {"serve", "--app=web"},
                                             {"mapping", "org.example.Echo", "--app=web"}}) {
    EXPECT_EQ(Run(words), kUsage) << words[0];
    EXPECT_EQ(out_.str(), "");
    EXPECT_THAT(err_.str(), HasSubstr(words[0] + ": --app: this command does not use it"));
  }
  EXPECT_EQ(Run({"resolve", "org.example.Echo", "--register-mode=all"}), kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("--register-mode"));
  // These are for all of them, and the help of a command is asked for in any way.
  EXPECT_EQ(Run({"apps", "--json", "--verbose", "--timeout=5s"}), kDone) << err_.str();
  EXPECT_EQ(Run({"apps", "--app=web", "--help"}), kDone) << err_.str();
}

TEST_F(CommandsTest, SecretsAreNeverPrinted) {
  registry_ = "memory://user:p4ss@x y?password=p4ss";
  for (const char* command : {"apps", "services"}) {
    Run({command, "--verbose"});
    EXPECT_THAT(out_.str() + err_.str(), testing::Not(HasSubstr("p4ss")));
  }
}

}  // namespace
}  // namespace signpost::cli

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "signpost/client/plugins/server.h"
#include "signpost/tools/cli/arguments.h"
#include "signpost/tools/cli/commands.h"
#include "signpost/tools/cli/output.h"
#include "tests/tools/cli/cli_fixture.h"

namespace signpost::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class ServeTest : public CliTest {
 protected:
  ServeTest() { EXPECT_TRUE(AddServer(registries_).ok()); }

  static std::string NewDir() {
    static int next = 0;
    return absl::StrCat(testing::TempDir(), "/cli-serve", getpid(), "-", next++);
  }
  // What stands behind "listening on ".
  std::string Address() {
    const std::string line = "listening on ";
    const std::string out = out_.str();
    EXPECT_THAT(out, StartsWith(line));
    return out.substr(line.size(), out.find('\n') - line.size());
  }
};

TEST_F(ServeTest, ListensUntilItIsStoppedAndIsFound) {
  const std::string dir = NewDir();
  std::string address;
  wait_for_stop_ = [&](absl::Duration) {
    address = Address();
    const std::string url = "signpost://" + address;
    EXPECT_EQ(DefaultRegistry(url), url);
    return true;
  };
  ASSERT_EQ(Run({"serve", "--listen=127.0.0.1:0", "--dir=" + dir}), kDone) << err_.str();
  EXPECT_EQ(out_.str(), absl::StrCat("listening on ", address, "\n"));
  EXPECT_EQ(err_.str(), "");
  EXPECT_TRUE(std::filesystem::exists(dir + "/db"));
  // Afterwards nobody answers.
  EXPECT_THAT(DefaultRegistry("signpost://" + address), StartsWith("embedded://"));
}

TEST_F(ServeTest, ItsDirectoryIsTheEmbeddedRegistryOfTheUser) {
  const std::string state = NewDir();
  setenv("XDG_STATE_HOME", state.c_str(), 1);
  EXPECT_EQ(DefaultRegistry("signpost://127.0.0.1:1"),
            absl::StrCat("embedded://", state, "/signpost"));
  ASSERT_EQ(Run({"serve", "--listen=127.0.0.1:0"}), kDone) << err_.str();
  EXPECT_TRUE(std::filesystem::exists(state + "/signpost/db"));
  unsetenv("XDG_STATE_HOME");
}

TEST_F(ServeTest, FaultsAreNamed) {
  EXPECT_EQ(Run({"serve", "--listen=here", "--dir=" + NewDir()}), kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("--listen=here"));
  EXPECT_EQ(Run({"serve", "--listen=127.0.0.1:99999", "--dir=" + NewDir()}), kUsage);
  EXPECT_EQ(Run({"serve", "surplus"}), kUsage);
  EXPECT_EQ(Run({"serve", "--listen=127.0.0.1:0", "--dir=/proc/none"}), kUnreachable);
  EXPECT_THAT(err_.str(), HasSubstr("/proc/none"));
  wait_for_stop_ = [&](absl::Duration) {
    const std::string address = Address();
    wait_for_stop_ = [](absl::Duration) { return true; };
    EXPECT_EQ(Run({"serve", "--listen=" + address, "--dir=" + NewDir()}), kUnreachable);
    EXPECT_THAT(err_.str(), HasSubstr(address));
    return true;
  };
  EXPECT_EQ(Run({"serve", "--listen=127.0.0.1:0", "--dir=" + NewDir()}), kDone);
}

TEST_F(ServeTest, BeyondTheLoopbackItWarns) {
  ASSERT_EQ(Run({"serve", "--listen=0.0.0.0:0", "--dir=" + NewDir()}), kDone) << err_.str();
  EXPECT_THAT(err_.str(), HasSubstr("no login"));
}

}  // namespace
}  // namespace signpost::cli

// The command beside a process that owns the embedded registry: it reads what is there, and says
// what it cannot do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <string>

#include "tests/support/child_process.h"

namespace signpost {
namespace {

using testing::HasSubstr;

class EmbeddedBesideTest : public testing::Test {
 protected:
  // What the command printed; its exit code in code_.
  std::string Signpost(const std::string& command, const std::string& argument = "") {
    std::vector<std::string> words = {"tools/signpost", command};
    if (!argument.empty()) words.push_back(argument);
    words.push_back("--registry=" + registry_);
    ChildProcess process(std::move(words));
    code_ = process.Wait(absl::Seconds(60));
    return process.output();
  }

  const std::string registry_ = "embedded://" + testing::TempDir() + "/" +
                                testing::UnitTest::GetInstance()->current_test_info()->name();
  int code_ = -1;
};

TEST_F(EmbeddedBesideTest, ReadsWhatTheOwnerWrote) {
  ChildProcess provider({"examples/provider", registry_, "192.0.2.1:50051"});
  ASSERT_TRUE(
      provider.WaitForOutput("registered /services/greeting/192.0.2.1:50051\n", absl::Seconds(30)))
      << provider.output();
  EXPECT_THAT(Signpost("apps"), HasSubstr("greeting"));
  EXPECT_EQ(code_, 0);
  EXPECT_THAT(Signpost("resolve", "org.example.Greeter"), HasSubstr("192.0.2.1:50051"));
  EXPECT_EQ(code_, 0);
  EXPECT_THAT(Signpost("resolve", "org.example.Nobody"), HasSubstr("no mapping"));
  EXPECT_EQ(code_, 1);
  EXPECT_THAT(Signpost("watch", "org.example.Greeter"), HasSubstr("signpost serve"));
  EXPECT_EQ(code_, 3);
  provider.Signal(SIGTERM);
  EXPECT_EQ(provider.Wait(absl::Seconds(20)), 0);
  EXPECT_THAT(Signpost("resolve", "org.example.Greeter"), HasSubstr("no instance"));
  EXPECT_EQ(code_, 1);
}

TEST_F(EmbeddedBesideTest, ExitCodesOfWhatCannotBeOpened) {
  Signpost("apps");
  EXPECT_EQ(code_, 3);  // nobody has made the directory yet
  ChildProcess scheme({"tools/signpost", "apps", "--registry=pigeon://h"});
  EXPECT_EQ(scheme.Wait(absl::Seconds(60)), 2);
  ChildProcess nobody({"tools/signpost", "watch", "a.B", "--for=500ms",
                       "--registry=zookeeper://127.0.0.1:1?timeout=100"});
  EXPECT_EQ(nobody.Wait(absl::Seconds(60)), 3);
  EXPECT_THAT(nobody.output(), HasSubstr("not connected"));
}

}  // namespace
}  // namespace signpost

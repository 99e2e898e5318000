// Runs examples/custom_registry.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "absl/time/time.h"
#include "tests/support/child_process.h"

namespace signpost {
namespace {

using testing::HasSubstr;

class CustomRegistryTest : public testing::Test {
 protected:
  // What the example prints for a file with `text`; its exit code in code_.
  std::string Ask(const std::string& text, const std::string& interface_name) {
    const std::string path = testing::TempDir() + "/" +
                             testing::UnitTest::GetInstance()->current_test_info()->name() + ".txt";
    std::ofstream(path) << text;
    ChildProcess example({"examples/custom_registry", path, interface_name});
    code_ = example.Wait(absl::Seconds(60));
    return example.output();
  }

  int code_ = -1;
};

TEST_F(CustomRegistryTest, FindsTheHostsOfTheFile) {
  constexpr char kFile[] =
      "greeting tri org.example.Greeter 192.0.2.1:50051 [2001:db8::1]:50051\n"
      "\n"
      "parting dubbo org.example.Greeter 192.0.2.3:20880\n"
      "parting dubbo org.example.Leaver 192.0.2.4:20880\n";
  const std::string greeters = Ask(kFile, "org.example.Greeter");
  EXPECT_EQ(code_, 0);
  EXPECT_THAT(greeters, HasSubstr("tri://192.0.2.1:50051\n"));
  EXPECT_THAT(greeters, HasSubstr("tri://[2001:db8::1]:50051\n"));
  EXPECT_EQ(Ask(kFile, "org.example.Leaver"), "dubbo://192.0.2.4:20880\n");
  EXPECT_EQ(code_, 0);
}

TEST_F(CustomRegistryTest, SaysWhatIsMissing) {
  EXPECT_THAT(Ask("greeting tri org.example.Greeter 192.0.2.1:50051\n", "org.example.Nobody"),
              HasSubstr("no mapping"));
  EXPECT_EQ(code_, 1);
}

TEST_F(CustomRegistryTest, NamesTheBadLine) {
  constexpr char kGood[] = "greeting tri org.example.Greeter 192.0.2.1:50051\n";
  EXPECT_THAT(Ask(std::string(kGood) + "greeting tri\n", "org.example.Greeter"),
              HasSubstr("NamesTheBadLine.txt:2: expected APPLICATION"));
  EXPECT_EQ(code_, 1);
  EXPECT_THAT(Ask("greeting tri org.example.Greeter 192.0.2.1\n", "org.example.Greeter"),
              HasSubstr(":1: "));
  EXPECT_EQ(code_, 1);
  EXPECT_THAT(Ask(std::string(kGood) + kGood, "org.example.Greeter"), HasSubstr(":2: "));
  EXPECT_EQ(code_, 1);
}

}  // namespace
}  // namespace signpost

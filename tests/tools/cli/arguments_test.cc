#include "signpost/tools/cli/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

namespace signpost::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

TEST(ArgumentsTest, CommandPositionalAndFlagsInAnyOrder) {
  auto arguments = ParseArguments({"--json", "resolve", "g/org.example.Echo:1", "--timeout", "2s",
                                   "--registry=memory://x", "--provided-by=shop"});
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_EQ(arguments->command, "resolve");
  EXPECT_THAT(arguments->positional, ElementsAre("g/org.example.Echo:1"));
  EXPECT_TRUE(arguments->json);
  EXPECT_EQ(arguments->timeout, absl::Seconds(2));
  EXPECT_EQ(arguments->registry, "memory://x");
  EXPECT_EQ(arguments->provided_by, "shop");
}

TEST(ArgumentsTest, RepeatableFlags) {
  auto arguments = ParseArguments(
      {"provide", "--service=a.B", "--service", "c.D", "--param", "k=v=w", "--param=weight=50"});
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_THAT(arguments->services, ElementsAre("a.B", "c.D"));
  EXPECT_THAT(arguments->params, ElementsAre(Pair("k", "v=w"), Pair("weight", "50")));
}

TEST(ArgumentsTest, FlagsThatWereGivenAreNamed) {
  auto arguments = ParseArguments({"provide", "--register-mode=all", "--json", "--param", "k=v",
                                   "--nono_cache", "--service=a.B"});
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_THAT(arguments->flags,
              ElementsAre("--register-mode", "--json", "--param", "--no-cache", "--service"));
}

TEST(ArgumentsTest, OneDashIsNoFlagAndItsValueIsNotShown) {
  for (const char* word : {"-registry=zookeeper://u:p4ss@h", "-r=zookeeper://u:p4ss@h"}) {
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{word, "apps"}, {"resolve", word, "a.B"}}) {
      const auto arguments = ParseArguments(words);
      ASSERT_FALSE(arguments.ok());
      EXPECT_THAT(arguments.status().message(), Not(HasSubstr("p4ss")));
      EXPECT_THAT(arguments.status().message(), HasSubstr("--"));
    }
  }
}

TEST(ArgumentsTest, FlagsOfAnEarlierParseAreForgotten) {
  ASSERT_TRUE(ParseArguments({"apps", "--json", "--protocol=tri"}).ok());
  auto arguments = ParseArguments({"apps"});
  ASSERT_TRUE(arguments.ok());
  EXPECT_FALSE(arguments->json);
  EXPECT_EQ(arguments->protocol, "");
}

TEST(ArgumentsTest, FaultsNameTheWord) {
  EXPECT_THAT(ParseArguments({"apps", "--colour"}).status().message(), HasSubstr("--colour"));
  EXPECT_THAT(ParseArguments({"apps", "--timeout=soon"}).status().message(), HasSubstr("soon"));
  EXPECT_THAT(ParseArguments({"apps", "--timeout=-1s"}).status().message(), HasSubstr("-1s"));
  EXPECT_THAT(ParseArguments({"apps", "--registry"}).status().message(), HasSubstr("--registry"));
  EXPECT_THAT(ParseArguments({"provide", "--param", "x"}).status().message(), HasSubstr("x"));
  EXPECT_THAT(ParseArguments({"apps", "--json=perhaps"}).status().message(), HasSubstr("--json"));
  // A flag of a library that is linked in is none of ours.
  EXPECT_FALSE(ParseArguments({"apps", "--logtostderr"}).ok());
}

TEST(ArgumentsTest, RegistryFromEnvironmentElseEmbedded) {
  unsetenv("SIGNPOST_REGISTRY");
  setenv("XDG_STATE_HOME", "/srv/state", 1);
  // A server may run on this machine; nobody listens on port 1.
  EXPECT_EQ(DefaultRegistry("signpost://127.0.0.1:1"), "embedded:///srv/state/signpost");
  EXPECT_EQ(ParseArguments({"apps"})->registry, "");
  EXPECT_EQ(ParseArguments({"serve"})->dir, "/srv/state/signpost");
  EXPECT_EQ(ParseArguments({"serve", "--dir=/d"})->dir, "/d");
  EXPECT_EQ(ParseArguments({"serve"})->listen, "127.0.0.1:2280");
  setenv("SIGNPOST_REGISTRY", "zookeeper://192.0.2.1:2181", 1);
  EXPECT_EQ(ParseArguments({"apps"})->registry, "zookeeper://192.0.2.1:2181");
  EXPECT_EQ(ParseArguments({"apps", "--registry=memory://x"})->registry, "memory://x");
  unsetenv("SIGNPOST_REGISTRY");
}

TEST(ArgumentsTest, HelpFlagAsksForTheCommandsHelp) {
  auto arguments = ParseArguments({"resolve", "--help"});
  ASSERT_TRUE(arguments.ok());
  EXPECT_EQ(arguments->command, "help");
  EXPECT_THAT(arguments->positional, ElementsAre("resolve"));
}

}  // namespace
}  // namespace signpost::cli

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "signpost/tools/cli/output.h"
#include "tests/tools/cli/cli_fixture.h"

namespace signpost::cli {
namespace {

using testing::HasSubstr;

class ResolveTest : public CliTest {};

TEST_F(ResolveTest, ShowsAddressesSorted) {
  auto b = Provider("shop", {"tri://192.0.2.2:50051/org.example.Echo?methods=echo&weight=50"});
  auto a = Provider("shop", {"tri://192.0.2.1:50051/org.example.Echo?methods=echo"});
  ASSERT_EQ(Run({"resolve", "org.example.Echo", "--json"}), kDone) << err_.str();
  const Json document = Document();
  EXPECT_EQ(document["service"].AsString(), "org.example.Echo");
  EXPECT_EQ(document["level"].AsString(), "application");
  EXPECT_FALSE(document["stale"].AsBool(true));
  const auto& endpoints = document["endpoints"].AsArray();
  ASSERT_EQ(endpoints.size(), 2u) << out_.str();
  EXPECT_EQ(endpoints[0]["host"].AsString(), "192.0.2.1");
  EXPECT_EQ(endpoints[0]["port"].AsInt(), 50051);
  EXPECT_EQ(endpoints[0]["protocol"].AsString(), "tri");
  EXPECT_EQ(endpoints[0]["app"].AsString(), "shop");
  EXPECT_EQ(endpoints[0]["weight"].AsInt(), 100);
  EXPECT_EQ(endpoints[1]["host"].AsString(), "192.0.2.2");
  EXPECT_EQ(endpoints[1]["weight"].AsInt(), 50);
}

TEST_F(ResolveTest, ProtocolNarrows) {
  auto a = Provider("shop", {"tri://192.0.2.1:50051/org.example.Echo?methods=echo",
                             "dubbo://192.0.2.1:20880/org.example.Echo?methods=echo"});
  ASSERT_EQ(Run({"resolve", "org.example.Echo", "--protocol=dubbo", "--json"}), kDone);
  const Json document = Document();
  ASSERT_EQ(document["endpoints"].AsArray().size(), 1u);
  EXPECT_EQ(document["endpoints"].AsArray()[0]["port"].AsInt(), 20880);
}

TEST_F(ResolveTest, NoMappingIsNotFoundAtOnceAndNamed) {
  auto a = Provider("shop", {"tri://192.0.2.1:50051/org.example.Echo?methods=echo"});
  EXPECT_EQ(Run({"resolve", "org.example.None", "--json", "--timeout=60s"}), kNotFound);
  EXPECT_EQ(out_.str(), "");
  EXPECT_THAT(err_.str(), HasSubstr("org.example.None"));
  EXPECT_THAT(err_.str(), HasSubstr("mapping"));
}

TEST_F(ResolveTest, ProvidedByNeedsNoMapping) {
  auto a = Provider("shop", {"tri://192.0.2.1:50051/org.example.Echo?methods=echo"});
  ASSERT_EQ(Run({"resolve", "org.example.Echo", "--provided-by=shop", "--json"}), kDone);
  EXPECT_EQ(Document()["endpoints"].AsArray().size(), 1u);
  EXPECT_EQ(Run({"resolve", "org.example.Echo", "--provided-by=nobody", "--json"}), kNotFound);
}

TEST_F(ResolveTest, TheLevelIsTheOneAskedFor) {
  const std::string plain = registry_;
  registry_ = plain + "?register-mode=interface";
  auto a = Provider("shop", {"tri://192.0.2.1:50051/org.example.Echo?methods=echo"});
  registry_ = plain + "?register-mode=instance";
  auto b = Provider("shop", {"tri://192.0.2.2:50051/org.example.Echo?methods=echo"});
  registry_ = plain;
  const struct {
    const char* level;
    const char* host;
  } kTable[] = {{"application", "192.0.2.2"}, {"interface", "192.0.2.1"}, {"dual", "192.0.2.2"}};
  for (const auto& row : kTable) {
    SCOPED_TRACE(row.level);
    ASSERT_EQ(Run({"resolve", "org.example.Echo", "--json", std::string("--level=") + row.level}),
              kDone)
        << err_.str();
    const Json document = Document();
    EXPECT_EQ(document["level"].AsString(), row.level);
    ASSERT_EQ(document["endpoints"].AsArray().size(), 1u) << out_.str();
    EXPECT_EQ(document["endpoints"].AsArray()[0]["host"].AsString(), row.host);
    EXPECT_EQ(document["endpoints"].AsArray()[0]["app"].AsString(), "shop");
  }
  // What a consumer of this URL does.
  registry_ = plain + "?mode=dual";
  ASSERT_EQ(Run({"resolve", "org.example.Echo", "--json"}), kDone) << err_.str();
  EXPECT_EQ(Document()["level"].AsString(), "dual");
  // The flag goes before the URL, whatever that says.
  registry_ = plain + "?registry-type=service";
  ASSERT_EQ(Run({"resolve", "org.example.Echo", "--json", "--level=interface"}), kDone)
      << err_.str();
  EXPECT_EQ(Document()["level"].AsString(), "interface");
}

TEST_F(ResolveTest, DualFindsWhatOneLevelHas) {
  const std::string plain = registry_;
  registry_ = plain + "?register-mode=interface";
  auto a = Provider("shop", {"tri://192.0.2.1:50051/org.example.Echo?methods=echo"});
  registry_ = plain;
  ASSERT_EQ(Run({"resolve", "org.example.Echo", "--json", "--level=dual", "--timeout=60s"}), kDone)
      << err_.str();
  EXPECT_EQ(Document()["endpoints"].AsArray().size(), 1u);
  EXPECT_EQ(Run({"resolve", "org.example.Echo", "--level=application"}), kNotFound);
  EXPECT_EQ(Run({"resolve", "org.example.None", "--level=dual", "--timeout=60s"}), kNotFound);
  EXPECT_THAT(err_.str(), HasSubstr("at interface level"));
}

TEST_F(ResolveTest, AnUnknownLevelIsWrongUsage) {
  EXPECT_EQ(Run({"resolve", "org.example.Echo", "--level=basement"}), kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("application, interface or dual"));
  EXPECT_EQ(Run({"watch", "org.example.Echo", "--level=basement"}), kUsage);
}

TEST_F(ResolveTest, WatchOfTheInterfaceLevel) {
  const std::string plain = registry_;
  registry_ = plain + "?register-mode=interface";
  auto a = Provider("shop", {"tri://192.0.2.1:50051/org.example.Echo?methods=echo"});
  registry_ = plain;
  wait_for_stop_ = [&](absl::Duration) {
    EXPECT_TRUE(Says("192.0.2.1"));
    return true;
  };
  ASSERT_EQ(Run({"watch", "org.example.Echo", "--json", "--level=interface"}), kDone) << err_.str();
}

TEST_F(ResolveTest, WatchPrintsEachChange) {
  auto a = Provider("shop", {"tri://192.0.2.1:50051/org.example.Echo?methods=echo"});
  std::unique_ptr<Client> b;
  wait_for_stop_ = [&](absl::Duration) {
    EXPECT_TRUE(Says("192.0.2.1"));
    b = Provider("shop", {"tri://192.0.2.2:50051/org.example.Echo?methods=echo"});
    EXPECT_TRUE(Says("192.0.2.2"));
    a->Shutdown(absl::ZeroDuration());
    return true;
  };
  ASSERT_EQ(Run({"watch", "org.example.Echo", "--json"}), kDone) << err_.str();
  const std::string first = out_.str().substr(0, out_.str().find('\n'));
  auto line = Json::Parse(first);
  ASSERT_TRUE(line.ok()) << out_.str();
  EXPECT_TRUE((*line)["at"].is_int());
  EXPECT_TRUE((*line)["added"].is_int());
}

}  // namespace
}  // namespace signpost::cli

#include "signpost/metadata/metadata_collector.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "signpost/common/url.h"

namespace signpost {
namespace {

using Endpoints = std::vector<std::pair<std::string, uint16_t>>;

Url ParseUrl(absl::string_view text) {
  const absl::StatusOr<Url> url = Url::Parse(text);
  EXPECT_TRUE(url.ok()) << text << url.status();
  return url.ok() ? *url : Url();
}

Url Service(absl::string_view name, absl::string_view more = "",
            absl::string_view host = "10.0.0.1", absl::string_view protocol = "tri",
            int port = 50051) {
  return ParseUrl(absl::StrCat(protocol, "://", host, ":", port, "/", name, "?interface=", name,
                               "&version=1.0.0&methods=call", more));
}

CollectedMetadata BuildOf(const std::vector<Url>& urls) {
  MetadataCollector collector("shop");
  for (const Url& url : urls) EXPECT_TRUE(collector.Add(url).ok());
  return collector.Build();
}

TEST(MetadataCollectorTest, NothingExported) {
  MetadataCollector collector("shop");
  EXPECT_TRUE(collector.dirty());
  const CollectedMetadata collected = collector.Build();
  EXPECT_FALSE(collector.dirty());
  EXPECT_EQ(collected.info.app, "shop");
  EXPECT_EQ(collected.info.revision, "0");
  EXPECT_TRUE(collected.endpoints.empty());
  EXPECT_TRUE(collected.interfaces.empty());
  EXPECT_EQ(collected.host, "");
}

TEST(MetadataCollectorTest, OneDocumentForAllServices) {
  const CollectedMetadata collected =
      BuildOf({Service("Echo", "&timestamp=20"), Service("Greet", "&timestamp=10"),
               Service("Echo", "&timestamp=30", "10.0.0.1", "dubbo", 20880)});
  EXPECT_EQ(collected.info.services.size(), 3u);
  EXPECT_EQ(collected.info.services.count("Echo:1.0.0:tri"), 1u);
  EXPECT_EQ(collected.info.services.count("Echo:1.0.0:dubbo"), 1u);
  EXPECT_EQ(collected.info.services.count("Greet:1.0.0:tri"), 1u);
  EXPECT_EQ(collected.interfaces, (std::set<std::string>{"Echo", "Greet"}));
  EXPECT_EQ(collected.endpoints, (Endpoints{{"tri", 50051}, {"dubbo", 20880}}));
  EXPECT_EQ(collected.host, "10.0.0.1");
  EXPECT_EQ(collected.instance_parameters,
            (std::map<std::string, std::string>{{"timestamp", "10"}}));
  EXPECT_TRUE(collected.warnings.empty());
  EXPECT_EQ(collected.info.revision.size(), 32u);
}

TEST(MetadataCollectorTest, LeavesOutWhatTheDocumentSaysElsewhere) {
  const CollectedMetadata collected =
      BuildOf({ParseUrl("tri://10.0.0.1:1/I?application=own"),
               ParseUrl("tri://10.0.0.1:1/J?application=shop&interface=J&side=provider&"
                        "dubbo=2.0.2&group=g&version=1&timeout=3")});
  const auto& own = collected.info.services.at("I:tri").params;
  EXPECT_EQ(own.at("application"), "own");
  const auto& filled = collected.info.services.at("g/J:1:tri").params;
  EXPECT_EQ(filled,
            (std::map<std::string, std::string>{{"application", "shop"}, {"timeout", "3"}}));
}

// Two starts of one provider: other process, other host, other order.
// TC-09
TEST(MetadataCollectorTest, RevisionIsOfTheContentAlone) {
  const std::string first = BuildOf({Service("Echo", "&pid=1&timestamp=1&bind.ip=10.0.0.1"),
                                     Service("Greet", "&pid=1&timestamp=2&bind.ip=10.0.0.1")})
                                .info.revision;
  const std::string second =
      BuildOf({Service("Greet", "&pid=7&timestamp=9&bind.ip=0.0.0.0", "10.0.0.2"),
               Service("Echo", "&pid=7&timestamp=8&bind.ip=0.0.0.0", "10.0.0.2")})
          .info.revision;
  EXPECT_EQ(first, second);
}

// TC-09
TEST(MetadataCollectorTest, RevisionComesBackWithTheContent) {
  MetadataCollector collector("shop");
  const Url echo = Service("Echo");
  ASSERT_TRUE(collector.Add(echo).ok());
  ASSERT_TRUE(collector.Add(Service("Greet")).ok());
  const std::string both = collector.Build().info.revision;
  EXPECT_TRUE(collector.Remove(echo));
  EXPECT_TRUE(collector.dirty());
  EXPECT_NE(collector.Build().info.revision, both);
  ASSERT_TRUE(collector.Add(echo).ok());
  EXPECT_EQ(collector.Build().info.revision, both);
}

TEST(MetadataCollectorTest, VariantsHaveRevisionsOfTheirOwn) {
  const std::string base = BuildOf({Service("Echo")}).info.revision;
  EXPECT_NE(BuildOf({Service("Echo").With("methods", "call,shout")}).info.revision, base);
  EXPECT_NE(BuildOf({Service("Echo", "&group=g")}).info.revision, base);
  EXPECT_NE(BuildOf({Service("Echo", "", "10.0.0.1", "dubbo")}).info.revision, base);
  EXPECT_NE(BuildOf({Service("Echo", "", "10.0.0.1", "tri", 50052)}).info.revision, base);
  EXPECT_NE(BuildOf({Service("Echo"), Service("Greet")}).info.revision, base);
}

TEST(MetadataCollectorTest, DirtyOnlyWhenSomethingChanged) {
  MetadataCollector collector("shop");
  collector.Build();
  collector.Clear();
  EXPECT_FALSE(collector.dirty());
  EXPECT_FALSE(collector.Remove(Service("Echo")));
  EXPECT_FALSE(collector.dirty());
  ASSERT_TRUE(collector.Add(Service("Echo")).ok());
  EXPECT_TRUE(collector.dirty());
  collector.Build();
  ASSERT_TRUE(collector.Add(Service("Echo")).ok());
  EXPECT_FALSE(collector.dirty());
  EXPECT_EQ(collector.size(), 1u);
  collector.Clear();
  EXPECT_TRUE(collector.dirty());
  EXPECT_EQ(collector.Build().info.revision, "0");
}

TEST(MetadataCollectorTest, TwoPortsForOneProtocol) {
  const CollectedMetadata collected =
      BuildOf({Service("Echo"), Service("Greet", "", "10.0.0.1", "tri", 50052)});
  EXPECT_EQ(collected.endpoints, (Endpoints{{"tri", 50051}}));
  EXPECT_EQ(collected.info.services.at("Echo:1.0.0:tri").port, 50051);
  EXPECT_EQ(collected.info.services.at("Greet:1.0.0:tri").port, 50052);
  ASSERT_EQ(collected.warnings.size(), 1u);
  EXPECT_TRUE(absl::StrContains(collected.warnings[0], "50051 and 50052")) << collected.warnings[0];
}

TEST(MetadataCollectorTest, OfOneServiceTwiceTheFirstCounts) {
  MetadataCollector collector("shop");
  const Url first = Service("Echo", "&weight=1");
  const Url second = Service("Echo", "&weight=2");
  ASSERT_TRUE(collector.Add(first).ok());
  ASSERT_TRUE(collector.Add(second).ok());
  CollectedMetadata collected = collector.Build();
  EXPECT_EQ(collected.info.services.at("Echo:1.0.0:tri").params.at("weight"), "1");
  // It changes: the new URL comes before the old one goes.
  EXPECT_TRUE(collected.warnings.empty()) << collected.warnings[0];
  ASSERT_TRUE(collector.Remove(first));
  collected = collector.Build();
  EXPECT_EQ(collected.info.services.at("Echo:1.0.0:tri").params.at("weight"), "2");
  EXPECT_TRUE(collected.warnings.empty());
}

TEST(MetadataCollectorTest, OfOneServiceAtTwoAddressesIsWarned) {
  CollectedMetadata collected = BuildOf({Service("Echo"), Service("Echo", "", "10.0.0.2")});
  ASSERT_EQ(collected.warnings.size(), 1u);
  EXPECT_TRUE(absl::StrContains(collected.warnings[0], "more than once; the first URL counts, not"))
      << collected.warnings[0];
  collected = BuildOf({Service("Echo"), Service("Echo", "", "10.0.0.1", "tri", 50052)});
  ASSERT_EQ(collected.warnings.size(), 2u);  // that of the ports too
  EXPECT_EQ(collected.info.services.at("Echo:1.0.0:tri").port, 50051);
  // Of another protocol it is another export.
  EXPECT_TRUE(
      BuildOf({Service("Echo"), Service("Echo", "", "10.0.0.1", "dubbo", 20880)}).warnings.empty());
}

TEST(MetadataCollectorTest, ServicesThatDisagreeAboutTheInstance) {
  const CollectedMetadata collected =
      BuildOf({Service("Echo", "&heartbeat.timeout=1"), Service("Greet", "&heartbeat.timeout=2")});
  EXPECT_EQ(collected.instance_parameters.at("heartbeat.timeout"), "1");
  EXPECT_EQ(collected.warnings.size(), 1u);
}

TEST(MetadataCollectorTest, PathThatIsNotTheInterfaceIsSaid) {
  const CollectedMetadata collected = BuildOf({ParseUrl("tri://10.0.0.1:1/echo?interface=Echo")});
  EXPECT_EQ(collected.info.services.at("Echo:tri").path, "echo");
  EXPECT_EQ(collected.warnings.size(), 1u);
}

TEST(MetadataCollectorTest, HostOfIpv6HasNoBrackets) {
  EXPECT_EQ(BuildOf({Service("Echo", "", "[::1]")}).host, "::1");
}

TEST(MetadataCollectorTest, WhatCannotBeReachedIsNoExport) {
  MetadataCollector collector("shop");
  Url::Parts parts = Service("Echo").parts();
  parts.port = 0;
  EXPECT_EQ(collector.Add(Url(parts)).code(), absl::StatusCode::kInvalidArgument);
  parts = Service("Echo").parts();
  parts.host.clear();
  EXPECT_EQ(collector.Add(Url(parts)).code(), absl::StatusCode::kInvalidArgument);
  parts = Service("Echo").parts();
  parts.protocol.clear();
  EXPECT_EQ(collector.Add(Url(parts)).code(), absl::StatusCode::kInvalidArgument);
  parts = Service("Echo").parts();
  parts.path.clear();
  parts.parameters.clear();
  EXPECT_EQ(collector.Add(Url(parts)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(collector.size(), 0u);
}

}  // namespace
}  // namespace signpost

#include "signpost/metadata/published_metadata.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "signpost/common/manual_executor.h"

namespace signpost {
namespace {

MetadataInfo InfoOf(const std::string& revision) {
  MetadataInfo info;
  info.app = "shop";
  info.revision = revision;
  return info;
}

class PublishedMetadataTest : public testing::Test {
 protected:
  SimulatedClock clock_;
  PublishedMetadata published_{"shop", clock_};
};

TEST_F(PublishedMetadataTest, AnUnknownRevisionIsAnError) {
  EXPECT_TRUE(absl::IsNotFound(published_.GetMetadataInfo("r1").status()));
  published_.Publish(InfoOf("r1"), {});
  EXPECT_TRUE(published_.GetMetadataInfo("r1").ok());
  const absl::Status unknown = published_.GetMetadataInfo("r2").status();
  EXPECT_TRUE(absl::IsNotFound(unknown));
  EXPECT_NE(unknown.message().find("r2"), std::string::npos);
}

TEST_F(PublishedMetadataTest, OldRevisionsAreAnsweredForAWhile) {
  for (int i = 0; i < 40; ++i) published_.Publish(InfoOf(absl::StrCat("r", i)), {});
  EXPECT_EQ(published_.MetadataInfos().size(), 40u);  // young
  clock_.Advance(absl::Minutes(11));
  published_.Publish(InfoOf("last"), {});
  EXPECT_EQ(published_.MetadataInfos().size(), 16u);
  EXPECT_EQ(published_.MetadataInfos().back()->revision, "last");
  EXPECT_FALSE(published_.GetMetadataInfo("r24").ok());
  EXPECT_TRUE(published_.GetMetadataInfo("r39").ok());
}

TEST_F(PublishedMetadataTest, ARevisionThatComesBackIsTheNewest) {
  published_.Publish(InfoOf("r1"), {});
  published_.Publish(InfoOf("r2"), {});
  published_.Publish(InfoOf("r1"), {});
  ASSERT_EQ(published_.MetadataInfos().size(), 2u);
  EXPECT_EQ(published_.MetadataInfos().back()->revision, "r1");
}

TEST_F(PublishedMetadataTest, ExportedUrlsByAnyOfTheFour) {
  const Url a = *Url::Parse("tri://192.0.2.1:1/a.A?group=g&version=1");
  const Url b = *Url::Parse("dubbo://192.0.2.1:2/a.A?group=g&version=2");
  const Url c = *Url::Parse("tri://192.0.2.1:1/a.C");
  published_.Publish(InfoOf("r1"), {c, b, a});
  EXPECT_EQ(published_.ExportedUrls({}).size(), 3u);
  EXPECT_EQ(published_.ExportedUrls({"*", "", "", "tri"}).size(), 2u);
  EXPECT_EQ(published_.ExportedUrls({"a.A", "g", "", ""}),
            (std::vector<std::string>{b.ToFullString(), a.ToFullString()}));
  EXPECT_EQ(published_.ExportedUrls({"a.A", "g", "1", ""}),
            std::vector<std::string>{a.ToFullString()});
  EXPECT_TRUE(published_.ExportedUrls({"a.B", "", "", ""}).empty());
}

TEST_F(PublishedMetadataTest, SubscribedUrlsOnceEachUntilTheLastIsGone) {
  const Url d = *Url::Parse("consumer://192.0.2.1/a.D");
  published_.AddSubscribed(d);
  published_.AddSubscribed(d);
  EXPECT_EQ(published_.SubscribedUrls(), std::vector<std::string>{"consumer://192.0.2.1/a.D"});
  published_.RemoveSubscribed(d);
  EXPECT_EQ(published_.SubscribedUrls().size(), 1u);
  published_.RemoveSubscribed(d);
  published_.RemoveSubscribed(d);
  EXPECT_TRUE(published_.SubscribedUrls().empty());
}

}  // namespace
}  // namespace signpost

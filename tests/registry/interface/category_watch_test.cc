#include "signpost/registry/interface/category_watch.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/registry/interface/interface_test.h"
#include "tests/support/kept_log.h"

namespace signpost {
namespace {

using interface_internal::CategoryWatch;
using interface_internal::DecodeNodeName;
using registry_internal::CallbackGuard;

class CategoryWatchTest : public InterfaceTest, public CategoryWatch::Listener {
 protected:
  void OnUrls(CategoryWatch&, const CategoryWatch::Changes& changes) override {
    ++calls_;
    added_ += changes.added.size();
    removed_ += changes.removed.size();
  }
  void Watch(const std::string& path) {
    watch_ = std::make_shared<CategoryWatch>(*admin_, CallbackGuard(), path);
    watch_->AddListener(this);
    watch_->Start();
    executor_->RunUntilIdle();
  }
  ~CategoryWatchTest() override { watch_.reset(); }

  std::shared_ptr<CategoryWatch> watch_;
  int calls_ = 0;
  size_t added_ = 0;
  size_t removed_ = 0;
};

// TC-03
TEST_F(CategoryWatchTest, NamesOfBothFormsGiveEqualUrls) {
  const std::string folder = "/dubbo/org.example.Echo/configurators/";
  Put(folder +
      "override%3A%2F%2F192.0.2.7%2Forg.example.Echo%3Fcategory%3Dconfigurators%26"
      "weight%3D0");
  Put(folder + "override%3A%2F%2F192.0.2.7%2Forg.example.Echo?category=configurators&weight=0");
  Put(folder + "override%3A%2F%2F%zz%3Ftoken%3Dsesame");
  const KeptLog log;
  Watch("/dubbo/org.example.Echo/configurators");
  ASSERT_EQ(watch_->urls().size(), 2u);
  const Url& first = watch_->urls().begin()->second;
  EXPECT_EQ(first, watch_->urls().rbegin()->second);
  EXPECT_EQ(first.protocol(), "override");
  EXPECT_EQ(first.host(), "192.0.2.7");
  EXPECT_EQ(first.Get("weight"), "0");
  // One warning, which shows the name.
  ASSERT_EQ(log.lines().size(), 1u) << log.text();
  EXPECT_TRUE(absl::StrContains(log.text(), "override://%zz?token=***")) << log.text();
  Put(folder + "other");
  Put(folder + "absent%3A%2F%2F0.0.0.0%2Fx");
  EXPECT_EQ(log.lines().size(), 2u) << log.text();
  EXPECT_EQ(watch_->urls().size(), 3u);
}

TEST_F(CategoryWatchTest, ANameIsParsedOnce) {
  for (int i = 0; i < 100; ++i) PutProvider(absl::StrCat("tri://192.0.2.1:", i + 1, "/a.A"));
  Watch(kProviders);
  EXPECT_EQ(watch_->parsed(), 100u);
  EXPECT_EQ(added_, 100u);
  PutProvider("tri://192.0.2.2:1/a.A");
  Delete(PathOf("tri://192.0.2.1:7/a.A"));
  PutProvider("tri://192.0.2.1:8/a.A");  // written anew
  EXPECT_EQ(watch_->parsed(), 101u);
  EXPECT_EQ(added_, 101u);
  EXPECT_EQ(removed_, 1u);
  local_->SetOffline(true);
  executor_->AdvanceAndRun(absl::Seconds(1));
  EXPECT_FALSE(watch_->error().ok());
  EXPECT_EQ(watch_->urls().size(), 100u);
  local_->SetOffline(false);
  executor_->AdvanceAndRun(absl::Seconds(10));
  EXPECT_TRUE(watch_->error().ok());
  local_->ExpireSession(*admin_);
  executor_->AdvanceAndRun(absl::Seconds(10));
  EXPECT_EQ(watch_->parsed(), 101u);
  EXPECT_EQ(watch_->urls().size(), 100u);
}

TEST_F(CategoryWatchTest, AnEmptyFolderIsKnownToBeEmpty) {
  Watch(kProviders);
  EXPECT_TRUE(watch_->known());
  EXPECT_EQ(calls_, 1);
  EXPECT_TRUE(watch_->urls().empty());
}

TEST(DecodeNodeNameTest, HostileNamesAreRefusedOrRead) {
  for (const std::string& name :
       {std::string(), std::string("%"), std::string("192.0.2.1%3A20880"), std::string("a.A"),
        std::string("%00"), std::string("tri%3A%2F%2F%FF"), std::string("tri%3A%2F%2Fh%3A99999"),
        std::string(1 << 20, '%'), std::string(1 << 20, '?'), std::string(1 << 16, 'a') + "%"}) {
    EXPECT_FALSE(DecodeNodeName(name).ok()) << name.substr(0, 50);
  }
  std::string many = "tri%3A%2F%2Fh%3A1%2Fa.A%3F";
  for (int i = 0; i < 10000; ++i) absl::StrAppend(&many, "k", i, "%3Dv%26");
  const auto url = DecodeNodeName(many);
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url->parameters().size(), 10000u);
  EXPECT_TRUE(DecodeNodeName("tri%3a%2f%2fh%3a1%2fa.A%3fx%3d1").ok());
}

}  // namespace
}  // namespace signpost

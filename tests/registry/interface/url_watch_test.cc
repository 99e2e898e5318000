// WatchUrls: what configurators and tools are fed with.
#include "signpost/registry/interface/url_watch.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/registry/interface/interface_test.h"
#include "tests/support/forwarding_store.h"
#include "tests/support/kept_log.h"

namespace signpost {
namespace {

constexpr char kRule[] = "override://0.0.0.0/org.example.Echo?category=configurators&weight=7";
constexpr char kProvider[] = "tri://192.0.2.1:1/org.example.Echo?application=shop";

class UrlWatchTest : public InterfaceTest {
 protected:
  Subscription Watch(const Url& consumer) {
    Subscription watch =
        process_->registry->WatchUrls(consumer, [this](absl::StatusOr<std::vector<Url>> urls) {
          if (!urls.ok()) {
            errors_.push_back(urls.status());
            return;
          }
          Texts texts;
          for (const Url& url : *urls) texts.push_back(url.ToFullString());
          told_.push_back(std::move(texts));
        });
    executor_->RunUntilIdle();
    return watch;
  }
  void PutRule(const std::string& url = kRule) {
    Put("/dubbo/org.example.Echo/configurators/" + FormEncode(url));
  }
  static std::string Empty(const std::string& category,
                           const std::string& interface_name = "org.example.Echo") {
    return "empty://192.0.2.99/" + interface_name + "?category=" + category +
           "&interface=" + interface_name;
  }

  std::unique_ptr<Process> process_ = Start();
  std::vector<Texts> told_;
  std::vector<absl::Status> errors_;
};

TEST_F(UrlWatchTest, AllCategoriesAtFirstThenThoseThatChanged) {
  PutProvider(kProvider);
  const Subscription watch = Watch(Consumer("&category=providers,configurators,routers"));
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0].size(), 3u);
  EXPECT_EQ(told_[0][0], kProvider);
  EXPECT_EQ(told_[0][1], Empty("configurators"));
  EXPECT_EQ(told_[0][2], Empty("routers"));
  PutRule();
  ASSERT_EQ(told_.size(), 2u);
  EXPECT_EQ(told_[1], Texts{kRule});
  Delete("/dubbo/org.example.Echo/configurators/" + FormEncode(kRule));
  ASSERT_EQ(told_.size(), 3u);
  EXPECT_EQ(told_[2], Texts{Empty("configurators")});
  Delete(PathOf(kProvider));
  ASSERT_EQ(told_.size(), 4u);
  EXPECT_EQ(told_[3], Texts{Empty("providers")});
  EXPECT_TRUE(errors_.empty());
}

TEST_F(UrlWatchTest, WhatDoesNotMatchIsNoNews) {
  const Subscription watch = Watch(Consumer("&category=configurators&group=g"));
  ASSERT_EQ(told_.size(), 1u);
  PutRule();
  EXPECT_EQ(told_.size(), 1u);
  PutRule(std::string(kRule) + "&group=g");
  EXPECT_EQ(told_.size(), 2u);
  EXPECT_EQ(told_.back().size(), 1u);
}

TEST_F(UrlWatchTest, EmptyProtectionIsForProviders) {
  process_ = Start("enable-empty-protection=true");
  PutProvider(kProvider);
  const Subscription watch = Watch(Consumer("&category=providers,configurators"));
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0], (Texts{kProvider, Empty("configurators")}));
  Delete(PathOf(kProvider));
  EXPECT_EQ(told_.size(), 1u);
  PutRule();
  EXPECT_EQ(told_.size(), 2u);
}

TEST_F(UrlWatchTest, AProvidersSubscription) {
  PutRule();
  const Subscription watch = Watch(
      *Url::Parse("provider://192.0.2.1:1/org.example.Echo?category=configurators&check=false"));
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0], Texts{kRule});
}

TEST_F(UrlWatchTest, AllInterfacesAlsoThoseThatComeLater) {
  PutProvider(kProvider);
  Put("/dubbo/org.example.Other%24Inner/providers/" +
      FormEncode("tri://192.0.2.2:1/org.example.Other$Inner"));
  Put("/dubbo/metadata/shop/r1");
  Put("/dubbo/mapping/org.example.Echo");
  Put("/dubbo/config/dubbo/x");
  Put("/dubbo/shop/r1");  // where dubbo-go reads documents
  const Subscription watch = Watch(
      *Url::Parse("consumer://192.0.2.99/*?interface=*&category=providers&group=*&version=*"));
  ASSERT_EQ(told_.size(), 1u);
  ASSERT_EQ(told_[0].size(), 3u);
  EXPECT_EQ(told_[0][0], kProvider);
  EXPECT_EQ(told_[0][1], "tri://192.0.2.2:1/org.example.Other$Inner");
  EXPECT_EQ(told_[0][2].substr(0, 23), "empty://192.0.2.99/shop");
  Put("/dubbo/org.example.New/providers/" + FormEncode("tri://192.0.2.3:1/org.example.New"));
  ASSERT_GE(told_.size(), 2u);
  EXPECT_EQ(told_.back(), Texts{"tri://192.0.2.3:1/org.example.New"});
  // It goes, with its folder, and comes back.
  Delete(PathOf(kProvider));
  EXPECT_EQ(told_.back().at(0).substr(0, 35), "empty://192.0.2.99/org.example.Echo");
  PutProvider(kProvider);
  EXPECT_EQ(told_.back(), Texts{kProvider});
}

TEST_F(UrlWatchTest, NoInterfaceAtAllIsAnAnswerToo) {
  const Subscription watch = Watch(*Url::Parse("consumer://192.0.2.99/*?category=*"));
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_TRUE(told_[0].empty());
}

TEST_F(UrlWatchTest, ErrorsAreToldAndTheWatchGoesOn) {
  local_->SetOffline(true);
  const Subscription watch = Watch(Consumer());
  ASSERT_EQ(errors_.size(), 1u);
  EXPECT_TRUE(absl::IsUnavailable(errors_[0]));
  EXPECT_TRUE(told_.empty());
  // Another one is told what the first knows.
  const Subscription second = Watch(Consumer());
  EXPECT_EQ(errors_.size(), 2u);
  local_->SetOffline(false);
  executor_->AdvanceAndRun(absl::Seconds(10));
  ASSERT_EQ(told_.size(), 2u);
  EXPECT_EQ(told_[0], Texts{Empty("providers").substr(0, 35) +
                            "?category=providers&interface=" + "org.example.Echo"});
  local_->SetOffline(true);
  executor_->AdvanceAndRun(absl::Seconds(1));
  local_->SetOffline(false);
  executor_->AdvanceAndRun(absl::Seconds(10));
  EXPECT_EQ(errors_.size(), 4u);
  EXPECT_EQ(told_.size(), 4u);
}

// A Store that refuses some watches, until they recover.
class PickyTrees final : public ForwardingStore {
 public:
  PickyTrees(std::unique_ptr<Store> target, Executor& executor)
      : ForwardingStore(std::move(target)), executor_(executor) {}

  Subscription WatchTree(const std::string& prefix, TreeCallback on_change,
                         TreeContent content) override {
    auto refusal = refused.find(prefix);
    if (refusal == refused.end()) {
      return ForwardingStore::WatchTree(prefix, std::move(on_change), content);
    }
    auto callback = std::make_shared<TreeCallback>(std::move(on_change));
    kept_[prefix] = callback;
    executor_.Post([callback, why = refusal->second] { (*callback)(why); });
    return Subscription([] {});
  }
  void Recover(const std::string& prefix) {
    recovered_.push_back(ForwardingStore::WatchTree(
        prefix,
        [callback = kept_.at(prefix)](absl::StatusOr<TreeDelta> delta) {
          (*callback)(std::move(delta));
        },
        TreeContent::kNames));
  }

  std::map<std::string, absl::Status> refused;

 private:
  Executor& executor_;
  std::map<std::string, std::shared_ptr<TreeCallback>> kept_;
  std::vector<Subscription> recovered_;
};

class PickyUrlWatchTest : public UrlWatchTest {
 protected:
  PickyUrlWatchTest() {
    auto owned = std::make_unique<PickyTrees>(NewLocalStore(local_, executor_), *executor_);
    store_ = owned.get();
    process_ = Start("", std::move(owned));
  }
  static Url All() {
    return *Url::Parse("consumer://192.0.2.99/*?interface=*&category=providers&group=*&version=*");
  }
  void Refuse(const std::string& folder) {
    store_->refused[folder] = absl::ResourceExhaustedError(folder + ": too many watches");
  }

  PickyTrees* store_ = nullptr;
};

TEST_F(PickyUrlWatchTest, AnInterfaceThatCannotBeReadHoldsUpNoOther) {
  const std::string folder = "/dubbo/org.example.Other/providers";
  const std::string other = "tri://192.0.2.2:1/org.example.Other";
  PutProvider(kProvider);
  Put(folder + "/" + FormEncode(other));
  Refuse(folder);
  const Subscription watch = Watch(All());
  ASSERT_EQ(errors_.size(), 1u);
  EXPECT_TRUE(absl::IsResourceExhausted(errors_[0])) << errors_[0];
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0], Texts{kProvider});
  // Of those that come later too.
  Refuse("/dubbo/org.example.Third/providers");
  Put("/dubbo/org.example.Third/providers/" + FormEncode("tri://192.0.2.3:1/org.example.Third"));
  EXPECT_EQ(errors_.size(), 2u);
  EXPECT_EQ(told_.size(), 1u);
  store_->Recover(folder);
  executor_->RunUntilIdle();
  ASSERT_EQ(told_.size(), 2u);
  EXPECT_EQ(told_[1], Texts{other});
  store_->Recover("/dubbo/org.example.Third/providers");
  executor_->RunUntilIdle();
  ASSERT_EQ(told_.size(), 3u);
  EXPECT_EQ(told_[2], Texts{"tri://192.0.2.3:1/org.example.Third"});
}

TEST_F(PickyUrlWatchTest, ACategoryThatCannotBeReadHoldsUpNoOther) {
  PutProvider(kProvider);
  Refuse("/dubbo/org.example.Echo/configurators");
  const Subscription watch = Watch(Consumer("&category=providers,configurators"));
  EXPECT_EQ(errors_.size(), 1u);
  ASSERT_EQ(told_.size(), 1u);
  // Not an `empty` one: there may be rules.
  EXPECT_EQ(told_[0], Texts{kProvider});
  store_->Recover("/dubbo/org.example.Echo/configurators");
  executor_->RunUntilIdle();
  ASSERT_EQ(told_.size(), 2u);
  EXPECT_EQ(told_[1], Texts{Empty("configurators")});
}

TEST_F(PickyUrlWatchTest, NothingIsDeliveredWhereNothingCanBeRead) {
  PutProvider(kProvider);
  Refuse(kProviders);
  const Subscription watch = Watch(All());
  EXPECT_EQ(errors_.size(), 1u);
  EXPECT_TRUE(told_.empty());
  store_->Recover(kProviders);
  executor_->RunUntilIdle();
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0], Texts{kProvider});
}

TEST_F(UrlWatchTest, AnInterfaceWhoseFolderGoesIsForgotten) {
  const std::string other =
      "/dubbo/org.example.Other/providers/" + FormEncode("tri://192.0.2.2:1/org.example.Other");
  PutProvider(kProvider);
  const Subscription watch =
      Watch(*Url::Parse("consumer://192.0.2.99/*?interface=*&category=providers"));
  const size_t watches = local_->watch_count();
  for (int round = 0; round < 3; ++round) {
    told_.clear();
    Put(other);
    ASSERT_EQ(told_.size(), 1u);
    EXPECT_EQ(told_[0], Texts{"tri://192.0.2.2:1/org.example.Other"});
    EXPECT_EQ(local_->watch_count(), watches + 1);
    Delete(other);
    ASSERT_EQ(told_.size(), 2u);
    EXPECT_EQ(told_[1].size(), 1u);
    EXPECT_TRUE(absl::StartsWith(told_[1][0], "empty://192.0.2.99/org.example.Other"));
    executor_->RunUntilIdle();
    EXPECT_EQ(local_->watch_count(), watches);
  }
  EXPECT_TRUE(errors_.empty());
}

TEST_F(UrlWatchTest, ThousandsOfInterfacesAreOneDelivery) {
  constexpr size_t kInterfaces = 3000;
  for (size_t i = 0; i < kInterfaces; ++i) {
    const std::string name = absl::StrCat("org.example.S", i);
    Put(absl::StrCat("/dubbo/", name, "/providers/", FormEncode("tri://192.0.2.1:1/" + name)));
  }
  const Subscription watch =
      Watch(*Url::Parse("consumer://192.0.2.99/*?interface=*&category=providers,configurators"));
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0].size(), 2 * kInterfaces);
}

// Whoever made the folder may have encoded its name in another way, or not at all.
TEST_F(UrlWatchTest, FoldersAreWatchedByTheNameThatTheyHave) {
  const std::string inner = "tri://192.0.2.1:1/org.example.Outer$Inner";
  Put("/dubbo/org.example.Outer$Inner/providers/" + FormEncode(inner));
  Put("/dubbo/org%2eexample%2eLower/providers/" +
      FormEncode("tri://192.0.2.2:1/org.example.Lower"));
  Put("/dubbo/bad%zz/providers/x");
  const KeptLog log;
  const Subscription watch =
      Watch(*Url::Parse("consumer://192.0.2.99/*?interface=*&category=providers"));
  ASSERT_EQ(told_.size(), 1u);
  Texts told = told_[0];
  std::sort(told.begin(), told.end());
  EXPECT_EQ(told, (Texts{inner, "tri://192.0.2.2:1/org.example.Lower"}));
  ASSERT_EQ(log.lines().size(), 1u) << log.text();
  EXPECT_TRUE(absl::StrContains(log.text(), "/dubbo/bad%zz: skipped")) << log.text();
  // A look at the root for another reason does not warn again.
  Put("/dubbo/org.example.New/providers/" + FormEncode("tri://192.0.2.3:1/org.example.New"));
  EXPECT_EQ(log.lines().size(), 1u) << log.text();
}

TEST_F(UrlWatchTest, BadConsumersAreToldSo) {
  for (const char* url : {"consumer://192.0.2.9", "consumer://192.0.2.9/a.A?category=../x"}) {
    errors_.clear();
    const Subscription watch = Watch(*Url::Parse(url));
    ASSERT_EQ(errors_.size(), 1u) << url;
    EXPECT_TRUE(absl::IsInvalidArgument(errors_[0]));
  }
}

TEST_F(UrlWatchTest, NothingAfterCancel) {
  const size_t before = local_->watch_count();
  {
    const Subscription watch = Watch(*Url::Parse("consumer://192.0.2.99/*?category=*"));
    PutProvider(kProvider);
  }
  const size_t told = told_.size();
  executor_->RunUntilIdle();
  EXPECT_EQ(local_->watch_count(), before);
  PutRule();
  EXPECT_EQ(told_.size(), told);
}

TEST_F(UrlWatchTest, ACallbackMayCancelItself) {
  Subscription watch;
  int calls = 0;
  watch = process_->registry->WatchUrls(Consumer(), [&](absl::StatusOr<std::vector<Url>>) {
    ++calls;
    watch.Cancel();
  });
  executor_->RunUntilIdle();
  PutProvider(kProvider);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace signpost

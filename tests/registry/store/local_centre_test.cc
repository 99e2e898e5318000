#include "signpost/registry/store/local_centre.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "signpost/common/manual_executor.h"
#include "signpost/registry/store/key_value.h"

namespace signpost {
namespace {

constexpr int kAll = 1 << 30;

// A disk that fails when it is told to.
struct Faults {
  int writes = 0;  // so many more writes fail
  bool reads = false;
};

class FaultyKeyValue final : public KeyValue {
 public:
  explicit FaultyKeyValue(std::shared_ptr<Faults> faults) : faults_(std::move(faults)) {}

  int64_t last_version() const override { return map_.last_version(); }
  absl::StatusOr<std::optional<Record>> Get(const std::string& key) const override {
    if (faults_->reads) return absl::UnavailableError("read error");
    return map_.Get(key);
  }
  absl::Status Write(const std::vector<Change>& changes, int64_t last_version) override {
    if (faults_->writes > 0) {
      --faults_->writes;
      return absl::UnavailableError("disk full");
    }
    return map_.Write(changes, last_version);
  }
  absl::Status Scan(const std::string& prefix, Visitor visit) const override {
    if (faults_->reads) return absl::UnavailableError("read error");
    return map_.Scan(prefix, visit);
  }

 private:
  const std::shared_ptr<Faults> faults_;
  MapKeyValue map_;
};

class LocalCentreTest : public testing::Test {
 protected:
  LocalCentreTest() {
    LocalCentre::Options options;
    options.name = "test";
    centre_ = std::make_shared<LocalCentre>(std::make_unique<FaultyKeyValue>(faults_), options);
    mine_ = Open();
  }

  std::unique_ptr<Store> Open() { return NewLocalStore(centre_, executor_, LocalAnswers::kAtOnce); }
  static bool Bind(Store& store, const std::string& key) {
    bool good = false;
    store.CreateSessionBound(key, "bound", absl::Seconds(1), CallOptions(),
                             [&](auto version) { good = version.ok(); });
    return good;
  }
  static bool Put(Store& store, const std::string& key) {
    bool good = false;
    store.Put(key, "put", CallOptions(), [&](auto version) { good = version.ok(); });
    return good;
  }
  bool Exists(const std::string& key) {
    bool there = false;
    mine_->Exists(key, CallOptions(), [&](absl::StatusOr<bool> answer) { there = *answer; });
    return there;
  }

  SimulatedClock clock_;
  std::shared_ptr<ManualExecutor> executor_ = std::make_shared<ManualExecutor>(clock_);
  std::shared_ptr<Faults> faults_ = std::make_shared<Faults>();
  std::shared_ptr<LocalCentre> centre_;
  std::unique_ptr<Store> mine_;
};

TEST_F(LocalCentreTest, KeysOfASessionThatEndedOnAFullDiskGoWithTheNextWrite) {
  auto dead = Open();
  ASSERT_TRUE(Bind(*dead, "/p/dead"));
  std::vector<std::string> removed;
  const Subscription watch = mine_->WatchTree("/p", [&](absl::StatusOr<TreeDelta> delta) {
    for (const std::string& name : delta->removed) removed.push_back(name);
  });
  executor_->RunUntilIdle();
  faults_->writes = kAll;
  dead->Close();
  EXPECT_FALSE(Put(*mine_, "/other"));
  executor_->RunUntilIdle();
  EXPECT_TRUE(Exists("/p/dead"));
  EXPECT_TRUE(removed.empty());
  faults_->writes = 0;
  EXPECT_TRUE(Put(*mine_, "/other"));
  executor_->RunUntilIdle();
  EXPECT_FALSE(Exists("/p/dead"));
  EXPECT_EQ(removed, std::vector<std::string>{"dead"});
}

TEST_F(LocalCentreTest, KeysOfASessionThatEndedOnAFullDiskGoWhenAnotherOpensOrCloses) {
  auto other = Open();
  for (const bool open : {true, false}) {
    auto dead = Open();
    ASSERT_TRUE(Bind(*dead, "/dead"));
    faults_->writes = kAll;
    centre_->ExpireSession(*dead);
    EXPECT_TRUE(Exists("/dead"));
    faults_->writes = 0;
    if (open) {
      const auto opened = Open();
      EXPECT_FALSE(Exists("/dead"));
    } else {
      other->Close();
      EXPECT_FALSE(Exists("/dead"));
    }
  }
}

TEST_F(LocalCentreTest, KeysOfASessionThatEndedOnAFullDiskGoWhenToldTo) {
  auto dead = Open();
  ASSERT_TRUE(Bind(*dead, "/dead"));
  faults_->writes = 2;
  dead->Close();
  centre_->DropEnded();
  EXPECT_TRUE(Exists("/dead"));
  centre_->DropEnded();
  EXPECT_FALSE(Exists("/dead"));
}

// A call that runs while a server stops.
TEST_F(LocalCentreTest, WhatIsBoundAfterLeaveBehindIsLeftBehindToo) {
  auto leaving = Open();
  ASSERT_TRUE(Bind(*leaving, "/before"));
  centre_->LeaveBehind(*leaving);
  ASSERT_TRUE(Bind(*leaving, "/after"));
  leaving->Close();
  EXPECT_TRUE(Exists("/before"));
  EXPECT_TRUE(Exists("/after"));
  auto next = Open();
  ASSERT_TRUE(centre_->AdoptLeftBehind(*next).ok());
  next->Close();
  EXPECT_FALSE(Exists("/before"));
  EXPECT_FALSE(Exists("/after"));
}

TEST_F(LocalCentreTest, WhatOthersWroteMeanwhileStays) {
  auto dead = Open();
  for (const char* key : {"/put", "/bound", "/set", "/dead"}) ASSERT_TRUE(Bind(*dead, key));
  faults_->writes = 1;
  dead->Close();
  // In each of these the delete of the rest fails once more, and the write does not.
  faults_->writes = 1;
  EXPECT_TRUE(Put(*mine_, "/put"));
  faults_->writes = 1;
  EXPECT_TRUE(Bind(*mine_, "/bound"));
  faults_->writes = 1;
  // Stays bound to the session that is gone.
  mine_->CompareAndSet("/set", "set", Store::kAnyVersion, CallOptions(),
                       [](auto version) { EXPECT_TRUE(version.ok()); });
  EXPECT_TRUE(Exists("/set"));
  EXPECT_TRUE(Exists("/dead"));
  Open()->Close();
  EXPECT_TRUE(Exists("/put"));
  EXPECT_TRUE(Exists("/bound"));
  EXPECT_FALSE(Exists("/set"));
  EXPECT_FALSE(Exists("/dead"));
}

TEST_F(LocalCentreTest, AWatchReadsAgainAfterAReadError) {
  ASSERT_TRUE(Put(*mine_, "/p/k"));
  std::vector<absl::Status> values, deltas;
  Subscription value =
      mine_->Watch("/p/k", [&](absl::StatusOr<StoreValue> v) { values.push_back(v.status()); });
  Subscription tree =
      mine_->WatchTree("/p", [&](absl::StatusOr<TreeDelta> d) { deltas.push_back(d.status()); });
  faults_->reads = true;
  executor_->RunUntilIdle();
  for (auto* told : {&values, &deltas}) {
    ASSERT_EQ(told->size(), 1u);
    EXPECT_TRUE(absl::IsUnavailable(told->back())) << told->back();
  }
  // Told once, tried on.
  executor_->AdvanceAndRun(absl::Seconds(30));
  faults_->reads = false;
  executor_->AdvanceAndRun(absl::Seconds(5));
  for (auto* told : {&values, &deltas}) {
    ASSERT_EQ(told->size(), 2u);
    EXPECT_TRUE(told->back().ok()) << told->back();
  }
  EXPECT_EQ(executor_->pending_timers(), 0u);
}

TEST_F(LocalCentreTest, TheRetryGoesWithItsWatch) {
  auto other = Open();
  Subscription watch = mine_->Watch("/k", [](auto) {});
  Subscription tree = other->WatchTree("/k", [](auto) {});
  faults_->reads = true;
  executor_->RunUntilIdle();
  EXPECT_EQ(executor_->pending_timers(), 2u);
  watch = Subscription();
  EXPECT_EQ(executor_->pending_timers(), 1u);
  other->Close();
  EXPECT_EQ(executor_->pending_timers(), 0u);
}

}  // namespace
}  // namespace signpost

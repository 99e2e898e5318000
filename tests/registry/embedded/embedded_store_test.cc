#include "signpost/registry/embedded/embedded_store.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "signpost/common/executor.h"
#include "signpost/common/url.h"
#include "signpost/registry/store/local_centre.h"
#include "signpost/registry/store/store.h"
#include "tests/conformance/store_suite.h"

namespace signpost {
namespace {

std::string NewDir() {
  static std::atomic<int> next = 0;
  return std::filesystem::canonical(testing::TempDir()).string() + "/embedded" +
         std::to_string(getpid()) + "-" + std::to_string(next++);
}

class EmbeddedFixture final : public StoreFixture {
 public:
  explicit EmbeddedFixture(std::string dir = NewDir(), bool read_only = false)
      : centre_(*EmbeddedCentre(dir, read_only)), dir_(std::move(dir)) {}
  std::unique_ptr<Store> Open(std::shared_ptr<Executor> executor) override {
    return NewLocalStore(centre_, std::move(executor));
  }
  bool ExpireSession(Store& store) override {
    centre_->ExpireSession(store);
    return true;
  }
  bool Restart() override {
    centre_.reset();
    centre_ = *EmbeddedCentre(dir_, /*read_only=*/false);
    return true;
  }
  int WatchCount() override { return static_cast<int>(centre_->watch_count()); }

 private:
  std::shared_ptr<LocalCentre> centre_;
  std::string dir_;
};

StoreSuiteParam Param() {
  StoreSuiteParam param;
  param.name = "embedded";
  param.make = [] { return std::make_unique<EmbeddedFixture>(); };
  param.too_large = (4 << 20) + 1;
  return param;
}

INSTANTIATE_TEST_SUITE_P(Embedded, StoreSuite, testing::Values(Param()));

// The body of the child that Owner starts: owns the directory until it is killed.
TEST(EmbeddedOwnerProcess, DISABLED_OwnsUntilKilled) {
  const char* dir = getenv("OWNER_DIR");
  const char* ready = getenv("OWNER_READY_FD");
  ASSERT_NE(dir, nullptr);
  ASSERT_NE(ready, nullptr);
  EmbeddedFixture fixture(dir);
  Handle handle(fixture, "owner");
  const bool good = handle.Put("/kept", "v").ok() && handle.Bind("/bound", "b").ok();
  ASSERT_EQ(write(std::stoi(ready), good ? "1" : "0", 1), 1);
  for (;;) pause();
}

// A child process that owns `dir`, has written /kept and /bound, and waits to be killed. This very
// binary, started anew: a mere fork has none of RocksDB's threads.
class Owner {
 public:
  explicit Owner(const std::string& dir) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    const std::string fd = std::to_string(ready[1]);
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      setenv("OWNER_DIR", dir.c_str(), 1);
      setenv("OWNER_READY_FD", fd.c_str(), 1);
      // The parent's report is not the child's.
      unsetenv("XML_OUTPUT_FILE");
      unsetenv("TEST_SHARD_INDEX");
      unsetenv("TEST_TOTAL_SHARDS");
      execl("/proc/self/exe", "owner", "--gtest_filter=EmbeddedOwnerProcess.*",
            "--gtest_also_run_disabled_tests", nullptr);
      _exit(127);
    }
    close(ready[1]);
    char byte = 0;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    EXPECT_EQ(byte, '1');
    close(ready[0]);
  }
  ~Owner() { Kill(); }
  void Kill() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  std::string pid() const { return std::to_string(pid_); }

 private:
  pid_t pid_ = 0;
};

TEST(EmbeddedCentreTest, SecondProcessReadsBesideTheOwner) {
  const std::string dir = NewDir();
  Owner owner(dir);
  const auto second = EmbeddedCentre(dir, /*read_only=*/false);
  ASSERT_TRUE(absl::IsFailedPrecondition(second.status())) << second.status();
  const std::string message(second.status().message());
  EXPECT_NE(message.find("in use by " + owner.pid()), std::string::npos) << message;
  EXPECT_NE(message.find("signpost serve --dir="), std::string::npos) << message;
  EXPECT_NE(message.find("use its signpost://"), std::string::npos) << message;

  EmbeddedFixture fixture(dir, /*read_only=*/true);
  Handle reader(fixture, "reader");
  EXPECT_EQ(reader.Get("/kept")->value, "v");
  EXPECT_EQ(reader.Get("/bound")->value, "b");
  const auto put = reader.Put("/kept", "w");
  EXPECT_TRUE(absl::IsFailedPrecondition(put.status()));
  EXPECT_NE(put.status().message().find(owner.pid()), std::string::npos) << put.status();
  auto told = std::make_shared<ToldValues>();
  const Subscription watch = reader.Watch("/kept", told);
  ASSERT_TRUE(told->AwaitSize(1));
  EXPECT_EQ(told->items()[0]->value, "v");
  EXPECT_FALSE(reader.store().capabilities().live);
}

TEST(EmbeddedCentreTest, OutlivesKillOfItsOwner) {
  const std::string dir = NewDir();
  Owner owner(dir);
  owner.Kill();
  {
    EmbeddedFixture fixture(dir, /*read_only=*/true);
    Handle reader(fixture, "reader");
    EXPECT_EQ(reader.Get("/kept")->value, "v");
    EXPECT_TRUE(absl::IsNotFound(reader.Get("/bound").status()));
  }
  EmbeddedFixture fixture(dir);
  Handle next(fixture, "next");
  EXPECT_EQ(next.Get("/kept")->value, "v");
  EXPECT_TRUE(absl::IsNotFound(next.Get("/bound").status()));
}

// As a server opens it, whose clients live on.
TEST(EmbeddedCentreTest, LeftBehindKeysAreAdopted) {
  const std::string dir = NewDir();
  Owner owner(dir);
  owner.Kill();
  const auto centre = EmbeddedCentre(dir, /*read_only=*/false, LeftBehind::kKept);
  ASSERT_TRUE(centre.ok()) << centre.status();
  EmbeddedFixture fixture(dir);
  // Its session has the number of the owner's; what is bound is not its for that.
  Handle other(fixture, "other");
  Handle adopter(fixture, "adopter");
  ASSERT_TRUE(other.Bind("/mine", "m").ok());
  const int64_t version = other.Get("/bound")->version;
  ASSERT_TRUE((*centre)->AdoptLeftBehind(adopter.store()).ok());
  EXPECT_TRUE(adopter.Get("/bound")->owned);
  EXPECT_FALSE(other.Get("/bound")->owned);
  EXPECT_EQ(other.Get("/bound")->version, version);
  adopter.store().Close();
  EXPECT_TRUE(absl::IsNotFound(other.Get("/bound").status()));
  EXPECT_EQ(other.Get("/mine")->value, "m");
  EXPECT_EQ(other.Get("/kept")->value, "v");
  EXPECT_TRUE(absl::IsFailedPrecondition((*centre)->AdoptLeftBehind(adopter.store())));
}

TEST(EmbeddedCentreTest, OneProcessSharesADirectory) {
  const std::string dir = NewDir();
  auto centre = EmbeddedCentre(dir, /*read_only=*/false);
  ASSERT_TRUE(centre.ok()) << centre.status();
  EXPECT_EQ(*EmbeddedCentre(dir + "/.", /*read_only=*/false), *centre);
  EXPECT_EQ(*EmbeddedCentre(dir, /*read_only=*/true), *centre);
}

TEST(EmbeddedCentreTest, NamesTheDirectoryItCannotUse) {
  const std::string file = NewDir();
  std::ofstream(file) << "not a directory";
  const auto centre = EmbeddedCentre(file + "/below", /*read_only=*/false);
  ASSERT_FALSE(centre.ok());
  EXPECT_NE(centre.status().message().find(file), std::string::npos) << centre.status();
  const std::string missing = NewDir();
  EXPECT_TRUE(absl::IsNotFound(EmbeddedCentre(missing, /*read_only=*/true).status()));
}

TEST(EmbeddedCentreTest, NamesTheCorruptDirectory) {
  const std::string dir = NewDir();
  ASSERT_TRUE(EmbeddedCentre(dir, /*read_only=*/false).ok());
  std::ofstream(dir + "/db/CURRENT") << "garbage";
  const auto centre = EmbeddedCentre(dir, /*read_only=*/false);
  ASSERT_FALSE(centre.ok());
  EXPECT_NE(centre.status().message().find(dir), std::string::npos) << centre.status();
}

TEST(OpenEmbeddedCentreTest, OpensByUrl) {
  CentreOptions options;
  options.executor = NewSerialExecutor("embedded-test");
  const auto url = Url::Parse("embedded://" + NewDir());
  ASSERT_TRUE(url.ok()) << url.status();
  auto centre = OpenEmbeddedCentre(*url, options);
  ASSERT_TRUE(centre.ok()) << centre.status();
  EXPECT_TRUE((*centre)->store().IsAvailable());
  EXPECT_TRUE(
      absl::IsInvalidArgument(OpenEmbeddedCentre(*Url::Parse("memory://x"), options).status()));
}

}  // namespace
}  // namespace signpost

#include "signpost/common/rocks.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace signpost {
namespace {

std::string NewDir(const std::string& name) {
  const std::string dir = std::filesystem::canonical(testing::TempDir()).string() + "/" + name;
  std::filesystem::remove_all(dir);
  return dir;
}

TEST(RocksTest, KeepsWhatWasWritten) {
  const std::string dir = NewDir("rocks-kept");
  {
    auto rocks = Rocks::Open(dir);
    ASSERT_TRUE(rocks.ok()) << rocks.status();
    ASSERT_TRUE((*rocks)->Write({{"a", "1"}, {"b", std::string("\0\xff", 2)}, {"c", "3"}}).ok());
    ASSERT_TRUE((*rocks)->Write({{"a", std::nullopt}, {"c", "4"}}).ok());
  }
  auto rocks = Rocks::Open(dir);
  ASSERT_TRUE(rocks.ok()) << rocks.status();
  EXPECT_TRUE(absl::IsNotFound((*rocks)->Get("a").status()));
  EXPECT_EQ(*(*rocks)->Get("b"), std::string("\0\xff", 2));
  EXPECT_EQ(*(*rocks)->Get("c"), "4");
}

TEST(RocksTest, ScansAPrefixInOrderAndSeeks) {
  auto rocks = Rocks::Open(NewDir("rocks-scan"));
  ASSERT_TRUE(rocks.ok()) << rocks.status();
  ASSERT_TRUE(
      (*rocks)
          ->Write({{"p/b/1", ""}, {"p/b/2", ""}, {"o", ""}, {"p/a", ""}, {"p/c", ""}, {"q", ""}})
          .ok());
  std::vector<std::string> seen;
  const auto visit = [&](absl::string_view key, absl::string_view, std::string* seek) {
    seen.emplace_back(key);
    if (key == "p/b/1") *seek = "p/b0";
    return true;
  };
  ASSERT_TRUE((*rocks)->Scan("p/", visit).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{"p/a", "p/b/1", "p/c"}));
  seen.clear();
  const auto first = [&](absl::string_view key, absl::string_view, std::string*) {
    seen.emplace_back(key);
    return false;
  };
  ASSERT_TRUE((*rocks)->Scan("p/", first).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{"p/a"}));
}

TEST(RocksTest, ReadsBesideAWriter) {
  const std::string dir = NewDir("rocks-beside");
  RocksOptions reading;
  reading.read_only = true;
  EXPECT_TRUE(absl::IsNotFound(Rocks::Open(dir, reading).status()))
      << Rocks::Open(dir, reading).status();
  auto writer = Rocks::Open(dir);
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE((*writer)->Write({{"k", "v"}}).ok());
  auto reader = Rocks::Open(dir, reading);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ(*(*reader)->Get("k"), "v");
  EXPECT_FALSE((*reader)->Write({{"k", "w"}}).ok());
  const auto second = Rocks::Open(dir);
  EXPECT_TRUE(absl::IsFailedPrecondition(second.status())) << second.status();
}

TEST(RocksTest, ErrorsNameTheDirectory) {
  const std::string dir = NewDir("rocks-corrupt");
  RocksOptions small;
  small.tuning = RocksOptions::Tuning::kSmall;
  ASSERT_TRUE(Rocks::Open(dir, small).ok());
  std::ofstream(dir + "/CURRENT") << "garbage";
  const auto corrupt = Rocks::Open(dir, small);
  EXPECT_EQ(corrupt.status().code(), absl::StatusCode::kDataLoss) << corrupt.status();
  EXPECT_EQ(corrupt.status().message().find(dir), 0u) << corrupt.status();

  const std::string file = NewDir("rocks-file");
  std::ofstream(file) << "not a directory";
  const auto below = Rocks::Open(file + "/db");
  ASSERT_FALSE(below.ok());
  EXPECT_EQ(below.status().message().find(file), 0u) << below.status();
}

// Three files with the same keys, which the next write of a few MB merges.
void MakeFiles(const std::string& dir, const RocksOptions& options) {
  const std::string large(400 << 10, 'x');
  auto rocks = Rocks::Open(dir, options);
  ASSERT_TRUE(rocks.ok()) << rocks.status();
  for (int i = 0; i < 9; ++i) {
    ASSERT_TRUE((*rocks)->Write({{std::to_string(i % 3), large}}).ok());
  }
  // The log becomes a file.
  ASSERT_TRUE((*rocks)->Close().ok());
  ASSERT_TRUE(Rocks::Open(dir, options).ok());
}

std::vector<std::string> FilesOf(const std::string& dir) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    if (entry.path().extension() == ".sst") files.push_back(entry.path().string());
  }
  return files;
}

// Until it fails: enough for a merge to begin and time for it to end, too little for RocksDB to
// wait for it.
absl::Status WriteOn(Rocks& rocks) {
  const std::string large(100 << 10, 'x');
  absl::Status status;
  for (int i = 0; i < 100 && status.ok(); ++i) {
    status = rocks.Write({{std::to_string(i % 3), large}});
  }
  for (int i = 0; i < 50000 && status.ok(); ++i) status = rocks.Write({{"small", ""}});
  return status;
}

TEST(RocksTest, AMergeOfAFileThatIsGoneFails) {
  const std::string dir = NewDir("rocks-gone");
  RocksOptions small;
  small.tuning = RocksOptions::Tuning::kSmall;
  MakeFiles(dir, small);
  auto rocks = Rocks::Open(dir, small);
  ASSERT_TRUE(rocks.ok()) << rocks.status();
  const std::vector<std::string> files = FilesOf(dir);
  ASSERT_EQ(files.size(), 3u);
  for (const std::string& file : files) std::filesystem::remove(file);
  EXPECT_FALSE(WriteOn(**rocks).ok());
}

TEST(RocksTest, AMergeOfADamagedFileIsDataLoss) {
  const std::string dir = NewDir("rocks-damaged");
  RocksOptions small;
  small.tuning = RocksOptions::Tuning::kSmall;
  MakeFiles(dir, small);
  for (const std::string& name : FilesOf(dir)) {
    std::fstream file(name, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(name) / 2));
    file << "damaged";
  }
  auto rocks = Rocks::Open(dir, small);
  ASSERT_TRUE(rocks.ok()) << rocks.status();
  const absl::Status status = WriteOn(**rocks);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ((*rocks)->Write({{"k", "v"}}).code(), absl::StatusCode::kDataLoss);
  }
}

void SetLimit(decltype(RLIMIT_NOFILE) what, rlim_t value) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(what, &limit), 0);
  limit.rlim_cur = std::min(value, limit.rlim_max);
  ASSERT_EQ(setrlimit(what, &limit), 0);
}

// Writes until it fails, for `reason`. What was written stays, and after `heal` it writes on.
void FailAndGoOn(const std::string& dir, const std::string& reason,
                 const std::function<void()>& harm, const std::function<void()>& heal) {
  auto rocks = Rocks::Open(dir);
  ASSERT_TRUE(rocks.ok()) << rocks.status();
  ASSERT_TRUE((*rocks)->Write({{"first", "1"}}).ok());
  harm();
  int written = 0;
  const std::string large(1 << 20, 'x');
  while (written < 100 && (*rocks)->Write({{std::to_string(written), large}}).ok()) ++written;
  ASSERT_LT(written, 100);
  const absl::Status again = (*rocks)->Write({{"again", large}});
  EXPECT_NE(again.message().find(reason), std::string::npos) << again;
  EXPECT_EQ(*(*rocks)->Get("first"), "1");
  heal();
  const absl::Status status = (*rocks)->Write({{"last", "2"}});
  EXPECT_TRUE(status.ok()) << status;
  ASSERT_TRUE((*rocks)->Close().ok());
  rocks = Rocks::Open(dir);
  ASSERT_TRUE(rocks.ok()) << rocks.status();
  EXPECT_EQ(*(*rocks)->Get("first"), "1");
  EXPECT_EQ(*(*rocks)->Get("last"), "2");
  for (int i = 0; i < written; ++i) EXPECT_TRUE((*rocks)->Get(std::to_string(i)).ok()) << i;
}

[[noreturn]] void ExitWithResult() { std::exit(testing::Test::HasFailure() ? 1 : 0); }

// In processes of their own, as the limits are those of a process.
TEST(RocksDeathTest, WritesOnAfterTooManyOpenFiles) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto run = [dir = NewDir("rocks-files")] {
    std::vector<int> files;
    FailAndGoOn(
        dir, "Too many open files",
        [&] {
          SetLimit(RLIMIT_NOFILE, 100);
          for (int fd = open("/dev/null", O_RDONLY); fd >= 0; fd = open("/dev/null", O_RDONLY)) {
            files.push_back(fd);
          }
        },
        [&] {
          for (const int fd : files) close(fd);
        });
    ExitWithResult();
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

// As RocksDB sees it: its log cannot grow, for another reason than a full disk.
TEST(RocksDeathTest, WritesOnAfterAFileThatCouldNotGrow) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto run = [dir = NewDir("rocks-size")] {
    std::signal(SIGXFSZ, SIG_IGN);
    FailAndGoOn(
        dir, "File too large", [] { SetLimit(RLIMIT_FSIZE, 1 << 19); },
        [] { SetLimit(RLIMIT_FSIZE, RLIM_INFINITY); });
    ExitWithResult();
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

TEST(RocksDeathTest, ReadsOnWithoutAWriteAfterItCouldNotBeOpened) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto run = [](const std::string& dir, bool scan) {
    std::signal(SIGXFSZ, SIG_IGN);
    auto rocks = Rocks::Open(dir);
    ASSERT_TRUE(rocks.ok()) << rocks.status();
    ASSERT_TRUE((*rocks)->Write({{"k", "v"}}).ok());
    SetLimit(RLIMIT_FSIZE, 1 << 19);
    ASSERT_FALSE((*rocks)->Write({{"large", std::string(1 << 20, 'x')}}).ok());
    SetLimit(RLIMIT_FSIZE, RLIM_INFINITY);
    std::filesystem::rename(dir + "/CURRENT", dir + "/kept");
    std::ofstream(dir + "/CURRENT") << "garbage";
    EXPECT_TRUE(absl::IsDataLoss((*rocks)->Write({{"l", "w"}})));
    EXPECT_TRUE(absl::IsDataLoss((*rocks)->Get("k").status()));
    std::filesystem::rename(dir + "/kept", dir + "/CURRENT");
    int seen = 0;
    const auto visit = [&](absl::string_view, absl::string_view, std::string*) { return ++seen; };
    if (scan) {
      EXPECT_TRUE((*rocks)->Scan("k", visit).ok());
      EXPECT_EQ(seen, 1);
    } else {
      EXPECT_TRUE((*rocks)->Get("k").ok());
    }
    EXPECT_TRUE((*rocks)->Write({{"l", "w"}}).ok());
  };
  const auto all = [&] {
    run(NewDir("rocks-revive-get"), /*scan=*/false);
    run(NewDir("rocks-revive-scan"), /*scan=*/true);
    ExitWithResult();
  };
  EXPECT_EXIT(all(), testing::ExitedWithCode(0), "");
}

TEST(RocksTest, ClosedIsClosed) {
  auto rocks = Rocks::Open(NewDir("rocks-closed"));
  ASSERT_TRUE(rocks.ok()) << rocks.status();
  EXPECT_TRUE((*rocks)->Close().ok());
  EXPECT_TRUE((*rocks)->Close().ok());
  EXPECT_TRUE(absl::IsFailedPrecondition((*rocks)->Get("k").status()));
  EXPECT_TRUE(absl::IsFailedPrecondition((*rocks)->Write({{"k", "v"}})));
}

}  // namespace
}  // namespace signpost

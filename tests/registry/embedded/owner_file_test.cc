#include "signpost/registry/embedded/owner_file.h"

#include <unistd.h>

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace signpost::embedded_internal {
namespace {

std::string NewDir(const std::string& name) {
  const std::string dir = testing::TempDir() + "/" + name;
  std::filesystem::remove_all(dir);
  std::filesystem::create_directories(dir);
  return dir;
}

TEST(OwnerFileTest, OneOwnerAtATime) {
  const std::string dir = NewDir("owner-one");
  EXPECT_TRUE(OwnerFile::CheckFree(dir).ok());
  auto owner = OwnerFile::Acquire(dir);
  ASSERT_TRUE(owner.ok()) << owner.status();
  const std::string pid = "in use by " + std::to_string(getpid()) + ";";
  for (const absl::Status& status : {OwnerFile::Acquire(dir).status(), OwnerFile::CheckFree(dir)}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_NE(status.message().find(pid), std::string::npos) << status;
  }
  owner->reset();
  EXPECT_TRUE(OwnerFile::CheckFree(dir).ok()) << "the file outlives the owner, its lock does not";
  EXPECT_TRUE(OwnerFile::Acquire(dir).ok());
}

TEST(OwnerFileTest, NamesTheFileItCannotMake) {
  const std::string dir = NewDir("owner-missing") + "/nowhere";
  const auto owner = OwnerFile::Acquire(dir);
  ASSERT_FALSE(owner.ok());
  EXPECT_EQ(owner.status().message().find(dir + "/OWNER"), 0u) << owner.status();
}

}  // namespace
}  // namespace signpost::embedded_internal

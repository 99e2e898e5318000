#include "signpost/registry/embedded/owner_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace signpost::embedded_internal {
namespace {

std::string Path(const std::string& dir) { return dir + "/OWNER"; }

absl::Status InUse(const std::string& dir, int fd) {
  char text[32] = {};
  const ssize_t size = pread(fd, text, sizeof(text) - 1, 0);
  std::string pid(text, size > 0 ? static_cast<size_t>(size) : 0);
  absl::StripAsciiWhitespace(&pid);
  // Empty for a moment after the owner has locked the file.
  if (pid.empty()) pid = "another process";
  return absl::FailedPreconditionError(absl::StrCat(dir, ": in use by ", pid,
                                                    "; if that is `signpost serve`, use its "
                                                    "signpost://host:port; else several processes "
                                                    "share a directory through one: `signpost "
                                                    "serve --dir=",
                                                    dir, "`"));
}

absl::Status Failed(const std::string& dir, const char* what) {
  const std::string message = absl::StrCat(Path(dir), ": ", what, ": ", std::strerror(errno));
  return errno == EACCES || errno == EROFS || errno == EPERM ? absl::PermissionDeniedError(message)
                                                             : absl::UnavailableError(message);
}

}  // namespace

absl::StatusOr<std::unique_ptr<OwnerFile>> OwnerFile::Acquire(const std::string& dir) {
  const int fd = open(Path(dir).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return Failed(dir, "cannot open");
  std::unique_ptr<OwnerFile> owner(new OwnerFile(fd));
  // A reader that looks whether there is an owner (CheckFree) holds it for an instant.
  int locked = flock(fd, LOCK_EX | LOCK_NB);
  for (int i = 0; locked != 0 && errno == EWOULDBLOCK && i < 20; ++i) {
    poll(nullptr, 0, 5);
    locked = flock(fd, LOCK_EX | LOCK_NB);
  }
  if (locked != 0) {
    if (errno == EWOULDBLOCK) return InUse(dir, fd);
    return Failed(dir, "cannot lock");
  }
  const std::string pid = absl::StrCat(getpid(), "\n");
  if (ftruncate(fd, 0) != 0 ||
      pwrite(fd, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return Failed(dir, "cannot write");
  }
  return owner;
}

absl::Status OwnerFile::CheckFree(const std::string& dir) {
  const int fd = open(Path(dir).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT ? absl::OkStatus() : Failed(dir, "cannot open");
  const OwnerFile file(fd);
  if (flock(fd, LOCK_SH | LOCK_NB) == 0) return absl::OkStatus();
  return errno == EWOULDBLOCK ? InUse(dir, fd) : Failed(dir, "cannot lock");
}

OwnerFile::~OwnerFile() { close(fd_); }

}  // namespace signpost::embedded_internal

#include "tests/support/raw_zookeeper.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "signpost/common/clock.h"
#include "zookeeper.h"

namespace signpost {
namespace {

void OnEvent(zhandle_t*, int, int, const char*, void*) {}
void OnLog(const char*) {}
void OnAuth(int, const void*) {}

absl::Status ToStatus(int rc, const std::string& path) {
  const std::string text = absl::StrCat(path, ": ", zerror(rc));
  switch (rc) {
    case ZOK:
      return absl::OkStatus();
    case ZNOAUTH:
      return absl::PermissionDeniedError(text);
    case ZNONODE:
      return absl::NotFoundError(text);
    case ZNODEEXISTS:
      return absl::AlreadyExistsError(text);
    default:
      return absl::InternalError(text);
  }
}

std::string Rights(int32_t all) {
  std::string text;
  if ((all & ZOO_PERM_CREATE) != 0) text += 'c';
  if ((all & ZOO_PERM_DELETE) != 0) text += 'd';
  if ((all & ZOO_PERM_READ) != 0) text += 'r';
  if ((all & ZOO_PERM_WRITE) != 0) text += 'w';
  if ((all & ZOO_PERM_ADMIN) != 0) text += 'a';
  return text;
}

}  // namespace

RawZookeeper::RawZookeeper(const std::string& address, const std::string& credentials)
    : zoo_(zookeeper_init2(address.c_str(), &OnEvent, 30000, nullptr, nullptr, 0, &OnLog)) {
  if (!credentials.empty()) {
    zoo_add_auth(zoo_, "digest", credentials.data(), static_cast<int>(credentials.size()), &OnAuth,
                 nullptr);
  }
}

RawZookeeper::~RawZookeeper() { zookeeper_close(zoo_); }

absl::StatusOr<std::string> RawZookeeper::Get(const std::string& path) {
  std::string value(1 << 20, '\0');
  int length = static_cast<int>(value.size());
  const int rc = zoo_get(zoo_, path.c_str(), 0, value.data(), &length, nullptr);
  if (rc != ZOK) return ToStatus(rc, path);
  value.resize(length < 0 ? 0 : static_cast<size_t>(length));
  return value;
}

absl::StatusOr<std::vector<std::string>> RawZookeeper::Children(const std::string& path) {
  String_vector names{};
  const int rc = zoo_get_children(zoo_, path.c_str(), 0, &names);
  if (rc != ZOK) return ToStatus(rc, path);
  std::vector<std::string> all(names.data, names.data + names.count);
  deallocate_String_vector(&names);
  return all;
}

bool RawZookeeper::AwaitGone(const std::string& path, absl::Duration timeout) {
  const absl::Duration end = Clock::Real().MonotonicNow() + timeout;
  while (Clock::Real().MonotonicNow() < end) {
    if (zoo_exists(zoo_, path.c_str(), 0, nullptr) == ZNONODE) return true;
    usleep(50000);
  }
  return false;
}

absl::StatusOr<std::vector<std::string>> RawZookeeper::Acl(const std::string& path) {
  ACL_vector acl{};
  Stat stat{};
  const int rc = zoo_get_acl(zoo_, path.c_str(), &acl, &stat);
  if (rc != ZOK) return ToStatus(rc, path);
  std::vector<std::string> all;
  for (int i = 0; i < acl.count; ++i) {
    const ACL& one = acl.data[i];
    all.push_back(absl::StrCat(one.id.scheme, ":", one.id.id, ":", Rights(one.perms)));
  }
  deallocate_ACL_vector(&acl);
  return all;
}

absl::Status RawZookeeper::Create(const std::string& path, const std::string& value) {
  return ToStatus(zoo_create(zoo_, path.c_str(), value.data(), static_cast<int>(value.size()),
                             &ZOO_OPEN_ACL_UNSAFE, 0, nullptr, 0),
                  path);
}

absl::Status RawZookeeper::Set(const std::string& path, const std::string& value) {
  return ToStatus(zoo_set(zoo_, path.c_str(), value.data(), static_cast<int>(value.size()), -1),
                  path);
}

absl::Status RawZookeeper::Delete(const std::string& path) {
  return ToStatus(zoo_delete(zoo_, path.c_str(), -1), path);
}

}  // namespace signpost

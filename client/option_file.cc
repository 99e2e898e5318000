#include "signpost/client/option_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "signpost/common/json.h"
#include "signpost/common/properties.h"
#include "signpost/common/status.h"
#include "signpost/common/yaml.h"

namespace signpost {
namespace {

absl::StatusOr<std::string> ReadAll(int fd) {
  struct stat about {};
  if (fstat(fd, &about) != 0) return absl::ErrnoToStatus(errno, "cannot be read");
  // A pipe or device may never end.
  if (!S_ISREG(about.st_mode)) return absl::InvalidArgumentError("no regular file");
  std::string text;
  std::vector<char> buffer(1 << 16);
  for (;;) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::ErrnoToStatus(errno, "cannot be read");
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<size_t>(got));
    if (text.size() > kMaxOptionFileBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("over the limit of ", kMaxOptionFileBytes, " bytes"));
    }
  }
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  // Not blocked by a pipe that nobody writes to.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return absl::ErrnoToStatus(errno, "cannot be opened");
  absl::StatusOr<std::string> text = ReadAll(fd);
  close(fd);
  return text;
}

// No option has a longer name; and long names times many members would be a lot of text.
constexpr size_t kMaxKeyBytes = 1024;

bool IsScalar(const Json& value) { return !value.is_object() && !value.is_array(); }

// The YAML reader bounds the depth.
void Flatten(const std::string& path, const std::string& key, const Json& value,
             std::vector<FileOption>& out) {
  if (key.size() > kMaxKeyBytes) return;
  FileOption option;
  option.key = key;
  option.where = absl::StrCat(path, ": ", key);
  option.is_text = !value.is_object();
  if (value.is_array()) {
    const Json::Array& items = value.AsArray();
    option.is_text = std::all_of(items.begin(), items.end(), IsScalar);
    option.value = absl::StrJoin(
        items, ",", [](std::string* text, const Json& item) { text->append(item.AsText()); });
  } else if (!value.is_object()) {
    option.value = value.AsText();
  }
  if (!key.empty()) out.push_back(std::move(option));
  for (const auto& [name, member] : value.AsObject()) {
    Flatten(path, key.empty() ? name : absl::StrCat(key, ".", name), member, out);
  }
}

absl::StatusOr<std::vector<FileOption>> FromYaml(const std::string& path, absl::string_view text) {
  YamlLimits limits;
  limits.max_bytes = kMaxOptionFileBytes;
  // Keys are written out with all their parts.
  limits.max_depth = 16;
  limits.max_nodes = 20000;
  limits.plain_is_text = true;
  absl::StatusOr<std::vector<Json>> documents = ParseYaml(text, limits);
  if (!documents.ok()) return documents.status();
  std::vector<FileOption> options;
  if (documents->empty() || documents->front().is_null()) return options;
  if (documents->size() > 1) {
    return absl::InvalidArgumentError("more than one YAML document; which one holds is not clear");
  }
  if (!documents->front().is_object()) {
    return absl::InvalidArgumentError("YAML: not a mapping of keys to values");
  }
  Flatten(path, "", documents->front(), options);
  return options;
}

absl::StatusOr<std::vector<FileOption>> FromProperties(const std::string& path,
                                                       absl::string_view text) {
  absl::StatusOr<std::vector<Property>> properties = ParseProperties(text);
  if (!properties.ok()) return properties.status();
  std::vector<FileOption> options;
  options.reserve(properties->size());
  for (Property& property : *properties) {
    FileOption option;
    option.where = absl::StrCat(path, " line ", property.line, ": ", property.key);
    option.key = std::move(property.key);
    option.value = std::move(property.value);
    options.push_back(std::move(option));
  }
  return options;
}

}  // namespace

absl::StatusOr<std::vector<FileOption>> ReadOptionFile(const std::string& path) {
  absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return Annotate(text.status(), path);
  const bool yaml =
      absl::EndsWithIgnoreCase(path, ".yaml") || absl::EndsWithIgnoreCase(path, ".yml");
  auto options = yaml ? FromYaml(path, *text) : FromProperties(path, *text);
  if (!options.ok()) return Annotate(options.status(), path);
  return options;
}

}  // namespace signpost

#include "signpost/registry/embedded/embedded_store.h"

#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "signpost/common/mutex.h"
#include "signpost/common/rocks.h"
#include "signpost/common/status.h"
#include "signpost/registry/embedded/owner_file.h"
#include "signpost/registry/store/store_centre.h"

namespace signpost {
namespace {

using embedded_internal::OwnerFile;

// Keys in RocksDB: "k" + key -> version (8 bytes), session (8 bytes), value; "v" -> last version.
constexpr char kKeyTag = 'k';
constexpr char kVersionKey[] = "v";
constexpr size_t kHeader = 16;

void AppendFixed(uint64_t number, std::string& out) {
  for (int shift = 0; shift < 64; shift += 8) out.push_back(static_cast<char>(number >> shift));
}

uint64_t ReadFixed(absl::string_view text) {
  uint64_t number = 0;
  for (int i = 7; i >= 0; --i) number = number << 8 | static_cast<unsigned char>(text[i]);
  return number;
}

std::string Encode(const KeyValue::Record& record) {
  std::string result;
  result.reserve(kHeader + record.value.size());
  AppendFixed(static_cast<uint64_t>(record.version), result);
  AppendFixed(record.session, result);
  return result += record.value;
}

absl::StatusOr<KeyValue::Record> Decode(absl::string_view key, absl::string_view text) {
  if (text.size() < kHeader) {
    return absl::DataLossError(absl::StrCat(key, ": a record of ", text.size(), " bytes"));
  }
  KeyValue::Record record;
  record.version = static_cast<int64_t>(ReadFixed(text));
  record.session = ReadFixed(text.substr(8));
  record.value = std::string(text.substr(kHeader));
  return record;
}

std::string Tagged(absl::string_view key) { return absl::StrCat(std::string(1, kKeyTag), key); }

absl::StatusOr<int64_t> ReadLastVersion(const Rocks& rocks, const std::string& dir) {
  absl::StatusOr<std::string> text = rocks.Get(kVersionKey);
  if (absl::IsNotFound(text.status())) return 0;
  if (!text.ok()) return text.status();
  if (text->size() != 8) return absl::DataLossError(absl::StrCat(dir, ": broken version record"));
  return static_cast<int64_t>(ReadFixed(*text));
}

absl::Status ScanRocks(const Rocks& rocks, const std::string& prefix, KeyValue::Visitor visit) {
  absl::Status broken;
  absl::Status status = rocks.Scan(
      Tagged(prefix), [&](absl::string_view key, absl::string_view text, std::string* seek) {
        key.remove_prefix(1);
        absl::StatusOr<KeyValue::Record> record = Decode(key, text);
        if (!record.ok()) {
          broken = record.status();
          return false;
        }
        const bool more = visit(key, *record, seek);
        if (!seek->empty()) *seek = Tagged(*seek);
        return more;
      });
  return status.ok() ? broken : status;
}

// The open directories of this process, by canonical path.
struct Directories {
  Mutex mutex;
  CondVar closed;
  // An entry stays until its database is closed.
  std::map<std::string, std::weak_ptr<LocalCentre>> open;
};

Directories& AllDirectories() {
  static auto& directories = *new Directories;
  return directories;
}

class RocksKeyValue final : public KeyValue {
 public:
  // The directory is in AllDirectories().
  RocksKeyValue(std::string dir, std::unique_ptr<OwnerFile> owner, std::unique_ptr<Rocks> rocks,
                int64_t last_version)
      : dir_(std::move(dir)),
        owner_(std::move(owner)),
        rocks_(std::move(rocks)),
        last_version_(last_version) {}

  ~RocksKeyValue() override {
    rocks_.reset();
    owner_.reset();
    Directories& directories = AllDirectories();
    MutexLock lock(directories.mutex);
    directories.open.erase(dir_);
    directories.closed.SignalAll();
  }

  int64_t last_version() const override { return last_version_; }

  absl::StatusOr<std::optional<Record>> Get(const std::string& key) const override {
    absl::StatusOr<std::string> text = rocks_->Get(Tagged(key));
    if (absl::IsNotFound(text.status())) return std::optional<Record>();
    if (!text.ok()) return text.status();
    absl::StatusOr<Record> record = Decode(key, *text);
    if (!record.ok()) return record.status();
    return std::optional<Record>(*std::move(record));
  }

  absl::Status Write(const std::vector<Change>& changes, int64_t last_version) override {
    std::vector<RocksWrite> writes;
    writes.reserve(changes.size() + 1);
    for (const Change& change : changes) {
      RocksWrite write{Tagged(change.key), std::nullopt};
      if (change.record.has_value()) write.value = Encode(*change.record);
      writes.push_back(std::move(write));
    }
    RocksWrite version{kVersionKey, std::string()};
    AppendFixed(static_cast<uint64_t>(last_version), *version.value);
    writes.push_back(std::move(version));
    absl::Status status = rocks_->Write(writes);
    if (status.ok()) last_version_ = last_version;
    return status;
  }

  absl::Status Scan(const std::string& prefix, Visitor visit) const override {
    return ScanRocks(*rocks_, prefix, visit);
  }

 private:
  const std::string dir_;
  std::unique_ptr<OwnerFile> owner_;
  std::unique_ptr<Rocks> rocks_;
  int64_t last_version_;
};

LocalCentre::Options MakeOptions(const std::string& dir, absl::Status frozen) {
  LocalCentre::Options options;
  options.name = absl::StrCat("embedded://", dir);
  options.frozen = std::move(frozen);
  return options;
}

std::string DatabaseDir(const std::string& dir) { return dir + "/db"; }

// What the sessions of a dead owner left.
absl::Status DropSessionKeys(KeyValue& data) {
  std::vector<KeyValue::Change> changes;
  absl::Status status =
      data.Scan("", [&](absl::string_view key, const KeyValue::Record& record, std::string*) {
        if (record.session != 0) changes.push_back({std::string(key), std::nullopt});
        return true;
      });
  if (!status.ok() || changes.empty()) return status;
  return data.Write(changes, data.last_version() + 1);
}

absl::StatusOr<std::unique_ptr<KeyValue>> OpenOwned(const std::string& dir,
                                                    std::unique_ptr<OwnerFile> owner) {
  absl::StatusOr<std::unique_ptr<Rocks>> rocks = Rocks::Open(DatabaseDir(dir));
  if (!rocks.ok()) return rocks.status();
  absl::StatusOr<int64_t> last_version = ReadLastVersion(**rocks, dir);
  if (!last_version.ok()) return last_version.status();
  return std::make_unique<RocksKeyValue>(dir, std::move(owner), *std::move(rocks), *last_version);
}

// A held read-only database breaks when its owner compacts, so all is read at once.
absl::StatusOr<std::shared_ptr<LocalCentre>> OpenCopy(const std::string& dir) {
  absl::Status frozen = OwnerFile::CheckFree(dir);
  const bool owned = !frozen.ok();
  if (owned && !absl::IsFailedPrecondition(frozen)) return frozen;
  RocksOptions rocks_options;
  rocks_options.read_only = true;
  absl::StatusOr<std::unique_ptr<Rocks>> rocks = Rocks::Open(DatabaseDir(dir), rocks_options);
  if (!rocks.ok()) return rocks.status();
  absl::StatusOr<int64_t> last_version = ReadLastVersion(**rocks, dir);
  if (!last_version.ok()) return last_version.status();
  std::vector<KeyValue::Change> records;
  absl::Status status = ScanRocks(
      **rocks, "", [&](absl::string_view key, const KeyValue::Record& record, std::string*) {
        if (owned || record.session == 0) records.push_back({std::string(key), record});
        return true;
      });
  if (!status.ok()) return status;
  auto data = std::make_unique<MapKeyValue>();
  if (status = data->Write(records, *last_version); !status.ok()) return status;
  if (!owned) frozen = absl::FailedPreconditionError(absl::StrCat(dir, ": opened read-only"));
  return std::make_shared<LocalCentre>(std::move(data), MakeOptions(dir, std::move(frozen)));
}

absl::Status MakeDirectory(const std::string& dir) {
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (!error) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat(dir, ": cannot make the directory: ", error.message()));
}

}  // namespace

absl::StatusOr<std::shared_ptr<LocalCentre>> EmbeddedCentre(const std::string& dir, bool read_only,
                                                            LeftBehind left_behind) {
  if (!read_only) {
    if (absl::Status status = MakeDirectory(dir); !status.ok()) return status;
  }
  std::error_code error;
  const std::string path = std::filesystem::canonical(dir, error).string();
  if (error) return absl::NotFoundError(absl::StrCat(dir, ": ", error.message()));

  Directories& directories = AllDirectories();
  // Outlives the lock: what is dropped here takes the lock.
  std::unique_ptr<KeyValue> failed;
  MutexLock lock(directories.mutex);
  for (;;) {
    const auto it = directories.open.find(path);
    if (it == directories.open.end()) break;
    if (auto centre = it->second.lock()) return centre;
    directories.closed.Wait(directories.mutex);
  }
  if (read_only) return OpenCopy(path);
  absl::StatusOr<std::unique_ptr<OwnerFile>> owner = OwnerFile::Acquire(path);
  if (!owner.ok()) return owner.status();
  absl::StatusOr<std::unique_ptr<KeyValue>> data = OpenOwned(path, *std::move(owner));
  if (!data.ok()) return data.status();
  if (left_behind == LeftBehind::kDropped) {
    if (absl::Status status = DropSessionKeys(**data); !status.ok()) {
      failed = *std::move(data);
      return status;
    }
  }
  auto centre =
      std::make_shared<LocalCentre>(*std::move(data), MakeOptions(path, absl::OkStatus()));
  directories.open[path] = centre;
  return centre;
}

absl::StatusOr<std::unique_ptr<RegistryCentre>> OpenEmbeddedCentre(const Url& url,
                                                                   const CentreOptions& options) {
  if (url.protocol() != "embedded" || !url.host().empty() || url.path().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(url.ToString(), ": expected embedded:///directory"));
  }
  absl::StatusOr<std::shared_ptr<LocalCentre>> centre =
      EmbeddedCentre(absl::StrCat("/", url.path()), options.read_only);
  if (!centre.ok()) return centre.status();
  return NewStoreCentre(url, options.executor, NewLocalStore(*std::move(centre), options.executor));
}

}  // namespace signpost

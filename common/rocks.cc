#include "signpost/common/rocks.h"

#include <cstdarg>
#include <exception>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <shared_mutex>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/options.h"
#include "rocksdb/table.h"
#include "rocksdb/write_batch.h"

namespace signpost {
namespace {

rocksdb::Slice ToSlice(absl::string_view text) { return {text.data(), text.size()}; }

absl::string_view ToView(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

absl::Status ToStatus(const rocksdb::Status& status, absl::string_view dir) {
  if (status.ok()) return absl::OkStatus();
  const std::string text = status.ToString();
  const std::string message = absl::StrCat(dir, ": ", text);
  if (status.IsNotFound()) return absl::NotFoundError(message);
  if (status.IsCorruption()) return absl::DataLossError(message);
  if (status.IsInvalidArgument()) {
    // What RocksDB says when its CURRENT file is missing or names nothing.
    return text.find("does not exist") != std::string::npos ? absl::NotFoundError(message)
                                                            : absl::DataLossError(message);
  }
  if (status.IsIOError()) {
    if (text.find("lock file") != std::string::npos ||
        text.find("lock hold") != std::string::npos) {
      return absl::FailedPreconditionError(message);
    }
    if (text.find("Permission denied") != std::string::npos ||
        text.find("Read-only file system") != std::string::npos ||
        text.find("Not a directory") != std::string::npos) {
      return absl::PermissionDeniedError(message);
    }
  }
  return absl::UnavailableError(message);
}

// RocksDB may throw (std::bad_alloc, its own checks of damaged files); nothing may leave this
// folder.
template <typename Fn>
absl::Status Guarded(absl::string_view dir, Fn&& fn) {
  try {
    return ToStatus(fn(), dir);
  } catch (const std::exception& error) {
    return absl::UnavailableError(absl::StrCat(dir, ": ", error.what()));
  }
}

// What RocksDB makes of a failure in writing: after some it may be told to go on (Resume), after
// the rest it writes nothing more until it is opened anew. It sorts two of them wrongly.
//
// Too many open files: passes, and nothing was written. Nothing else here does: RocksDB would try a
// merge of a file that is gone again for ever.
rocksdb::IOStatus Passing(rocksdb::IOStatus status) {
  if (absl::StrContains(status.ToString(), "Too many open files")) status.SetRetryable(true);
  return status;
}

// A full disk when the write-ahead log grows: RocksDB goes on by itself as soon as there is room,
// but may append to the broken file, at which the packaged library ends the process.
class LogFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  using FSWritableFileOwnerWrapper::Append;
  using FSWritableFileOwnerWrapper::FSWritableFileOwnerWrapper;

  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* debug) override {
    const rocksdb::IOStatus status = FSWritableFileOwnerWrapper::Append(data, options, debug);
    if (!status.IsNoSpace()) return status;
    return rocksdb::IOStatus::IOError(status.ToString());
  }
};

class StoreFiles final : public rocksdb::FileSystemWrapper {
 public:
  using FileSystemWrapper::FileSystemWrapper;

  const char* Name() const override { return "signpost"; }
  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override {
    const rocksdb::IOStatus status =
        Passing(FileSystemWrapper::NewWritableFile(name, options, file, debug));
    if (status.ok() && absl::EndsWith(name, ".log")) {
      *file = std::make_unique<LogFile>(std::move(*file));
    }
    return status;
  }
  rocksdb::IOStatus NewRandomAccessFile(const std::string& name,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        rocksdb::IODebugContext* debug) override {
    return Passing(FileSystemWrapper::NewRandomAccessFile(name, options, file, debug));
  }
};

rocksdb::Env* Files() {
  static rocksdb::Env& env =
      *rocksdb::NewCompositeEnv(std::make_shared<StoreFiles>(rocksdb::FileSystem::Default()))
           .release();
  return &env;
}

// RocksDB's own log on a full disk ends the process: the packaged library asserts that nothing is
// written to a file after an error. The statuses say what failed.
class NoLog final : public rocksdb::Logger {
 public:
  using Logger::Logv;
  void Logv(const char*, va_list) override {}
};

rocksdb::Options MakeOptions(const RocksOptions& options) {
  const bool store = options.tuning == RocksOptions::Tuning::kStore;
  rocksdb::Options result;
  result.create_if_missing = true;
  result.write_buffer_size = store ? 4 << 20 : 1 << 20;
  result.max_write_buffer_number = 2;
  result.max_total_wal_size = store ? 16 << 20 : 4 << 20;
  if (!store) {
    result.arena_block_size = 16 << 10;
    result.max_manifest_file_size = 64 << 10;
  }
  result.max_file_opening_threads = 1;
  result.max_open_files = store ? 64 : 16;
  result.max_background_jobs = 1;
  result.target_file_size_base = 8 << 20;
  result.max_bytes_for_level_base = 32 << 20;
  result.compression = rocksdb::kNoCompression;
  // Preallocated logs would cost each process tens of MB of disk.
  result.allow_fallocate = false;
  result.stats_dump_period_sec = 0;
  result.stats_persist_period_sec = 0;
  result.env = Files();
  result.info_log = std::make_shared<NoLog>();
  // Write does it.
  result.max_bgerror_resume_count = 0;
  result.avoid_flush_during_shutdown = false;

  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(store ? 8 << 20 : 512 << 10, /*num_shard_bits=*/0);
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.cache_index_and_filter_blocks = false;
  result.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return result;
}

rocksdb::Status OpenDb(const RocksOptions& options, bool read_only, const std::string& dir,
                       std::unique_ptr<rocksdb::DB>& result) {
  const rocksdb::Options made = MakeOptions(options);
  rocksdb::DB* db = nullptr;
  const rocksdb::Status opened =
      read_only ? rocksdb::DB::OpenForReadOnly(made, dir, &db) : rocksdb::DB::Open(made, dir, &db);
  result.reset(db);
  return opened;
}

// Whether a file may be written there; else opening anew would only end the reading too.
bool HasRoom(const std::string& dir) {
  constexpr size_t kRoom = 1 << 20;
  const std::string name = dir + "/ROOM";
  std::ofstream file(name, std::ios::binary | std::ios::trunc);
  file << std::string(kRoom, 'x') << std::flush;
  const bool good = file.good();
  file.close();
  std::error_code ignored;
  std::filesystem::remove(name, ignored);
  return good;
}

}  // namespace

struct Rocks::State {
  std::string dir;
  RocksOptions options;
  // Calls share it; who opens or closes has it alone.
  std::shared_mutex mutex;
  std::unique_ptr<rocksdb::DB> db;
  uint64_t opened = 0;     // anew, so many times
  rocksdb::Status failed;  // of the last such opening; not OK: nothing can be written
  bool closed = false;

  // Of a database that will write nothing more. `before`: `opened` when that was seen.
  rocksdb::Status OpenAnew(uint64_t before);
  // Tries a database once more that could not even be opened for reading.
  std::shared_lock<std::shared_mutex> LockToRead();

  absl::Status CheckOpen() const {
    if (closed) return absl::FailedPreconditionError(absl::StrCat(dir, ": the database is closed"));
    if (db != nullptr) return absl::OkStatus();
    return ToStatus(failed, dir);
  }
};

rocksdb::Status Rocks::State::OpenAnew(uint64_t before) {
  std::unique_lock lock(mutex);
  if (closed) return rocksdb::Status::Aborted("closed");
  if (opened != before) return rocksdb::Status::OK();  // another thread has tried it
  // Stays if one of these throws.
  failed = rocksdb::Status::Aborted("it could not be opened anew");
  // What was written is in the log, whether the last flush works or not.
  if (db != nullptr) db->Close().PermitUncheckedError();
  db.reset();
  ++opened;
  failed = OpenDb(options, /*read_only=*/false, dir, db);
  // So that reads go on; the next write tries it again.
  if (!failed.ok()) OpenDb(options, /*read_only=*/true, dir, db).PermitUncheckedError();
  return failed;
}

std::shared_lock<std::shared_mutex> Rocks::State::LockToRead() {
  std::shared_lock lock(mutex);
  if (closed || db != nullptr) return lock;
  const uint64_t before = opened;
  lock.unlock();
  // CheckOpen tells it.
  Guarded(dir, [&] { return OpenAnew(before); }).IgnoreError();
  lock.lock();
  return lock;
}

Rocks::Rocks(std::unique_ptr<State> state) : state_(std::move(state)) {}

Rocks::~Rocks() { Close().IgnoreError(); }

absl::StatusOr<std::unique_ptr<Rocks>> Rocks::Open(const std::string& dir,
                                                   const RocksOptions& options) {
  std::error_code ignored;
  if (options.read_only && !std::filesystem::exists(dir + "/CURRENT", ignored)) {
    return absl::NotFoundError(absl::StrCat(dir, ": no database there"));
  }
  auto state = std::make_unique<State>();
  state->dir = dir;
  state->options = options;
  const absl::Status status =
      Guarded(dir, [&] { return OpenDb(options, options.read_only, dir, state->db); });
  if (!status.ok()) return status;
  return std::unique_ptr<Rocks>(new Rocks(std::move(state)));
}

absl::StatusOr<std::string> Rocks::Get(absl::string_view key) const {
  const std::shared_lock<std::shared_mutex> lock = state_->LockToRead();
  if (absl::Status open = state_->CheckOpen(); !open.ok()) return open;
  std::string value;
  const absl::Status status = Guarded(
      state_->dir, [&] { return state_->db->Get(rocksdb::ReadOptions(), ToSlice(key), &value); });
  if (absl::IsNotFound(status)) {
    return absl::NotFoundError(absl::StrCat(state_->dir, ": no key ", key));
  }
  if (!status.ok()) return status;
  return value;
}

absl::Status Rocks::Write(const std::vector<RocksWrite>& writes) {
  {
    std::shared_lock lock(state_->mutex);
    if (state_->closed) return state_->CheckOpen();
  }
  return Guarded(state_->dir, [&]() -> rocksdb::Status {
    rocksdb::WriteBatch batch;
    for (const RocksWrite& write : writes) {
      const rocksdb::Status added =
          write.value.has_value() ? batch.Put(write.key, *write.value) : batch.Delete(write.key);
      if (!added.ok()) return added;
    }
    const rocksdb::WriteOptions options;
    rocksdb::Status failed;
    uint64_t opened = 0;
    {
      std::shared_lock lock(state_->mutex);
      failed = state_->failed;
      opened = state_->opened;
      if (failed.ok()) {
        failed = state_->db->Write(options, &batch);
        if (failed.ok() || state_->options.read_only) return failed;
        const rocksdb::Status resumed = state_->db->Resume();
        if (resumed.ok()) return state_->db->Write(options, &batch);
        // The fault lasts; or a file is damaged (more than fatal), which opening would only hide.
        if (resumed.severity() != rocksdb::Status::kFatalError) return failed;
      }
    }
    if (!HasRoom(state_->dir)) return failed;
    failed = state_->OpenAnew(opened);
    if (!failed.ok()) return failed;
    std::shared_lock lock(state_->mutex);
    if (!state_->failed.ok()) return state_->failed;
    return state_->db->Write(options, &batch);
  });
}

absl::Status Rocks::Scan(absl::string_view prefix, Visitor visit) const {
  const std::shared_lock<std::shared_mutex> lock = state_->LockToRead();
  if (absl::Status open = state_->CheckOpen(); !open.ok()) return open;
  return Guarded(state_->dir, [&] {
    const std::unique_ptr<rocksdb::Iterator> it(state_->db->NewIterator(rocksdb::ReadOptions()));
    std::string seek;
    it->Seek(ToSlice(prefix));
    while (it->Valid() && it->key().starts_with(ToSlice(prefix))) {
      seek.clear();
      if (!visit(ToView(it->key()), ToView(it->value()), &seek)) break;
      if (seek.empty()) {
        it->Next();
      } else {
        it->Seek(seek);
      }
    }
    return it->status();
  });
}

absl::Status Rocks::Close() {
  std::unique_lock lock(state_->mutex);
  state_->closed = true;
  state_->failed = rocksdb::Status::Aborted("closed");
  if (state_->db == nullptr) return absl::OkStatus();
  const std::unique_ptr<rocksdb::DB> db = std::move(state_->db);
  return Guarded(state_->dir, [&] { return db->Close(); });
}

}  // namespace signpost
